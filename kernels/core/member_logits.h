// Logits of several members of a similar set at once: the packs of a tile are members of the same
// lanes, so that one read of a weight and one sum of the first layer's shared part serve them all.
#pragma once

#include <utility>

#include "kernels/core/first_layer.h"
#include "kernels/core/margin.h"

namespace fairlane {

/// Working memory of MemberLogits, in floats, each a multiple of one pack.
/// in      [inputs] the lanes' inputs, until the first layer's shared sums are there
/// own     [inputs behind the shared ones] theirs
/// prefix  [first layer's outputs] sums over the shared inputs
/// tail    [inputs behind the shared ones][packs] the members', until the first layer is done
/// a, b    [..][packs] activations of layers 0, 2, .. and 1, 3, ..
struct MemberScratch {
  float* in = nullptr;
  float* own = nullptr;
  float* prefix = nullptr;
  float* tail = nullptr;
  float* a = nullptr;
  float* b = nullptr;
};

/// Lays the memory of tiles of so many packs out, in rows of `pack_lanes` floats; with a null
/// `memory` it only counts. Returns the rows. What is not needed once b is written lies in b: the
/// prefix, too, where all members are evaluated together.
FL_HD int lay_out_members(Subject const& s, int packs, int pack_lanes, float* memory,
                          MemberScratch& m) {
  auto const& net = s.network;
  int const tail = s.inputs - s.input_prefix;
  int rows = 0;
  auto const take = [&](int count) {
    float* const at = memory == nullptr ? nullptr : memory + static_cast<long>(rows) * pack_lanes;
    rows += count;
    return at;
  };
  int const units = net.layer[0].forward.outputs;
  bool const together = s.variants <= packs;
  auto const activations = [&](int first) {  // or, in what is not in use then, a lane's own logits
    int const widest = widest_of_every_other(net, first);
    return take((widest > net.outputs() ? widest : net.outputs()) * packs);
  };
  m.own = take(tail);
  m.a = activations(0);
  if (!together) m.prefix = take(units);
  int const begin = rows;
  m.b = activations(1);
  int const end = rows;
  rows = begin;
  m.in = take(s.inputs);
  m.tail = take(tail * packs);
  if (together) m.prefix = take(units);
  return rows > end ? rows : end;
}

/// A source of logits (LaneTiles::NetworkLogits) for tiles of one pack of lanes, which are asked
/// for one variant after the other. kM: members that are evaluated together.
/// x            [columns][x_stride] codes of the lanes
/// list         [..] the lanes, in x and own_variant; null: from the first one on
/// own_variant  [..] theirs; only own() asks
template <Pack P, int kM>
struct MemberLogits {
  using F = typename P::F;
  using I = typename P::I;
  using First = FirstLayer<P, 1>;
  static constexpr int kN = P::kLanes;
  static constexpr int kTile = kM * kN;
  static constexpr TileLayout kLayout =
      LoadsWeights<P> ? TileLayout::kSideBySide : TileLayout::kApart;

  Subject const& s;
  MemberScratch const& m;
  std::int32_t const* x;
  long x_stride;
  std::int32_t const* list = nullptr;
  std::uint32_t const* own_variant = nullptr;
  mutable float* chunk = nullptr;  // logits of members that were evaluated together
  mutable int first_lane = 0;

  static constexpr FL_HD int stride() { return kTile; }

  /// Makes lanes [at, at + kN) the tile.
  FL_HD void load(int at) const {
    settle<P, kLayout>();
    if (list == nullptr) {
      First::load(s, x, x_stride, at, s.prefix, m.in);
    } else {
      I const lane = P::load_i(list + at);
      First::load_codes(
          s,
          [&](int c, int) {
            // 32 bits are cheaper on a GPU, and no array has 2^32 elements.
            auto const row = static_cast<std::uint32_t>(c) * static_cast<std::uint32_t>(x_stride);
            return P::gather_i(x + row, lane);
          },
          s.prefix, m.in);
    }
    First::sums(s, s.prefix, s.input_prefix, m.in, m.prefix);
    for (int k = s.input_prefix; k < s.inputs; ++k)
      P::store(P::load(m.in + k * kN), m.own + (k - s.input_prefix) * kN);
    chunk = nullptr;
    first_lane = at;
  }

