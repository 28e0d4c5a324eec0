// exp, sigmoid, tanh, expm1, the normal distribution, what activations make of them, and softmax,
// from IEEE operations alone, so that every device gives the same bits.
//
// exp is carried as an unevaluated sum (high + low) with about 26 correct bits, which leaves the
// last rounding to the caller.
#pragma once

#include "kernels/core/pack.h"

namespace fairlane {

/// An unevaluated sum high + low, |low| <= ulp(high) / 2.
template <Pack P>
struct Twofold {
  typename P::F high;
  typename P::F low;
};

inline constexpr float kExpLowest = -104.0F;  // from here on exp rounds to zero
inline constexpr float kExpHighest = 89.0F;   // above it exp is infinite

namespace detail {

/// exp(r) for |r| <= ln2/2 as 1 + (high + low) parts. Coefficients: Taylor to r^7, error about
/// 2^-27.5.
template <Pack P>
FL_HD Twofold<P> exp_reduced(typename P::F r, typename P::F r_low) {
  auto q = P::splat(1.0F / 5040.0F);
  q = P::fma(q, r, P::splat(1.0F / 720.0F));
  q = P::fma(q, r, P::splat(1.0F / 120.0F));
  q = P::fma(q, r, P::splat(1.0F / 24.0F));
  q = P::fma(q, r, P::splat(1.0F / 6.0F));
  q = P::fma(q, r, P::splat(0.5F));
  auto const square = r * r;
  auto const one = P::splat(1.0F);
  auto const high = one + r;
  auto const low = ((one - high) + r) + P::fma(q, square, r_low);
  auto const sum = high + low;
  return {sum, (high - sum) + low};
}

/// n = nearest integer to x / ln2 (|n| < 2^22), and the remainder x - n ln2 as r + r_low.
template <Pack P>
FL_HD typename P::F reduce_ln2(typename P::F x, typename P::F x_low, typename P::F& r,
                               typename P::F& r_low) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding and subtracting rounds to an integer
  constexpr float kLn2High = 0.693145752F;   // 16 bits, so n * kLn2High is exact
  constexpr float kLn2Low = 1.42860677e-6F;  // ln2 - kLn2High
  auto const n = P::fma(x, P::splat(kLog2E), P::splat(kRound)) - P::splat(kRound);
  auto const a = P::fma(n, P::splat(-kLn2High), x);  // exact
  auto const b = P::fma(n, P::splat(-kLn2Low), x_low);
  r = a + b;
  r_low = (a - r) + b;
  return n;
}

/// 2^n for integer-valued n in [-126, 127].
template <Pack P>
FL_HD typename P::F power_of_two(typename P::F n) {
  constexpr std::int32_t kBias = 127;
  return P::float_of(P::template shift_left<23>(P::to_int(n) + P::splat_i(kBias)));
}

}  // namespace detail

/// exp(x + x_low) as an unevaluated sum; NaN passes through.
template <Pack P>
FL_HD Twofold<P> exp_twofold(typename P::F x, typename P::F x_low) {
  auto const lowest = P::splat(kExpLowest);
  auto const highest = P::splat(kExpHighest);
  auto const clamped = P::select(x > highest, highest, P::select(x < lowest, lowest, x));
  typename P::F r;
  typename P::F r_low;
  auto const n = detail::reduce_ln2<P>(clamped, x_low, r, r_low);
  auto const e = detail::exp_reduced<P>(r, r_low);
  constexpr float kRound = 12582912.0F;
  auto const half = P::fma(n, P::splat(0.5F), P::splat(kRound)) -
                    P::splat(kRound);  // two factors reach denormals
  auto const first = detail::power_of_two<P>(half);
  auto const second = detail::power_of_two<P>(n - half);
  return {(e.high * first) * second, (e.low * first) * second};
}

/// Logistic function 1 / (1 + exp(-x)), exp correctly rounded but for one in fifty, then each
/// operation rounded: the formula of the authors' programs. Where it saturates decides their paths,
/// so a more accurate one would leave them.
template <Pack P>
FL_HD typename P::F sigmoid(typename P::F x) {
  auto const one = P::splat(1.0F);
  auto const zero = P::splat(0.0F);
  auto const e = exp_twofold<P>(zero - x, zero);
  return P::divide(one, one + (e.high + e.low));
}

