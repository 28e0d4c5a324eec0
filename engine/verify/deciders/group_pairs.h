// Groups evaluated in float32, and compared.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/unfair_pair.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// One thread's.
class GroupPairs {
 public:
  /// All outlive it. outputs: of the subject
  GroupPairs(BoxDomain const& domain, RowDescriber& rows, VerifyQuery const& query, int outputs)
      : domain_(domain), rows_(rows), query_(query), outputs_(outputs) {}

  /// The first two people with different labels, in float32, of whom one is of a group, and the
  /// other too or of one that it is compared with.
  std::optional<UnfairPair> certain_pair(std::span<std::int32_t const> entries,
                                         std::span<int const> variants);
  /// Of the group of the last certain_pair: whether somebody of it exists, and, where it has no
  /// pair, whether an output is not finite, and whether one could be without the margin.
  bool anybody() const { return anybody_; }
  bool undefined() const { return undefined_; }
  bool within_margin() const { return within_margin_; }

  /// Evaluates a group that compare() then compares with others.
  void take_own(std::span<std::int32_t const> entries, std::span<int const> variants);
  std::optional<UnfairPair> compare(std::span<std::int32_t const> entries,
                                    std::span<std::int32_t const> other,
                                    std::span<int const> variants);

 private:
  /// Labels of a group's variants as the subject has them, and of at most two outputs their leads.
  void evaluate(std::span<std::int32_t const> entries, std::span<int const> variants);
  /// Whether no two members of both groups can be an unfair pair, or one within the margin, however
  /// they are compared.
  bool none_differs() const;
  /// What was evaluated last against the group of take_own().
  std::optional<UnfairPair> match(std::span<std::int32_t const> entries,
                                  std::span<std::int32_t const> other,
                                  std::span<int const> variants);

  static constexpr std::int32_t kNobody = -2;
  /// Of the variants of a group.
  struct Outcomes {
    std::vector<std::int32_t> labels;  // [variants] -1: undefined, kNobody: does not exist
    std::vector<double> leads;         // [variants] what is compared with the threshold
  };
  BoxDomain const& domain_;
  RowDescriber& rows_;
  VerifyQuery const& query_;
  int outputs_;
  Outcomes outcomes_;  // of the group evaluated last
  Outcomes own_;       // of the one that others are compared with
  bool anybody_ = false;
  bool undefined_ = false;
  bool within_margin_ = false;
  std::vector<std::int32_t> row_;
  std::vector<float> logits_;
};

}  // namespace fairlane
