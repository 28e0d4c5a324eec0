#include "kernels/layout/packed_constraints.h"

namespace fairlane {

PackedConstraints::PackedConstraints(std::span<ConstraintView const> constraints,
                                     std::span<ConstraintView const> of_findings,
                                     std::span<std::int32_t const> slack,
                                     std::span<ConstrainedColumn const> column_of)
    : finding_rules_(static_cast<int>(of_findings.size())) {
  if (constraints.empty() && of_findings.empty()) return;
  for (int bit = 0; bit < kSetWordBits; ++bit)
    table_.push_back(static_cast<std::int32_t>(std::uint32_t{1} << bit));
  for (ConstraintView const& constraint : constraints) add(constraint, column_of);
  for (ConstraintView const& constraint : of_findings) add(constraint, column_of);
  if (slack.empty()) return;
  slack_ = static_cast<int>(table_.size());
  table_.insert(table_.end(), slack.begin(), slack.end());
}

void PackedConstraints::add(ConstraintView const& constraint,
                            std::span<ConstrainedColumn const> column_of) {
  FeasibilityRule rule{static_cast<std::int32_t>(terms_.size()),
                       static_cast<std::int32_t>(constraint.terms.size()), constraint.bound, -1};
  for (TermView const& term : constraint.terms)
    terms_.push_back(term_of(term, column_of[static_cast<std::size_t>(term.attribute)]));
  if (!constraint.set.empty()) {
    rule.set = static_cast<std::int32_t>(table_.size());
    for (std::uint32_t const word : constraint.set)
      table_.push_back(static_cast<std::int32_t>(word));
  }
  rules_.push_back(rule);
}

FeasibilityTerm PackedConstraints::term_of(TermView const& term, ConstrainedColumn const& column) {
  FeasibilityTerm to{column.column, column.selected, term.kind, term.factor, term.from, term.to, 0};
  if (term.kind == TermKind::kCode) {
    to.from = column.low;
    to.to = column.high;
  }
  if (term.kind == TermKind::kLookUp) {
    to.table = static_cast<std::int32_t>(table_.size());
    table_.insert(table_.end(), term.table, term.table + (term.to - term.from + 1));
    return to;
  }
  bool const listed = !column.codes.empty();
  bool const has_table = term.kind == TermKind::kTable || term.kind == TermKind::kIndex;
  if (!has_table && !listed) return to;
  if (!has_table) to.kind = TermKind::kTable;
  to.from = column.low;
  to.to = column.high;
  to.table = static_cast<std::int32_t>(table_.size());
  for (std::int32_t at = column.low; at <= column.high; ++at) {
    std::int32_t const code = listed ? column.codes[static_cast<std::size_t>(at - column.low)] : at;
    table_.push_back(static_cast<std::int32_t>(term_value(term, code)));
  }
  return to;
}

Feasibility PackedConstraints::get() const {
  return {static_cast<int>(rules_.size()) - finding_rules_,
          finding_rules_,
          static_cast<int>(terms_.size()),
          static_cast<int>(table_.size()),
          slack_,
          rules_.data(),
          terms_.data(),
          table_.data()};
}

}  // namespace fairlane
