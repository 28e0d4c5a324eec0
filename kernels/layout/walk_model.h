// What a walk on a device keeps on chip (kernels/core/walk/walk_chip.h), and how it is shared out.
#pragma once

#include <vector>

#include "kernels/core/walk/walk_chip.h"
#include "kernels/layout/tile_plan.h"
#include "kernels/layout/walk_plan.h"

namespace fairlane {

inline constexpr int kMostWalkWarps = 12;  // of a block, with up to 168 registers a thread

/// Packs a network and the members of a walk. memory: the block whose places `model` has, without
/// a base
struct PackedWalk {
  PackedWalk(PackedSubject const& subject, WalkPlan const& plan);
  std::vector<float> memory;
  WalkModel model;
};

/// How a walk runs.
/// lanes           heads of a tile
/// pieces          of the walk, each a warp's
/// parts           of a tile, part_members: members of each, the last may have fewer
/// warps           of a block; 0: it does not fit on chip
/// blocks          blocks of the launch, all resident at once
/// counters        counters, in counter_floats floats of a block's memory
/// shared_bytes    shared memory of a block
struct WalkShape {
  int lanes = 32;
  int pieces = 0;
  int parts = 1;
  int part_members = 0;
  int warps = 0;
  int blocks = 1;
  int counters = 0;
  int counter_floats = 0;
  int shared_bytes = 0;
};

/// Chooses a shape for so many heads.
WalkShape make_walk_shape(PackedWalk const& packed, WalkPlan const& plan,
                          DeviceLimits const& limits, std::int64_t heads);

}  // namespace fairlane
