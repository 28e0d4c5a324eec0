// The table of LaneKernels for one pack type. Included by kernels/cpu/isa_*.cpp only, after FL_ISA
// is defined.
#pragma once

#include "kernels/core/trial_plan.h"
#include "kernels/core/walk/walk_tiles.h"
#include "kernels/cpu/lane_kernels.h"

// Defined before by the file that includes this one: match_visits and list_visits of the
// instruction set.

namespace fairlane::FL_ISA {

/// P: the pack; kV: packs per tile; kT: outputs per register tile.
template <Pack P, int kV, int kT>
struct Kernels : LaneTiles<P, kV> {
  using Tiles = LaneTiles<P, kV>;
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;

  static std::int64_t multiply_adds(std::int64_t rounds, float* sink) {
    constexpr int kChains =
        12;  // more than latency x ports on any current core, fewer than its registers
    F sum[kChains];
    for (int i = 0; i < kChains; ++i) sum[i] = P::splat(static_cast<float>(i + 1));
    F const factor = P::splat(sink[0]);
    F const term = P::splat(sink[1]);
    for (std::int64_t r = 0; r < rounds; ++r) {
      FL_UNROLL
      for (int i = 0; i < kChains; ++i) sum[i] = P::fma(sum[i], factor, term);
    }
    for (int i = 1; i < kChains; ++i) sum[0] = sum[0] + sum[i];
    P::store(sum[0], sink);
    return rounds * kChains * kN;
  }

  static int list(std::int32_t const* value, std::int32_t low, std::int32_t high, int n,
                  std::int32_t* lanes) {
    std::int32_t iota[kN];
    for (int i = 0; i < kN; ++i) iota[i] = i;
    I number = P::load_i(iota);
    int count = 0;
    for (int at = 0; at < n; at += kN) {
      I const x = P::load_i(value + at);
      auto const outside = P::lor(P::less_i(x, P::splat_i(low)), P::less_i(P::splat_i(high), x));
      auto const inside = P::land(P::lnot(outside), P::less_i(number, P::splat_i(n)));
      count += P::compress(number, inside, lanes + count);
      number = number + P::splat_i(kN);
    }
    return count;
  }

  static void gather(std::int32_t const* from, int rows, long stride, std::int32_t const* lanes,
                     int n, std::int32_t* to, long to_stride) {
    int at = 0;
    for (; at + kN <= n; at += kN) {
      I const lane = P::load_i(lanes + at);
      for (int r = 0; r < rows; ++r)
        P::store_i(P::gather_i(from + r * stride, lane), to + r * to_stride + at);
    }
    for (; at < n; ++at) {
      for (int r = 0; r < rows; ++r) to[r * to_stride + at] = from[r * stride + lanes[at]];
    }
  }

  static void restore(std::int32_t const* source, std::int32_t* target, int rows, long stride,
                      int n, std::int32_t const* keep) {
    for (int at = 0; at < n; at += kN) {
      auto const drop = LabelSet<P>::equal(P::load_i(keep + at), P::splat_i(0));
      if (!P::any(drop)) continue;
      for (int r = 0; r < rows; ++r) {
        long const cell = r * stride + at;
        P::store_i(P::select_i(drop, P::load_i(source + cell), P::load_i(target + cell)),
                   target + cell);
      }
    }
  }

  static void plan_trials(Subject const& s, MoveTable const& table, PlanLanes const& lanes, int n,
                          std::int32_t* memory) {
    KeptColumns<P> const columns(memory);
    for (int at = 0; at < n; at += kN) {
      LaneColumns<P> const now{s, lanes, at};
      for (int c = columns.kLeast; c < s.columns; ++c) columns.keep(c, now(c));
      fairlane::plan_trials<P>(s, table, lanes, at, columns);
    }
  }

  static void walk(Subject const& s, Walk const& w, std::int64_t first, std::int64_t count,
                   Scratch const& m, WalkScratch const& memory, std::uint64_t* mixed,
                   std::uint64_t* counters) {
    constexpr int kTile = Tiles::kTile;
    constexpr int kWord = 64;
    static_assert(kWord % kTile == 0);
    long const row = static_cast<long>((count + kWord - 1) / kWord);
    for (std::int64_t at = 0; at < count; at += kTile) {
      int const n = static_cast<int>(count - at < kTile ? count - at : kTile);
      if (s.encoding == nullptr) {
        load_heads(w, first + at, n, kTile, m.in);
      } else {
        load_heads(w, first + at, n, kTile, memory.codes);
        FirstLayer<P, kV>::load(s, memory.codes, kTile, 0, w.first, m.in);
      }
      WalkTiles<P, kV>::member_logits(s, w, m, memory.sums, memory.logits);
      if (s.feasible.rules > 0) {
        if (s.encoding == nullptr) load_heads(w, first + at, n, kTile, memory.codes);
        WalkTiles<P, kV>::drop_infeasible(s, w, memory.codes, memory.logits);
      }
      WalkTally<P, kV>::tally(s, w,
                              {memory.logits, kTile, low_bits(n), memory.words, m.terms,
                               mixed + at / kWord, row, static_cast<int>(at % kWord), counters});
    }
  }

  // One pack of heads, so that they are close to each other; members take the place of packs.
  static constexpr int kWalkFirst = kT * kV < 2 * kMaxTile ? kT * kV : 2 * kMaxTile;
  static constexpr int kWalkMembers = kT == kMaxTile ? 2 * kV : kV;
  static constexpr int kWalkUpper = kT == kMaxTile ? 6 : kT;
  static void walk_logits(Subject const& s, Walk const& w, int begin, int end, Scratch const& m,
                          float* sums, float* logits) {
    OpenTiles<P, kWalkMembers, kWalkFirst, kWalkUpper>::member_logits(s, w, begin, end, m, sums,
                                                                      logits, kTallyLanes);
  }
  static void walk_tally(Subject const& s, Walk const& w, std::uint64_t valid, float* logits,
                         float* terms, std::uint64_t* words, std::uint64_t* mixed,
                         std::uint64_t* counters) {
    WalkTally<P, kTallyLanes / kN>::tally(
        s, w, {logits, kTallyLanes, valid, words, terms, mixed, 1, 0, counters});
  }

  static LaneKernels const* table(char const* isa) {
    static constexpr LaneKernels kTable = {nullptr,
                                           Tiles::kTile,
                                           kT,
                                           Tiles::classify,
                                           Tiles::classify_some,
                                           Tiles::variant_labels,
                                           Tiles::probe,
                                           Tiles::margins,
                                           Tiles::pair_margins,
                                           Tiles::gradients,
                                           Tiles::logits,
                                           walk,
                                           walk_logits,
                                           walk_tally,
                                           OpenUnits<P>::enclose,
                                           pack_open_layer<P>,
                                           kN,
                                           kWalkMembers,
                                           kWalkFirst,
                                           kWalkUpper,
                                           Tiles::random_words,
                                           Tiles::advance,
                                           Tiles::attribute_weights,
                                           Tiles::perturb,
                                           Tiles::perturb_by_odds,
                                           plan_trials,
                                           match_visits,
                                           list_visits,
                                           multiply_adds,
                                           list,
                                           gather,
                                           restore};
    static LaneKernels const named = [isa] {
      LaneKernels t = kTable;
      t.isa = isa;
      return t;
    }();
    return &named;
  }
};

}  // namespace fairlane::FL_ISA
