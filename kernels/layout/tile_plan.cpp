#include "kernels/layout/tile_plan.h"

#include <algorithm>

namespace fairlane {

namespace {

constexpr int kMostWarps = 16;   // of a block: 512 threads, whose registers fit with room to spare
constexpr int kEnoughWarps = 8;  // of a multiprocessor, two on each of its four schedulers
constexpr int kFewWarps = 4;     // below that, scratch in device memory is the better choice

}  // namespace

TilePlan make_tile_plan(Subject const& subject, ScratchNeeds needs, ArenaView const& arena,
                        DeviceLimits const& limits) {
  TilePlan plan;
  plan.arena = arena;
  int const rows = scratch_rows(subject, needs);
  auto const floats = [&](int packs) {
    return static_cast<std::int64_t>(rows) * packs * limits.warp_lanes;
  };
  std::int64_t const shared = limits.shared_per_block;
  // Weights are read by every warp again and again: they come first, if they leave half for
  // scratch.
  plan.shared_weights = arena.bytes * 2 <= shared;
  std::int64_t const weights = plan.shared_weights ? arena.bytes : 0;
  auto const warps_that_fit = [&](int packs) {
    auto const bytes = floats(packs) * static_cast<std::int64_t>(sizeof(float));
    if (bytes == 0) return kMostWarps;
    return static_cast<int>(std::min<std::int64_t>((shared - weights) / bytes, kMostWarps));
  };
  // More packs feed more multiply-adds from each weight, more warps hide more latency: first enough
  // warps.
  plan.shared_scratch = true;
  for (int const packs : {4, 2, 1}) {
    plan.packs = packs;
    plan.warps = warps_that_fit(packs);
    if (plan.warps >= kEnoughWarps) break;
  }
  if (plan.warps < kFewWarps) {
    plan.shared_scratch = false;
    plan.packs = 2;
    plan.warps = kEnoughWarps;
  }
  plan.scratch_floats = floats(plan.packs);
  std::int64_t const scratch =
      plan.shared_scratch
          ? plan.scratch_floats * static_cast<std::int64_t>(sizeof(float)) * plan.warps
          : 0;
  plan.shared_bytes = static_cast<int>(weights + scratch);
  constexpr int kReserved = 1 << 10;  // shared memory that the system takes of every block
  std::int64_t const by_memory = limits.shared_per_multiprocessor / (plan.shared_bytes + kReserved);
  // A thread takes up to 128 registers: a multiprocessor holds kMostWarps warps, however they are
  // divided.
  auto const per_multiprocessor =
      std::clamp<std::int64_t>(by_memory, 1, std::max(1, kMostWarps / plan.warps));
  plan.blocks = limits.multiprocessors * static_cast<int>(per_multiprocessor);
  return plan;
}

}  // namespace fairlane
