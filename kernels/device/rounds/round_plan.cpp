#include "kernels/device/rounds/round_plan.h"

#include <algorithm>

#include "kernels/core/member_logits.h"
#include "kernels/core/spread_logits.h"
#include "kernels/rounds/window.h"

namespace fairlane {

namespace {

constexpr int kFewWarps = 3;   // below that, a kernel for each stage is the better choice
constexpr int kBusyWarps = 8;  // two for each of a multiprocessor's schedulers, as good as more

/// Few lanes are spread over windows of their own, two for each of a multiprocessor's schedulers.
constexpr int kSpreadWindows = 8;
constexpr int kSpreadLanes = 8;  // of such a window, at most

/// What a member costs that is evaluated together with others, in percent of the cheapest: fewer
/// share each read of a weight. Counted on the simulator, census and 13-64-32-16-8-4-1.
struct Together {
  int members;
  int cost;
};
constexpr Together kTogether[] = {{4, 100}, {2, 120}};

int spread_windows(DeviceLimits const& limits) { return kSpreadWindows * limits.multiprocessors; }

bool are_few(DeviceLimits const& limits, int lanes) {
  return lanes <= spread_windows(limits) * kSpreadLanes;
}

/// Packs of a window where a warp has so many. From three on, one of the three stages has a full
/// pack before it; of three and four the choice that leaves the last window fullest.
int window_packs(int packs) {
  constexpr int kEnough = 3;
  constexpr int kMost = kMostWindow / 32;
  if (packs <= kEnough) return packs;
  auto const rounded = [&](int each) { return (packs + each - 1) / each * each; };
  return rounded(kEnough) < rounded(kMost) ? kEnough : kMost;
}

}  // namespace

int round_places(DeviceLimits const& limits, int lanes) {
  if (!are_few(limits, lanes)) return lanes;
  return std::max(lanes, std::min(lanes, spread_windows(limits)) * limits.warp_lanes);
}

RoundPlan make_round_plan(Subject const& subject, RoundNeeds needs, ArenaView const& arena,
                          DeviceLimits const& limits, int lanes) {
  RoundPlan plan;
  plan.arena = arena;
  std::int64_t const shared = limits.shared_per_block;
  std::int64_t const weights = arena.bytes;
  auto const floats = [&](int members) {
    MemberScratch together;
    SpreadScratch spread;
    constexpr int kPair = 2;  // a row and its partner
    int const gradient = scratch_rows(subject, needs.gradient);
    int const terms = needs.terms * subject.network.outputs();
    int const rows =
        members == kSpreadMembers
            ? std::max(gradient, terms + lay_out_spread(subject, limits.warp_lanes,
                                                        limits.warp_lanes, nullptr, spread))
            : std::max(kPair * gradient,
                       terms * members + lay_out_members(subject, members, 1, nullptr, together));
    return static_cast<std::int64_t>(rows) * limits.warp_lanes;
  };
  Window nowhere;
  auto const warps_that_fit = [&](int members) {
    std::int64_t const each = floats(members) * static_cast<std::int64_t>(sizeof(float)) +
                              lay_out_window(kMostWindow, limits.warp_lanes, nullptr, nowhere);
    return static_cast<int>(std::min<std::int64_t>((shared - weights) / each, kMostRoundWarps));
  };
  auto const fits = [&](int members) {
    plan.members = members;
    plan.warps = warps_that_fit(members);
    return weights * 2 <= shared && plan.warps >= kFewWarps;
  };
  bool const few = are_few(limits, lanes) && subject.variants <= limits.warp_lanes;
  if (!few || !fits(kSpreadMembers)) {
    int best = 0;
    int least = 0;
    for (auto const& [members, cost] : kTogether) {
      if (!fits(members)) continue;
      int const evaluated = (subject.variants + members - 1) / members * members;
      // Up to so many warps each waits nearly always: half as many take twice as long.
      int const time = evaluated * cost * kBusyWarps / std::min(plan.warps, kBusyWarps);
      if (best > 0 && time >= least) continue;
      best = members;
      least = time;
    }
    plan.on_chip = best > 0 && fits(best);
    if (!plan.on_chip) return plan;
  }
  plan.scratch_floats = floats(plan.members);
  plan.blocks = limits.multiprocessors;
  if (plan.members == kSpreadMembers) {
    plan.window = (lanes + spread_windows(limits) - 1) / spread_windows(limits);
    plan.places = limits.warp_lanes;
  } else {
    int const resident = plan.warps * plan.blocks * limits.warp_lanes;
    int const packs = (lanes + resident - 1) / resident;  // of a warp
    plan.window = window_packs(packs) * limits.warp_lanes;
    plan.places = plan.window;
  }
  plan.window_bytes = lay_out_window(plan.window, limits.warp_lanes, nullptr, nowhere);
  std::int64_t const each =
      plan.window_bytes + plan.scratch_floats * static_cast<std::int64_t>(sizeof(float));
  plan.shared_bytes = static_cast<int>(weights + plan.warps * each);
  return plan;
}

}  // namespace fairlane
