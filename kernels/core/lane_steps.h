// The operations of a search on many lanes that ask the network nothing: draws, steps, weights. Arrays as in lane_tiles.h.
#pragma once

#include "kernels/core/adaptive_steps.h"
#include "kernels/core/steps.h"
#include "kernels/core/subject.h"

namespace fairlane {

/// One global step; see advance in LaneKernels.
/// sign  -1 walks against the gradient, +1 along it
struct AdvanceSpec {
  float decay = 0.5F;
  std::int32_t step = 1;
  std::int32_t sign = -1;
};

/// P: the pack. kernels/cpu/lane_kernels.h says what each operation does.
template <class P>
struct LaneSteps {
  using F = typename P::F;
  using I = typename P::I;
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
      for (int i = 0; i < s.movable_count; ++i) {
        int const c = s.movable[i];
        long const cell = c * stride + at;
        long const slope = c * gradient_stride + at;
        F const a = decayed<P>(spec.decay, P::load(m1 + cell), P::load(g1 + slope));
        F const b = decayed<P>(spec.decay, P::load(m2 + cell), P::load(g2 + slope));
        P::store(a, m1 + cell);
        P::store(b, m2 + cell);
        F const sign = P::to_float(agreed_sign<P>(a, b));
        F const zero = P::splat(0.0F);
        I const step = P::select_i(sign > zero, along, P::select_i(sign < zero, against, stay));
        P::store_i(step_and_clip<P>(P::load_i(x + cell), step, s.low[c], s.high[c]), x + cell);
      }
    }
  }

  static FL_HOST_DEVICE void attribute_weights(Subject const& s, float epsilon, float const* g1,
                                               float const* g2, long gradient_stride, int n,
                                               float* weights, long stride, float* total) {
    for (int at = 0; at < n; at += kN) {
      F sum = P::splat(0.0F);
      for (int i = 0; i < s.movable_count; ++i) {
        long const cell = s.movable[i] * gradient_stride + at;
        F const w = attribute_weight<P>(P::load(g1 + cell), P::load(g2 + cell), epsilon);
        P::store(w, weights + i * stride + at);
        sum = sum + w;
      }
      P::store(sum, total + at);
    }
  }

  static FL_HOST_DEVICE void perturb(Subject const& s, std::int32_t step, float const* weights,
                                     float const* total, std::uint32_t const* words,
                                     std::int32_t* x, long stride, int n, std::int32_t* index,
                                     std::int32_t* moved) {
    for (int at = 0; at < n; at += kN) {
      I const drawn = choose_attribute<P>(weights + at, s.movable_count, stride,
                                          P::load(total + at), P::load_u(words + at));
      auto const up =
          P::to_float(choose_direction<P>(P::load_u(words + stride + at))) > P::splat(0.0F);
      I const change = P::select_i(up, P::splat_i(step), P::splat_i(-step));
      I by = P::splat_i(0);
      for (int i = 0; i < s.movable_count; ++i) {
        int const c = s.movable[i];
        std::int32_t* cell = x + c * stride + at;
        I const old = P::load_i(cell);
        auto const mine = LabelSet<P>::equal(drawn, P::splat_i(i));
        I const value = P::select_i(mine, step_and_clip<P>(old, change, s.low[c], s.high[c]), old);
        P::store_i(value, cell);
        by = by + (value - old);
      }
      P::store_i(drawn, index + at);
      P::store_i(by, moved + at);
    }
  }

  static FL_HOST_DEVICE void perturb_by_odds(Subject const& s, std::int32_t step, StepOdds odds,
                                             std::uint32_t const* words, std::int32_t* x,
                                             long stride, int n, std::int32_t* choice,
                                             std::int32_t* moved) {
    for (int at = 0; at < n; at += kN) {
      I const index = attribute_by_odds<P>(odds.up_to, s.movable_count, P::load_u(words + at));
      I const lot = P::u_to_i(
          below<P>(P::load_u(words + stride + at), P::splat_u(std::uint32_t{kDirectionOdds})));
      I by = P::splat_i(0);
      I up = P::splat_i(0);
      for (int i = 0; i < s.movable_count; ++i) {
        int const c = s.movable[i];
        std::int32_t* cell = x + c * stride + at;
        I const old = P::load_i(cell);
        auto const mine = LabelSet<P>::equal(index, P::splat_i(i));
        auto const down = goes_down<P>(lot, old, s.low[c], s.high[c], odds.down[i]);
        I const change = P::select_i(down, P::splat_i(-step), P::splat_i(step));
        I const value = P::select_i(mine, step_and_clip<P>(old, change, s.low[c], s.high[c]), old);
        P::store_i(value, cell);
        by = by + (value - old);
        up = P::select_i(P::land(mine, P::lnot(down)), P::splat_i(1), up);
      }
      P::store_i(index + index + up, choice + at);
      P::store_i(by, moved + at);
    }
  }
};

}  // namespace fairlane
