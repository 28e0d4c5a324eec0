#include "engine/verify/deciders/box_decider.h"

namespace fairlane {
namespace {

constexpr double kFewGroups = 64.0;

}  // namespace

Decision begin_decision(BoxDomain const& domain, BoxExistence const& existence,
                        VerifyQuery const& query, OpenBox const& box) {
  Decision decision;
  auto const& all = query.variants[static_cast<std::size_t>(box.variants)];
  auto const begin = [&](BoxVerdict verdict) {
    decision.verdict = verdict;
    decision.box = box.box;
    decision.peopled = box.box;
    decision.variants = all;
  };
  begin(BoxVerdict::kOpen);
  if (domain.limited() && !domain.keep_limits(decision.box)) begin(BoxVerdict::kEmpty);
  if (decision.verdict != BoxVerdict::kOpen) return decision;
  decision.peopled = decision.box;
  if (!existence.constrained()) return decision;
  if (!existence.narrow(all, decision.box)) {
    begin(BoxVerdict::kEmpty);
    return decision;
  }
  decision.peopled = decision.box;
  // Whoever is compared may lie beside the box.
  decision.variants =
      existence.possible(domain.relaxed() ? domain.widened(decision.box) : decision.box, all);
  if (decision.variants.empty()) {
    begin(BoxVerdict::kEmpty);
    return decision;
  }
  bool any = false;
  for (int const v : decision.variants) {
    for (int const w : decision.variants) any = any || (v != w && query.compares(v, w));
  }
  if (!any) decision.verdict = BoxVerdict::kVariants;
  return decision;
}

bool is_small(BoxDomain const& domain, GroupBox const& box) {
  double const groups = domain.groups(box);
  if (groups == 1.0) return true;
  return (domain.relaxed() ? domain.groups(domain.widened(box)) : groups) <= kFewGroups;
}

void evaluate_groups(BoxExistence const& existence, GroupPairs& groups, Decision& decision) {
  bool anybody = false;
  bool undefined = false;
  bool within_margin = false;
  each_point(decision.box, [&](std::vector<std::int32_t> const& entries) {
    auto pair = groups.certain_pair(entries, decision.variants);
    anybody = anybody || groups.anybody();
    undefined = undefined || groups.undefined();
    within_margin = within_margin || groups.within_margin();
    if (!pair) return true;
    decision.verdict = BoxVerdict::kUnfair;
    decision.example = std::move(*pair);
    return false;
  });
  if (decision.verdict != BoxVerdict::kOpen) return;
  decision.verdict = undefined                             ? BoxVerdict::kUndefined
                     : within_margin                       ? BoxVerdict::kWithinMargin
                     : existence.constrained() && !anybody ? BoxVerdict::kEmpty
                                                           : BoxVerdict::kEnumerated;
}

CertainGroups count_groups(GroupPairs& groups, Decision& decision) {
  CertainGroups certain;
  each_point(decision.box, [&](std::vector<std::int32_t> const& entries) {
    if (groups.certain_pair(entries, decision.variants)) {
      certain.unfair += 1.0;
    } else if (groups.anybody() && !groups.undefined()) {
      certain.fair += 1.0;
    }
    return true;
  });
  decision.verdict = BoxVerdict::kEnumerated;
  return certain;
}

}  // namespace fairlane
