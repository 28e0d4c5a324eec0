// The kernels of a walk (kernels/core/walk/walk.h) on a device, where a head is one group: its
// members are the variants.
#pragma once

#include "kernels/core/walk/walk_chip.h"
#include "kernels/core/walk/walk_tiles.h"
#include "kernels/device/wide_kernels.h"
#include "kernels/layout/tile_plan.h"

namespace fairlane {

/// A whole walk on chip: heads [first, first + heads) in pieces, each some groups of a tile of
/// heads, of `parts` that the tile has. See kernels/device/walk/walk_piece.h
/// walk      its groups' logits lie in one place: group_member is 0, variant_member the variant
/// mixed     [groups][stride] bits of the heads whose group is discriminatory, out
/// counters  [CountLayout::size] added to
struct WalkGroups {
  Walk walk;
  Subject subject;
  WalkModel model;
  std::int64_t first;
  std::int64_t heads;
  int parts;
  int part_members;
  std::uint32_t* mixed;
  int stride;
  std::uint64_t* counters;
};

/// Rows x [columns][stride] of heads from `first` on, with the first variant's values.
struct LoadWalkHeads {
  Walk walk;
  Subject subject;
  std::int64_t first;
  std::int32_t* x;
  long stride;

  FL_HD void operator()(std::int64_t i) const {
    load_heads(walk, first + i, 1, stride, x + i);
    for (int a = 0; a < subject.selected; ++a)
      x[subject.selected_column[a] * stride + i] = subject.variant_code[a];
  }
};

/// Logits of every variant of rows x [columns][stride]: logits [variants][outputs][stride].
struct MemberTiles {
  static constexpr ScratchNeeds kNeeds{true, true, true, false, 0};
  std::int32_t const* x;
  long stride;
  float* logits;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const& m) const {
    typename LaneTiles<P, kV>::NetworkLogits const source{s, m, x + at, stride};
    source.load(0);
    int const outputs = s.network.outputs();
    float* to = logits + at;
    for (int variant = 0; variant < s.variants; ++variant) {
      float const* const z = source.variant(variant);
      for (int c = 0; c < outputs; ++c, to += stride) {
        for (int v = 0; v < kV; ++v)
          P::store(P::load(z + (c * kV + v) * P::kLanes), to + v * P::kLanes);
      }
    }
  }
};

/// The same from a chunk's stored logits.
struct CopyMembers {
  StoredChunk c;
  long stride;
  float* logits;

  FL_HD void operator()(std::int64_t i) const {
    int const rows = c.subject.variants * c.subject.network.outputs();
    for (int r = 0; r < rows; ++r)
      logits[r * stride + i] = c.logits[static_cast<long>(r) * c.chunk.lanes + i];
  }
};

/// Lanes that use the same words: a warp's. Packs of fewer lanes run one after the other.
inline constexpr int kWordLanes = 32;

/// Tally of lanes [0, lanes) from the logits that MemberTiles left.
/// terms     [4 * outputs][stride] scratch
/// words     [lanes / kWordLanes][variants * (label_planes + 1)] scratch
/// mixed     [head_words(lanes)] zero at first
/// counters  [copies][CountLayout::size] added to; several copies, so that few warps meet in one
struct TallyTiles {
  static constexpr ScratchNeeds kNeeds{};
  Walk walk;
  std::int64_t lanes;
  float* logits;
  long stride;
  float* terms;
  std::uint64_t* words;
  std::uint64_t* mixed;
  std::uint64_t* counters;
  int copies;

  template <Pack P, int kV>
  FL_HOST_DEVICE void operator()(Subject const& s, long at, Scratch const&) const {
    constexpr int kWord = 64;
    static_assert(P::kLanes <= kWordLanes);
    int const size = count_layout(s, walk).size();
    int const row = s.variants * (label_planes(s.network.outputs()) + 1);
    for (int v = 0; v < kV; ++v) {
      long const lane = at + v * P::kLanes;
      if (lane >= lanes) return;
      long const warp = lane / kWordLanes;
      auto const n = static_cast<int>(lanes - lane < P::kLanes ? lanes - lane : P::kLanes);
      WalkTally<P, 1>::tally(s, walk,
                             {logits + lane, stride, low_bits(n), words + warp * row, terms + lane,
                              mixed + lane / kWord, 0, static_cast<int>(lane % kWord),
                              counters + warp % copies * size});
    }
  }
};

}  // namespace fairlane
