// The operations of a search on many lanes that ask the network nothing: draws, steps, weights.
// Arrays as in lane_tiles.h.
#pragma once

#include <type_traits>

#include "kernels/core/adaptive_steps.h"
#include "kernels/core/labels.h"
#include "kernels/core/steps.h"

namespace fairlane {

/// One global step; see advance in LaneKernels.
/// sign  -1 walks against the gradient, +1 along it
struct AdvanceSpec {
  float decay = 0.5F;
  std::int32_t step = 1;
  std::int32_t sign = -1;
};

/// P: the pack. kernels/cpu/lane_kernels.h says what each operation does.
template <Pack P>
struct LaneSteps {
  using F = typename P::F;
  using I = typename P::I;
  using U = typename P::U;
  static constexpr int kN = P::kLanes;

  static FL_HOST_DEVICE void random_words(std::uint32_t const* lane, Phase phase,
                                          std::uint32_t const* iteration, std::uint32_t draw,
                                          std::uint64_t seed, int n, std::uint32_t* words,
                                          long stride) {
    for (int at = 0; at < n; at += kN) {
      auto const r = philox<P>(P::load_u(lane + at), P::splat_u(static_cast<std::uint32_t>(phase)),
                               P::load_u(iteration + at), P::splat_u(draw), seed);
      for (int i = 0; i < 4; ++i) P::store_u(r.w[i], words + i * stride + at);
    }
  }

  static FL_HOST_DEVICE void advance(Subject const& s, AdvanceSpec spec, float const* g1,
                                     float const* g2, long gradient_stride, float* m1, float* m2,
                                     std::int32_t* x, long stride, int n) {
    I const along = P::splat_i(spec.sign * spec.step);
    I const against = P::splat_i(-spec.sign * spec.step);
    I const stay = P::splat_i(0);
    for (int at = 0; at < n; at += kN) {
      struct Cell {
        F momentum;
        F partner_momentum;
        F slope;
        F partner_slope;
        I code;
      };
      read_ahead(
          s.movable_count,
          [&](int i) {
            long const cell = s.movable[i] * stride + at;
            long const slope = s.movable[i] * gradient_stride + at;
            return Cell{P::load(m1 + cell), P::load(m2 + cell), P::load(g1 + slope),
                        P::load(g2 + slope), P::load_i(x + cell)};
          },
          [&](int i, Cell const& from) {
            int const c = s.movable[i];
            long const cell = c * stride + at;
            F const a = decayed<P>(spec.decay, from.momentum, from.slope);
            F const b = decayed<P>(spec.decay, from.partner_momentum, from.partner_slope);
            P::store(a, m1 + cell);
            P::store(b, m2 + cell);
            F const sign = P::to_float(agreed_sign<P>(a, b));
            F const zero = P::splat(0.0F);
            I const step = P::select_i(sign > zero, along, P::select_i(sign < zero, against, stay));
            P::store_i(step_and_clip<P>(from.code, step, s.low[c], s.high[c]), x + cell);
          });
    }
  }

  static FL_HOST_DEVICE void attribute_weights(Subject const& s, float epsilon, float const* g1,
                                               float const* g2, long gradient_stride, int n,
                                               float* weights, long stride, float* total) {
    for (int at = 0; at < n; at += kN) {
      F sum = P::splat(0.0F);
      struct Slopes {
        F own;
        F partner;
      };
      read_ahead(
          s.movable_count,
          [&](int i) {
            long const cell = s.movable[i] * gradient_stride + at;
            return Slopes{P::load(g1 + cell), P::load(g2 + cell)};
          },
          [&](int i, Slopes slope) {
            F const w = attribute_weight<P>(slope.own, slope.partner, epsilon);
            P::store(w, weights + i * stride + at);
            sum = sum + w;
          });
      P::store(sum, total + at);
    }
  }

  /// A local step: which movable attribute was drawn, by how much its column moved, and 1 where the
  /// step went up.
  struct Taken {
    I index;
    I by;
    I up;
  };

