// Examples of unfair treatment, evaluated again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/check/double_evaluator.h"
#include "engine/recheck/contract_label.h"
#include "engine/subject/subject.h"
#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/boxes/cells.h"

namespace fairlane {

/// What became of an example.
/// problem       what is wrong with it; empty: nothing
/// marginal      an output is so near to the threshold that the float32 chain alone tells its label
/// float32_only  real numbers do not confirm it (double precision, of smooth activations)
/// disagrees     nor does double precision
struct ExampleOutcome {
  std::string problem;
  bool marginal = false;
  bool float32_only = false;
  bool disagrees = false;
};

/// Checks lines of counterexamples.csv.
class ExampleChecker {
 public:
  /// relaxed    by how much other attributes of the two may differ
  /// compares   whether two people whose attributes under test differ in so many are compared
  /// threshold  of one output
  /// All outlive it.
  ExampleChecker(TestSubject const& subject, BoxDomain const& domain, Cells const& cells,
                 std::vector<RelaxedAttribute> relaxed, std::function<bool(std::size_t)> compares,
                 double threshold);

  /// The header of the file.
  std::string header() const;
  /// An example of a cell, as the words of a line.
  ExampleOutcome check(std::int64_t cell, std::vector<std::string_view> const& words);

 private:
  /// Whether the rows are of the cell, and compared; else why not.
  std::string read_rows(std::int64_t cell, std::vector<std::string_view> const& words);
  /// Whether a row's group is one of a box's, and within the limits.
  bool is_group_of(GroupBox const& box, std::vector<std::int32_t> const& row) const;
  /// By how much an attribute that is not under test may differ.
  std::int32_t apart(std::size_t attribute) const;
  /// Which constraint one of the rows violates; empty: none.
  std::string violated() const;
  std::string compare_outputs(std::string_view const* words, ExampleOutcome& outcome);
  /// What real numbers say of both rows of a network.
  std::string compare_in_double(std::int32_t const* labels, std::vector<std::string>& expected,
                                ExampleOutcome& outcome);

  TestSubject const& subject_;
  BoxDomain const& domain_;
  Cells const& cells_;
  std::vector<RelaxedAttribute> relaxed_;
  std::function<bool(std::size_t)> compares_;
  Network const* network_ = nullptr;  // null: an ensemble
  double threshold_;
  bool has_smooth_ =
      false;  // activations, of which real numbers are known as double precision only
  std::optional<DoubleEvaluator> in_double_;  // of a network
  std::unique_ptr<ContractLabel> contract_;
  std::vector<std::int32_t> rows_[2];
};

}  // namespace fairlane
