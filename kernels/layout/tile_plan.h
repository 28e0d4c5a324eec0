// How a device runs the tiles of a network: how many packs a tile has, and what fits on chip.
#pragma once

#include <cstdint>

#include "kernels/core/lane_tiles.h"
#include "kernels/layout/subject_arena.h"

namespace fairlane {

/// What bounds a plan. shared_per_block: what a block may have at most; bytes.
struct DeviceLimits {
  int multiprocessors = 1;
  int warp_lanes = 32;
  int shared_per_block = 48 << 10;
  int shared_per_multiprocessor = 48 << 10;
  int threads_per_multiprocessor = 2048;
};

/// Which parts of Scratch a tile kernel uses.
struct ScratchNeeds {
  bool in = false;      // a row's inputs
  bool prefix = false;  // the first layer's shared sums
  bool layers = false;  // activations of the layer before and behind
  bool kept = false;    // every layer's activations, for a gradient, and where it needs them b
  int terms = 0;        // rows per output
  int several = 0;      // the same where there are several outputs

  bool operator==(ScratchNeeds const&) const = default;
};

FL_HD int term_rows(Subject const& s, ScratchNeeds needs) {
  int const outputs = s.network.outputs();
  return (outputs > 1 ? needs.terms + needs.several : needs.terms) * outputs;
}

/// Rows of one tile's scratch memory, tile_lanes floats each.
FL_HD int scratch_rows(Subject const& s, ScratchNeeds needs) {
  auto const& net = s.network;
  int rows = 0;
  if (needs.in) rows += s.inputs;
  if (needs.prefix) rows += net.layer[0].forward.outputs;
  if (needs.layers) rows += widest_of_every_other(net, 0) + widest_of_every_other(net, 1);
  if (needs.kept) rows += net.sum_width + (needs_spare(net) ? net.max_width : 0);
  return rows + term_rows(s, needs);
}

/// Lays a tile's scratch out in memory of scratch_rows * tile_lanes floats.
FL_HD Scratch lay_out_scratch(Subject const& s, ScratchNeeds needs, int tile_lanes, float* memory) {
  auto const& net = s.network;
  Scratch m;
  auto const take = [&](bool used, int rows) {
    float* const at = memory;
    if (used) memory += static_cast<long>(rows) * tile_lanes;
    return used ? at : nullptr;
  };
  m.in = take(needs.in, s.inputs);
  m.prefix = take(needs.prefix, needs.prefix ? net.layer[0].forward.outputs : 0);
  m.a = take(needs.layers, needs.layers ? widest_of_every_other(net, 0) : 0);
  m.b = take(needs.layers, needs.layers ? widest_of_every_other(net, 1) : 0);
  m.kept = take(needs.kept, net.sum_width);
  if (needs.kept) {
    m.b = take(needs_spare(net), net.max_width);
  }
  m.terms = take(true, term_rows(s, needs));  // packs have places behind it where it has no rows
  return m;
}

/// How one tile kernel runs.
/// arena            the subject in device memory
/// packs            packs per tile: 1, 2 or 4
/// warps            warps of a block; each works on tiles of its own
/// blocks           blocks that are resident at once
/// shared_weights   every block copies the arena to shared memory first; otherwise it is read
///                  through the cache
/// shared_scratch   tiles keep their scratch in shared memory, otherwise in `scratch`
/// shared_bytes     shared memory of a block
/// scratch_floats   floats of scratch of one warp
/// scratch          [blocks * warps][scratch_floats] in device memory where it is not shared
struct TilePlan {
  ArenaView arena;
  int packs = 1;
  int warps = 1;
  int blocks = 1;
  bool shared_weights = false;
  bool shared_scratch = false;
  int shared_bytes = 0;
  std::int64_t scratch_floats = 0;
  float* scratch = nullptr;
};

/// Chooses a plan from shapes and limits alone; `scratch` is left to the caller. subject: on the
/// host, for its shapes.
TilePlan make_tile_plan(Subject const& subject, ScratchNeeds needs, ArenaView const& arena,
                        DeviceLimits const& limits);

}  // namespace fairlane
