// Checks the pairs of an output directory, a block of instances at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/check/check.h"
#include "engine/check/row_evaluator.h"
#include "engine/results/instances_reader.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// A group's fingerprint; 128 bits, so that 2^40 groups collide with probability below 2^-48.
struct GroupHash {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  friend auto operator<=>(GroupHash const&, GroupHash const&) = default;
};

/// A block of instances and what was found out about it.
struct InstanceBatch {
  InstanceBlock block;
  std::unique_ptr<RowEvaluator> evaluator;
  CheckResult result;
  std::vector<std::int32_t> first;  // rows at the block's ends, for the order across blocks
  std::vector<std::int32_t> last;
  std::int64_t first_number = 0;
  std::string records;  // of the signature
  std::vector<GroupHash> groups;
};

/// Checks single instances; shared by all threads.
class InstanceChecker {
 public:
  InstanceChecker(TestSubject const& subject, InstanceFile const& file);

  void check(InstanceBatch& batch) const;
  /// Whether `row` may follow `before`; a failure otherwise.
  bool in_order(std::int32_t const* before, std::int32_t const* row, std::int64_t number,
                CheckResult& result) const;

 private:
  /// What cannot be told of an instance.
  /// close      a member is too near to the boundary
  /// undefined  the output of the instance or of its pair is not finite, or may not be
  struct Doubt {
    bool close = false;
    bool undefined = false;
  };
  /// What is wrong with an instance, or empty.
  std::string problem_of(InstanceRecord const& record, RowEvaluator& evaluator,
                         std::int64_t& pair_variant, Doubt& doubt) const;
  /// Same of an input alone: a member of its similar set has another label.
  std::string wrong_input(InstanceRecord const& record, std::int64_t own, RowEvaluator& evaluator,
                          Doubt& doubt) const;
  std::string wrong_member(InstanceRecord const& record, std::vector<std::int32_t>& member,
                           std::int64_t own, std::int64_t pair, RowEvaluator& evaluator,
                           Doubt& doubt) const;
  /// Same of a member whose output is not finite.
  static std::string wrong_undefined(CertainLabel const& found, char const* what,
                                     std::int32_t stated, Doubt& doubt);
  std::string wrong_score(float stated, std::int32_t label, char const* what,
                          RowEvaluator const& evaluator) const;
  /// Number of a combination in product order, or -1.
  template <class Value>
  std::int64_t variant_of(Value const& value) const;
  /// Whether a row satisfies what the domain file asks for.
  bool exists(std::int32_t const* row) const {
    return satisfies(subject_.domain().constraints, row);
  }
  std::int64_t pair_variant_of(InstanceRecord const& record) const;
  void set_variant(std::int64_t variant, std::int32_t* row) const;
  std::unique_ptr<RowEvaluator> make_evaluator() const;
  /// Appends what the signature is of.
  void put_record(InstanceRecord const& record, std::int32_t pair_variant,
                  std::string& records) const;
  /// The rows of a block's instances and of their members up to the pair.
  std::vector<std::int32_t> members_of(InstanceBlock const& block) const;

  TestSubject const& subject_;
  InstanceFile const& file_;
  std::size_t attributes_;
  mutable std::mutex asking_;  // a scorer
};

}  // namespace fairlane
