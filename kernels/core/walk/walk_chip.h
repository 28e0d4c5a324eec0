// What a walk keeps near the threads that run it: its network, its members, and working memory (see
// kernels/core/walk/walk_members.h).
#pragma once

#include "kernels/core/subject.h"
#include "kernels/core/walk/walk.h"

namespace fairlane {

inline constexpr int kWalkMembers = 4;   // evaluated together
inline constexpr int kWidestSums = 20;   // outputs whose sums of all of them registers hold
inline constexpr int kPrefixUnits = 8;   // of the first layer whose shared sums are taken together
inline constexpr int kWalkUnits = 4;     // of it that a member's sums are taken of together
inline constexpr int kNearTerms = 3;     // of a chunk, without a loop
inline constexpr int kVectorFloats = 4;  // rows of weights are whole vectors of so many

/// A layer as a walk reads it: outputs in tiles, a tile's weights for each input side by side.
/// tile     outputs of a tile; the last may be narrower
/// row      floats of a tile's weights for an input
/// weights  [tiles][inputs][row], where in WalkModel
/// bias     [tiles][row], the same
/// closes   whether its closed units are looked for
struct WalkLayer {
  Activation activation;
  float alpha;
  int inputs;
  int outputs;
  int tile;
  int row;
  int weights;
  int bias;
  int closes;
};

/// What an input behind the shared ones adds to the first layer's sums of four members.
/// value  of that input; own: the row of the heads' own values in its place, -1: none
/// input  its weights, in floats from the first input's
struct WalkTerm {
  float value[kWalkMembers];
  int input;
  int own;
  int unused[2];
};

/// All that a walk reads again and again, in one block of memory whose parts are whole vectors;
/// places are in floats from its begin. The first layer is one tile.
/// layer   WalkLayer [layers]
/// chunk   int [chunks + 1] the first of its terms, of which it has one at least
/// term    WalkTerm [chunk[chunks]]
/// owns    int [own] inputs that heads have values of their own for, behind the shared ones
/// rows_a  rows of four packs of either buffer: activations, and heads as they are read
/// rows_b
/// widest  outputs of any layer that is listed
struct WalkModel {
  float const* base = nullptr;
  int floats = 0;
  int layers = 0;
  int layer = 0;
  int chunk = 0;
  int term = 0;
  int owns = 0;
  int own = 0;
  int rows_a = 0;
  int rows_b = 0;
  int widest = 0;
};

/// Working memory of a tile of heads, in parts of whole vectors: where they lie, in floats from its
/// begin.
/// prefix  [first layer's row] packs: its sums over the shared inputs
/// own     [owns] packs
/// a, b    [rows] tiles of four packs
/// logits  [variants][outputs] packs of one group
/// terms   as WalkTally's
/// words   as WalkTally's
/// open    [2][widest] lists of inputs
struct WalkMemory {
  float* base = nullptr;
  int prefix = 0;
  int own = 0;
  int a = 0;
  int b = 0;
  int logits = 0;
  int terms = 0;
  int words = 0;
  int open = 0;
  int floats = 0;
};

FL_HD WalkLayer const* layers_of(WalkModel const& model) {
  return reinterpret_cast<WalkLayer const*>(model.base + model.layer);
}

/// Lays that memory out for packs of so many lanes. first: the first layer
FL_HD WalkMemory lay_out_walk(Subject const& s, WalkModel const& model, WalkLayer const& first,
                              int pack_lanes) {
  WalkMemory m;
  auto const take = [&](int floats) {
    int const at = m.floats;
    m.floats += (floats + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
    return at;
  };
  int const outputs = s.network.outputs();
  int const tile = kWalkMembers * pack_lanes;
  m.prefix = take(first.row * pack_lanes);
  m.own = take(model.owns * pack_lanes);
  m.a = take(model.rows_a * tile);
  m.b = take(model.rows_b * tile);
  m.logits = take(s.variants * outputs * pack_lanes);
  m.terms = take((outputs == 1 ? 2 : 4 * outputs) * pack_lanes);
  m.words = take(2 * s.variants * (label_planes(outputs) + 1));
  m.open = take(2 * model.widest);
  return m;
}

}  // namespace fairlane
