#include "engine/verify/box_decider.h"

namespace fairlane {
namespace {

constexpr double kFewGroups = 64.0;

}  // namespace

Decision begin_decision(BoxDomain const& domain, OpenBox const& box) {
  Decision decision;
  decision.box = box.box;
  if (domain.limited() && !domain.keep_limits(decision.box)) {
    decision.box = box.box;
    decision.verdict = BoxVerdict::kEmpty;
  }
  return decision;
}

bool is_small(BoxDomain const& domain, GroupBox const& box) {
  double const groups = domain.groups(box);
  if (groups == 1.0) return true;
  return (domain.relaxed() ? domain.groups(domain.widened(box)) : groups) <= kFewGroups;
}

void evaluate_groups(GroupPairs& groups, std::span<int const> variants, Decision& decision) {
  bool undefined = false;
  bool within_margin = false;
  each_point(decision.box, [&](std::vector<std::int32_t> const& entries) {
    auto pair = groups.certain_pair(entries, variants);
    undefined = undefined || groups.undefined();
    within_margin = within_margin || groups.within_margin();
    if (!pair) return true;
    decision.verdict = BoxVerdict::kUnfair;
    decision.example = std::move(*pair);
    return false;
  });
  if (decision.verdict != BoxVerdict::kOpen) return;
  decision.verdict = undefined       ? BoxVerdict::kUndefined
                     : within_margin ? BoxVerdict::kWithinMargin
                                     : BoxVerdict::kEnumerated;
}

CertainGroups count_groups(GroupPairs& groups, std::span<int const> variants, Decision& decision) {
  CertainGroups certain;
  each_point(decision.box, [&](std::vector<std::int32_t> const& entries) {
    if (groups.certain_pair(entries, variants)) {
      certain.unfair += 1.0;
    } else if (!groups.undefined()) {
      certain.fair += 1.0;
    }
    return true;
  });
  decision.verdict = BoxVerdict::kEnumerated;
  return certain;
}

}  // namespace fairlane
