#include "kernels/device/rounds/round_plan.h"

#include <algorithm>
#include <climits>

#include "kernels/core/member_logits.h"
#include "kernels/core/spread_logits.h"
#include "kernels/rounds/window.h"

namespace fairlane {

namespace {

constexpr int kFewWarps = 3;  // of a block; below that, a kernel for each stage is better

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

int rounded_up(int count, int each) { return (count + each - 1) / each * each; }

/// Packs of a window where a team has so many. From three on, one of the three stages has a full
/// pack before it; of three and four the choice that leaves the last window fullest.
int window_packs(int packs) {
  constexpr int kEnough = 3;
  constexpr int kMost = kMostWindow / 32;
  if (packs <= kEnough) return packs;
  return rounded_up(packs, kEnough) < rounded_up(packs, kMost) ? kEnough : kMost;
}

/// Tiles of outputs of the widest layer: warps that a team keeps busy.
int most_tiles(PackedNetwork const& net) {
  int tiles = 1;
  for (int l = 0; l < net.layers; ++l) {
    auto const& dense = net.layer[l].forward;
    tiles = std::max(tiles, (dense.outputs + dense.tile - 1) / dense.tile);
  }
  return tiles;
}

/// Multiply-adds of a forward pass that the busiest of a team's warps does.
std::int64_t busiest_share(PackedNetwork const& net, int warps) {
  std::int64_t sum = 0;
  for (int l = 0; l < net.layers; ++l) {
    auto const& dense = net.layer[l].forward;
    for (int o = 0; o < dense.outputs; o += warps * dense.tile)
      sum += std::int64_t{dense.inputs} * std::min(dense.tile, dense.outputs - o);
  }
  return sum;
}

/// How a block's warps go through a step of `packs` packs of lanes.
struct Crew {
  int teams;
  int warps;
  int packs;
};

/// Cycles of a multiprocessor for that step, about: its schedulers issue, and teams wait for what
/// one warp of each does alone. The less of the two is partly hidden behind the other.
/// members  that a lane evaluates, at full cost
std::int64_t step_cycles(PackedNetwork const& net, Crew const& crew, std::int64_t members) {
  constexpr int kAlone = 13'000;  // of a pack, beside layers: cycles
  constexpr int kIssue = 4'000;   // and instructions
  constexpr int kSchedulers = 4;
  // Beside every two multiply-adds a load or so, and half as much time again for waiting.
  std::int64_t const instructions = busiest_share(net, 1) * members * 5 / 4;
  std::int64_t const waiting = busiest_share(net, crew.warps) * members * 3 / 2;
  std::int64_t const issue = crew.packs * (kIssue + instructions) / kSchedulers;
  std::int64_t const alone = rounded_up(crew.packs, crew.teams) / crew.teams * (kAlone + waiting);
  return std::max(issue, alone) + std::min(issue, alone) / 4;
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
  plan.blocks = limits.multiprocessors;
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
  /// Makes the plan one of that shape; false where it does not fit.
  auto const shape = [&](int members, int teams, int warps, int window) {
    Window nowhere;
    plan.members = members;
    plan.teams = teams;
    plan.warps = warps;
    plan.window = window;
    plan.places = members == kSpreadMembers ? limits.warp_lanes : window;
    plan.scratch_floats = floats(members);
    plan.window_bytes = lay_out_window(window, limits.warp_lanes, nullptr, nowhere);
    plan.job_bytes = warps > 1 ? rounded_up(teams * static_cast<int>(sizeof(DenseJob)), 16) : 0;
    std::int64_t const each =
        plan.window_bytes + plan.scratch_floats * static_cast<std::int64_t>(sizeof(float));
    std::int64_t const bytes = plan.job_bytes + arena.bytes + teams * each;
    plan.shared_bytes = static_cast<int>(std::min<std::int64_t>(bytes, INT_MAX));
    return bytes <= limits.shared_per_block && teams * warps >= kFewWarps;
  };
  if (are_few(limits, lanes) && subject.variants <= limits.warp_lanes) {
    int const window = (lanes + spread_windows(limits) - 1) / spread_windows(limits);
    for (int teams = kSpreadWindows; teams > 0; --teams) {
      int const warps = std::min(kMostRoundWarps / teams, most_tiles(subject.network));
      if (shape(kSpreadMembers, teams, warps, window)) return plan;
    }
  }
  int const at_once = plan.blocks * limits.warp_lanes;
  int const packs = (lanes + at_once - 1) / at_once;  // of a multiprocessor
  /// Of the shapes that fit with windows of at most so many packs.
  auto const cheapest = [&](int most_packs) {
    RoundPlan best = plan;
    best.on_chip = false;
    std::int64_t least = 0;
    for (auto const& [members, cost] : kTogether) {
      std::int64_t const evaluated = rounded_up(subject.variants, members);
      for (int teams = 1; teams <= kMostRoundWarps; ++teams) {
        int const wanted = window_packs((packs + teams - 1) / teams);
        int const window = std::min(wanted, most_packs) * limits.warp_lanes;
        for (int warps = 1; teams * warps <= kMostRoundWarps; ++warps) {
          if (!shape(members, teams, warps, window)) continue;
          std::int64_t const cycles =
              step_cycles(subject.network, {teams, warps, packs}, evaluated * cost / 100);
          if (best.on_chip && cycles >= least) continue;
          best = plan;
          least = cycles;
        }
      }
    }
    return best;
  };
  RoundPlan const best = cheapest(kMostWindow / limits.warp_lanes);
  // So that what fits for some number of lanes fits for any.
  return best.on_chip ? best : cheapest(1);
}

}  // namespace fairlane