  FL_HD float* variant(int v) const {
    if (v % kM == 0 && (v > 0 || chunk == nullptr)) evaluate(v, true);
    return chunk + v % kM * kN;
  }

  /// Of the lanes themselves, before any other member is asked for.
  FL_HD float* own() const {
    bool const together = s.variants <= kM;  // then each lane is one of the members
    evaluate(0, together);
    if (!together) return std::exchange(chunk, nullptr);
    auto const* const from = reinterpret_cast<std::int32_t const*>(own_variant);
    I const mine = list == nullptr ? P::load_i(from + first_lane)
                                   : P::gather_i(from, P::load_i(list + first_lane));
    float* const logits = chunk == m.a ? m.b : m.a;  // the one that is not in use
    settle<P, kLayout>();
    for (int o = 0; o < s.network.outputs(); ++o) {
      F z = P::load(chunk + o * kTile);
      FL_UNROLL
      for (int j = 1; j < kM; ++j) {
        z = P::select(LabelSet<P>::equal(mine, P::splat_i(j)), P::load(chunk + o * kTile + j * kN),
                      z);
      }
      P::store(z, logits + o * kTile);
    }
    return logits;
  }

  /// Makes kM members the chunk. value(j, i): the j-th one's selected input i
  template <class Value>
  FL_HD void evaluate_by(Value const& value) const {
    fill();
    for (int i = 0; i < s.selected_inputs; ++i)
      put(s.selected_input[i] - s.input_prefix, [&](int j) { return value(j, i); });
    finish();
  }

 private:
  /// Members [first, first + kM), the last one repeated; or kM times the lanes themselves.
  FL_HD void evaluate(int first, bool members) const {
    if (members) {
      evaluate_by([&](int j, int i) {
        int const v = first + j < s.variants ? first + j : s.variants - 1;
        return P::splat(s.variant_value[static_cast<long>(v) * s.selected_inputs + i]);
      });
    } else {
      fill();
      finish();
    }
  }
  /// kM times the lanes themselves, as far as the inputs behind the shared ones.
  FL_HD void fill() const {
    settle<P, kLayout>();
    int const tail = s.inputs - s.input_prefix;
    for (int k = 0; k < tail; ++k) {
      F const own = P::load(m.own + k * kN);
      put(k, [own](int) { return own; });
    }
  }
  FL_HD void finish() const {
    auto const& net = s.network;
    layer_forward<P, kM, Start::kSharedSums, kLayout>(
        net.layer[0], InputRange{s.input_prefix, s.inputs, s.input_prefix}, m.tail, m.prefix,
        net.layers == 1, m.a);
    chunk = upper_layers<P, kM, kLayout>(net, m.a, m.b);
  }

  /// A row of `tail`. value(j): of the j-th member
  template <class Value>
  FL_HD void put(int row, Value const& value) const {
    F members[kM];
    FL_UNROLL
    for (int j = 0; j < kM; ++j) members[j] = value(j);
    float* const to = m.tail + row * kTile;
    if constexpr (kLayout == TileLayout::kSideBySide) {
      P::template store_side<kM>(members, to);
    } else {
      FL_UNROLL
      for (int j = 0; j < kM; ++j) P::store(members[j], to + j * kN);
    }
  }
};

/// The same for two members of each lane's similar set, whichever they are. members.list == nullptr
/// pair  [..] the members of the lanes, from the first one on
template <Pack P>
struct PairLogits {
  using Members = MemberLogits<P, 2>;

  Members members;
  MemberPair pair;

  static constexpr FL_HD int stride() { return Members::kTile; }
  FL_HD void load(int at) const {
    members.load(at);
    typename P::I const variant[2] = {P::load_i(pair.first + at), P::load_i(pair.second + at)};
    Subject const& s = members.s;
    members.evaluate_by([&](int j, int i) {
      return P::gather(s.variant_value + i, variant[j], s.selected_inputs);
    });
  }
  FL_HD float const* candidate(std::uint32_t member, typename P::I const*) const {
    return members.chunk + static_cast<int>(member) * P::kLanes;
  }
};

}  // namespace fairlane
