#include "engine/count/walk_domain.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace fairlane {
namespace {

constexpr double kExact = 0x1p53;  // groups, up to which doubles count

bool looks_up(std::span<ConstraintView const> constraints) {
  return std::ranges::any_of(constraints, [](ConstraintView const& constraint) {
    return std::ranges::any_of(constraint.terms, [](TermView const& term) {
      return term.kind == TermKind::kIndex || term.kind == TermKind::kLookUp;
    });
  });
}

}  // namespace

WalkDomain::WalkDomain(WalkPlan const& plan, SubjectView const& view) : plan_(plan) {
  bool const nobody_asks = view.constraints.empty() && view.scorer == nullptr;
  if (nobody_asks || looks_up(view.constraints) || static_cast<double>(plan.groups()) > kExact)
    return;
  domain_ = std::make_unique<BoxDomain>(view, plan.subject(), plan.lists());
  std::vector<int> variants(static_cast<std::size_t>(domain_->variants()));
  std::iota(variants.begin(), variants.end(), 0);
  existing_ = std::make_unique<ExistingGroups>(*domain_, std::move(variants));
  if (!existing_->too_many().empty()) existing_.reset();
}

void WalkDomain::add_missing(std::span<AxisRange const> box, GroupCounts& counts) const {
  if (!existing_->any_rules()) return;
  CountLayout const layout = plan_.counters();
  double const all = domain_->groups(box);
  auto const add = [&](int counter, double there) {
    counts.counters[static_cast<std::size_t>(counter)] += static_cast<std::uint64_t>(all - there);
  };
  add(CountLayout::kUnknown, existing_->count(box));
  for (int v = 0; v < layout.variants; ++v) add(layout.undefined(v), existing_->count_one(box, v));
}

}  // namespace fairlane