  /// Steps the drawn attribute of each lane, clipped. goes_down(i, old): whether a step of
  /// attribute i, whose column is at old, goes down
  template <class GoesDown>
  static FL_HD Taken take_step(Subject const& s, I index, std::int32_t step, std::int32_t* x,
                               long stride, GoesDown const& goes_down) {
    I const one = P::splat_i(1);
    I const zero = P::splat_i(0);
    if constexpr (std::is_same_v<P, ScalarPack>) {  // the others stay, without a look at them
      int const c = s.movable[index];
      I const old = x[c * stride];
      auto const down = goes_down(index, old);
      x[c * stride] = step_and_clip<P>(old, down ? -step : step, s.low[c], s.high[c]);
      return {index, x[c * stride] - old, down ? zero : one};
    } else {
      Taken taken{index, zero, zero};
      for (int i = 0; i < s.movable_count; ++i) {
        int const c = s.movable[i];
        std::int32_t* cell = x + c * stride;
        I const old = P::load_i(cell);
        auto const mine = LabelSet<P>::equal(index, P::splat_i(i));
        auto const down = goes_down(i, old);
        I const change = P::select_i(down, P::splat_i(-step), P::splat_i(step));
        I const value = P::select_i(mine, step_and_clip<P>(old, change, s.low[c], s.high[c]), old);
        P::store_i(value, cell);
        taken.by = taken.by + (value - old);
        taken.up = P::select_i(P::land(mine, P::lnot(down)), one, taken.up);
      }
      return taken;
    }
  }

  /// The step of the gradient-guided searches: attribute by weights, which add up to `total`, and
  /// `word`.
  static FL_HD Taken weighted_step(Subject const& s, std::int32_t step, float const* weights,
                                   F total, U word, U direction_word, std::int32_t* x,
                                   long stride) {
    I const index = choose_attribute<P>(weights, s.movable_count, stride, total, word);
    auto const down = P::to_float(choose_direction<P>(direction_word)) < P::splat(0.0F);
    return take_step(s, index, step, x, stride, [down](int, I) { return down; });
  }

  /// The step of AEQUITAS.
  static FL_HD Taken odds_step(Subject const& s, std::int32_t step, StepOdds odds, U word,
                               U direction_word, std::int32_t* x, long stride) {
    I const index = attribute_by_odds<P>(odds.up_to, s.movable_count, word);
    I const lot = P::u_to_i(below<P>(direction_word, P::splat_u(std::uint32_t{kDirectionOdds})));
    return take_step(s, index, step, x, stride, [&s, &odds, lot](int i, I old) {
      int const c = s.movable[i];
      return goes_down<P>(lot, old, s.low[c], s.high[c], odds.down[i]);
    });
  }

  static FL_HOST_DEVICE void perturb(Subject const& s, std::int32_t step, float const* weights,
                                     float const* total, std::uint32_t const* words,
                                     std::int32_t* x, long stride, int n, std::int32_t* index,
                                     std::int32_t* moved) {
    for (int at = 0; at < n; at += kN) {
      auto const taken =
          weighted_step(s, step, weights + at, P::load(total + at), P::load_u(words + at),
                        P::load_u(words + stride + at), x + at, stride);
      P::store_i(taken.index, index + at);
      P::store_i(taken.by, moved + at);
    }
  }

  static FL_HOST_DEVICE void perturb_by_odds(Subject const& s, std::int32_t step, StepOdds odds,
                                             std::uint32_t const* words, std::int32_t* x,
                                             long stride, int n, std::int32_t* choice,
                                             std::int32_t* moved) {
    for (int at = 0; at < n; at += kN) {
      auto const taken = odds_step(s, step, odds, P::load_u(words + at),
                                   P::load_u(words + stride + at), x + at, stride);
      P::store_i(taken.index + taken.index + taken.up, choice + at);
      P::store_i(taken.by, moved + at);
    }
  }
};

}  // namespace fairlane