/// exp(x) - 1 for x <= 0 (elu), within 2 ulp.
template <Pack P>
FL_HD typename P::F expm1_negative(typename P::F x) {
  auto const e = exp_twofold<P>(x, P::splat(0.0F));
  auto const value = (e.high - P::splat(1.0F)) + e.low;
  // for tiny x the sum above loses the square term's low bits; x + x^2/2 is exact enough there
  constexpr float kTiny = -1.0e-4F;
  return P::select(x > P::splat(kTiny), P::fma(x * P::splat(0.5F), x, x), value);
}

/// Hyperbolic tangent, within 3 ulp.
template <Pack P>
FL_HD typename P::F tanh(typename P::F x) {
  auto const zero = P::splat(0.0F);
  auto const one = P::splat(1.0F);
  auto const a = P::abs(x);
  // small: odd series; large: (1 - e) / (1 + e) with e = exp(-2a)
  auto const square = x * x;
  auto q = P::splat(-0.00886323552F);               // -1382/155925
  q = P::fma(q, square, P::splat(0.0218694885F));   // 62/2835
  q = P::fma(q, square, P::splat(-0.0539682540F));  // -17/315
  q = P::fma(q, square, P::splat(0.133333333F));    // 2/15
  q = P::fma(q, square, P::splat(-0.333333333F));   // -1/3
  auto const small = P::fma(q * square, x, x);
  auto const e = exp_twofold<P>(a * P::splat(-2.0F), zero);
  auto const num = (one - e.high) - e.low;
  auto const large = P::divide(num, (one + e.high) + e.low);
  constexpr float kSwitch = 0.3F;
  auto const signed_large = P::select(x < zero, zero - large, large);
  return P::select(a < P::splat(kSwitch), small, signed_large);
}

/// below    (1 + erf(x / sqrt 2)) / 2
/// density  its derivative
template <Pack P>
struct Normal {
  typename P::F below;
  typename P::F density;
};

/// The normal distribution at x, within 6 ulp, and its density, within 2 ulp.
///
/// Below -a, a >= 0, lies exp(-a^2 / 2) q(t), t = 1 / (1 + 0.335 a): q is the polynomial of least
/// relative error up to kFarthest, 2^-26.7. Source: the form, Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 26.2.17; the coefficients, Remez's algorithm.
template <Pack P>
FL_HD Normal<P> normal(typename P::F x) {
  constexpr float kFarthest = 15.0F;  // float32 has no number for what lies beyond
  constexpr float kDecay = 0.335F;
  constexpr float kOneOverRootTwoPi = 0.39894228F;
  auto const zero = P::splat(0.0F);
  auto const one = P::splat(1.0F);
  auto const size = P::abs(x);
  auto const a = P::select(size > P::splat(kFarthest), P::splat(kFarthest), size);
  auto const t = P::divide(one, P::fma(a, P::splat(kDecay), one));
  auto q = P::splat(-0.0276656989F);
  q = P::fma(q, t, P::splat(0.152395666F));
  q = P::fma(q, t, P::splat(-0.315250099F));
  q = P::fma(q, t, P::splat(0.266868025F));
  q = P::fma(q, t, P::splat(-0.089725323F));
  q = P::fma(q, t, P::splat(0.137007356F));
  q = P::fma(q, t, P::splat(0.107623413F));
  q = P::fma(q, t, P::splat(0.135225311F));
  q = P::fma(q, t, P::splat(0.133516803F));
  q = P::fma(q, t, P::splat(4.55266218e-06F));
  auto const square = a * a;
  auto const half = P::splat(-0.5F);
  auto const e = exp_twofold<P>(square * half, P::fma(a, a, zero - square) * half);
  auto const exp = e.high + e.low;
  auto const tail = exp * q;
  return {P::select(x < zero, tail, one - tail), exp * P::splat(kOneOverRootTwoPi)};
}

/// SiLU, also called swish: x sigmoid(x), within 3 ulp. NaN at minus infinity, as in the
/// frameworks; so are the next two.
template <Pack P>
FL_HD typename P::F silu(typename P::F x) {
  return x * sigmoid<P>(x);
}

