// How a device runs many rounds of a local search in one launch: how many lanes a warp owns, how
// many members of a group a thread evaluates together, and what fits on chip.
#pragma once

#include "kernels/layout/tile_plan.h"

namespace fairlane {

inline constexpr int kMostRoundWarps = 12;  // of a block, with up to 168 registers a thread
inline constexpr int kMostWindow = 128;     // lanes of a warp
inline constexpr int kSpreadMembers = 0;

/// arena            the subject in device memory, which every block copies to shared memory
/// on_chip          whether weights and scratch fit there; otherwise nothing else is planned, and a
///                  round takes a kernel for each stage
/// members          members of a group that a thread evaluates together: 2 or 4; kSpreadMembers:
///                  one, and members of few lanes fill a warp
/// window           lanes of a warp; places: that it has in the arrays over places
/// warps            warps of a block
/// blocks           blocks that are resident at once
/// shared_bytes     shared memory of a block; window_bytes: of a warp's window
/// scratch_floats   floats of scratch of one warp
struct RoundPlan {
  ArenaView arena;
  bool on_chip = true;
  int members = 2;
  int window = 1;
  int places = 1;
  int warps = 1;
  int blocks = 1;
  int shared_bytes = 0;
  int window_bytes = 0;
  std::int64_t scratch_floats = 0;
};

/// Places that the rounds of so many lanes take in the arrays over places.
int round_places(DeviceLimits const& limits, int lanes);

/// What rounds need of scratch memory.
/// gradient  for a row's gradient; terms: rows for each output of a member that is evaluated
struct RoundNeeds {
  ScratchNeeds gradient;
  int terms = 0;
};

/// Chooses a plan for so many lanes. subject: on the host, for its shapes.
RoundPlan make_round_plan(Subject const& subject, RoundNeeds needs, ArenaView const& arena,
                          DeviceLimits const& limits, int lanes);

}  // namespace fairlane
