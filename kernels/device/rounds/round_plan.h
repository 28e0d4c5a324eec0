// How a device runs many rounds of a local search in one launch: how many lanes a team of warps
// owns, how many members of a group a thread evaluates together, and what fits on chip.
#pragma once

#include "kernels/layout/tile_plan.h"

namespace fairlane {

inline constexpr int kMostRoundWarps = 12;  // of a block, with up to 168 registers a thread
inline constexpr int kMostWindow = 128;     // lanes of a team
inline constexpr int kSpreadMembers = 0;

/// arena            the subject in device memory, which every block copies to shared memory
/// on_chip          whether weights and scratch fit there; otherwise nothing else is planned, and a
///                  round takes a kernel for each stage
/// members          members of a group that a thread evaluates together: 2 or 4; kSpreadMembers:
///                  one, and members of few lanes fill a warp
/// window           lanes of a team; places: that it has in the arrays over places
/// teams            teams of a block
/// warps            of a team, of which one goes through the rounds, and all through wide layers
/// blocks           blocks that are resident at once
/// shared_bytes     shared memory of a block; window_bytes: of a team's window; job_bytes: of what
///                  the teams' warps have to do
/// scratch_floats   floats of scratch of one team
struct RoundPlan {
  ArenaView arena;
  bool on_chip = true;
  int members = 2;
  int window = 1;
  int places = 1;
  int teams = 1;
  int warps = 1;
  int blocks = 1;
  int shared_bytes = 0;
  int window_bytes = 0;
  int job_bytes = 0;
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