/// Its derivative, within 2^-19 of the size of the largest; so are the next two.
template <Pack P>
FL_HD typename P::F silu_slope(typename P::F x) {
  auto const s = sigmoid<P>(x);
  return s * P::fma(x, P::splat(1.0F) - s, P::splat(1.0F));
}

/// GELU, x times the normal distribution at x, within 6 ulp.
template <Pack P>
FL_HD typename P::F gelu(typename P::F x) {
  return x * normal<P>(x).below;
}

/// Its derivative.
template <Pack P>
FL_HD typename P::F gelu_slope(typename P::F x) {
  auto const n = normal<P>(x);
  return P::fma(x, n.density, n.below);
}

namespace detail {

// (1 + tanh u) / 2 = sigmoid(2 u), here of u = sqrt(2 / pi) (x + 0.044715 x^3).
inline constexpr float kGeluLinear = 1.59576912F;   // 2 sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.0713548163F;  // times 0.044715

}  // namespace detail

/// GELU's approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 2^-22, or 3 ulp
/// where x is positive.
template <Pack P>
FL_HD typename P::F gelu_tanh(typename P::F x) {
  auto const inner = P::fma(x * x, P::splat(detail::kGeluCubic), P::splat(detail::kGeluLinear));
  return x * sigmoid<P>(x * inner);
}

/// Its derivative.
template <Pack P>
FL_HD typename P::F gelu_tanh_slope(typename P::F x) {
  constexpr float kFlat = 16.0F;  // the sigmoid is 0 or 1 from there on
  auto const one = P::splat(1.0F);
  auto const low = P::splat(-kFlat);
  auto const high = P::splat(kFlat);
  auto const y = P::select(x > high, high, P::select(x < low, low, x));
  auto const square = y * y;
  auto const linear = P::splat(detail::kGeluLinear);
  auto const s = sigmoid<P>(y * P::fma(square, P::splat(detail::kGeluCubic), linear));
  auto const slope = P::fma(square, P::splat(3.0F * detail::kGeluCubic), linear);
  return s * P::fma(y * (one - s), slope, one);
}

/// Softmax over `count` logits of one pack of lanes, each within 1 ulp.
/// logits, out  [count] packs, `stride` floats apart; out may be logits
/// terms        [2 * count] packs of scratch, `stride` floats apart
template <Pack P>
FL_HD void softmax(float const* logits, int count, int stride, float* out, float* terms) {
  auto top = P::load(logits);
  for (int c = 1; c < count; ++c) {
    auto const value = P::load(logits + c * stride);
    top = P::select(value > top, value, top);
  }
  auto sum = P::splat(0.0F);
  auto sum_low = P::splat(0.0F);
  for (int c = 0; c < count; ++c) {
    auto const value = P::load(logits + c * stride);
    auto const d =
        value - top;  // exact remainder below: |value - top| rounded, error by Knuth's two-sum
    auto const back = d + top;
    auto const exact = (value - back) - (top - (back - d));
    auto const d_low = P::select(d < P::splat(kExpLowest), P::splat(0.0F), exact);  // e is 0 there
    auto const e = exp_twofold<P>(d, d_low);
    P::store(e.high, terms + 2 * c * stride);
    P::store(e.low, terms + (2 * c + 1) * stride);
    auto const next = sum + e.high;
    auto const part = next - sum;
    sum_low = sum_low + (((sum - (next - part)) + (e.high - part)) + e.low);
    sum = next;
  }
  auto const inverse = P::divide(P::splat(1.0F), sum);
  for (int c = 0; c < count; ++c) {
    auto const high = P::load(terms + 2 * c * stride);
    auto const low = P::load(terms + (2 * c + 1) * stride);
    auto const p = high * inverse;
    auto const residual = (P::fma(P::splat(0.0F) - p, sum, high) + low) - p * sum_low;
    P::store(P::fma(residual, inverse, p), out + c * stride);
  }
}

/// True where x is neither infinite nor NaN.
template <Pack P>
FL_HD typename P::M is_finite(typename P::F x) {
  return (x - x) == P::splat(0.0F);
}

}  // namespace fairlane
