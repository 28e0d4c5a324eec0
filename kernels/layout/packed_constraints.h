// Constraints by columns and codes as kernels have them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/subject.h"
#include "kernels/core/views.h"

namespace fairlane {

/// A column as constraints are laid out for it.
/// column    in kernel order
/// selected  place among the selected ones, -1: none
/// low, high codes as kernels have them
/// codes     what they stand for; empty: themselves
struct ConstrainedColumn {
  int column = 0;
  int selected = -1;
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::span<std::int32_t const> codes = {};
};

/// Owns what a Feasibility points to.
class PackedConstraints {
 public:
  PackedConstraints() = default;
  /// of_findings  what findings alone must satisfy
  /// slack        SubjectView::finding_slack
  /// column_of    [attributes]
  PackedConstraints(std::span<ConstraintView const> constraints,
                    std::span<ConstraintView const> of_findings,
                    std::span<std::int32_t const> slack,
                    std::span<ConstrainedColumn const> column_of);

  Feasibility get() const;

 private:
  void add(ConstraintView const& constraint, std::span<ConstrainedColumn const> column_of);
  FeasibilityTerm term_of(TermView const& term, ConstrainedColumn const& column);

  int finding_rules_ = 0;  // the last of all
  int slack_ = -1;         // where it begins in the table
  std::vector<FeasibilityRule> rules_;
  std::vector<FeasibilityTerm> terms_;
  std::vector<std::int32_t> table_;
};

}  // namespace fairlane
