// What a line over a box is never above for all but a share of the box's groups, and at the level
// that is looked for.
//
// Every entry of an axis is taken by as many groups, whatever their other entries are: a group that
// is drawn uniformly has independent inputs x_k. For every rate r > 0
//     P(sum w_k x_k > z) <= exp(-r (z - m) + sum ln E exp(r (w_k x_k - m_k)))     (Chernoff),
// where m_k is the mean of w_k x_k, and m the sum. An input with a variance that takes n values, a
// step s apart, has, with y = r |w_k| s / 2,
//     ln E exp(r (w_k x_k - m_k)) = ln(sinh(n y) / (n sinh y))
//                                 <= min((n^2 - 1) y^2 / 6, ln(sinh(n y) / (n y))).
// The first since sinh x = x prod (1 + x^2 / (i pi)^2), of which each factor's logarithm rises by
// at most (n^2 - 1) y^2 / (i pi)^2 from y to n y; the second is concave in (n y)^2 and so below its
// tangents. Of any other values, (r w_k)^2 / 2 times a quarter of their reach squared is a bound
// (Hoeffding). z is chosen so that the right side is the share; any r will do. Since every x is at
// most exp(r x) / (e r), the mean of what the sum lies beyond z is at most that share over e r.
//
// Where the variants of a group have different labels, the output takes the threshold's value
// somewhere on the way from one variant to the other, as the float32 sums of both are joined by
// sums with an error between theirs, to which all bounds apply as well. There the line below the
// output is not above the threshold, and the line above it is not below, so that either may be
// added to a form, with a factor that makes what it is added to vary less.
// Source: Chernoff, Annals of Mathematical Statistics 23 (1952); Hoeffding, JASA 58 (1963); Zhou
// et al., Clip-and-Verify, NeurIPS 2025 (bounds of units from the output's).
#pragma once

#include "kernels/boxes/box_rows.h"

namespace fairlane {

/// Over a pack.
template <class P>
struct BoxTails {
  using F = typename P::F;
  using M = typename P::M;
  using Rows = BoxRows<P>;

  /// What a form is never above: for all inputs, and for all but the share of groups; and the mean
  /// of what it lies beyond the latter.
  struct Limits {
    F all;
    F most;
    F excess;
  };

  /// A line of the output that is added: its rows and constant, and the factor, 0 for none.
  struct Addition {
    F factor;
    M below;  // of the line below the output, turned round; otherwise the one above

    FL_HD F line(BoxLanes const& b, int k) const {
      return P::select(below, Rows::negative(Rows::get(b.below, k)), Rows::get(b.above, k));
    }
  };

  /// Limits of sign * (coefficients x + constant), wherever the output is.
  static FL_HOST_DEVICE Limits limits_anywhere(BoxNetwork const& n, BoxLanes const& b,
                                               double const* coefficients, double sign, F constant,
                                               F rarity) {
    F const zero = P::splat(0.0);
    F const by = P::splat(sign);
    return limits_with(n, b, coefficients, by, by * constant, rarity, {zero, zero > zero});
  }

  /// The same where the output is at the level. Smooth activations are left out.
  static FL_HOST_DEVICE Limits limits(BoxNetwork const& n, BoxLanes const& b,
                                      double const* coefficients, double sign, F constant,
                                      F rarity) {
    Limits const alone = limits_anywhere(n, b, coefficients, sign, constant, rarity);
    if (!n.straight) return alone;
    F const by = P::splat(sign);
    Addition const added = addition(n, b, coefficients, by);
    if (!P::any(added.factor > P::splat(0.0))) return alone;
    F const level = Rows::get(b.level, 0);
    F const rest = P::select(added.below, level - Rows::get(b.below_constant, 0),
                             Rows::get(b.above_constant, 0) - level);
    Limits const beside = limits_with(n, b, coefficients, by,
                                      P::fma(added.factor, rest, by * constant), rarity, added);
    M const closer = beside.most < alone.most;
    return {P::min(alone.all, beside.all), P::select(closer, beside.most, alone.most),
            P::select(closer, beside.excess, alone.excess)};
  }

  /// At least ln E exp(r (w x - m)), from r^2 w^2 variance and (n y)^2.
  static FL_HD F log_mean(F variance, F square) {
    F least = variance * P::splat(0.5);
    // Tangents of ln(sinh(sqrt x) / sqrt x) at 5, 14, 32 and 65, rounded up.
    least = P::min(least, P::fma(P::splat(0.1287742977), square, P::splat(0.0828417190)));
    least = P::min(least, P::fma(P::splat(0.0980667250), square, P::splat(0.3554848445)));
    least = P::min(least, P::fma(P::splat(0.0727655052), square, P::splat(0.9023307486)));
    return P::min(least, P::fma(P::splat(0.0543250720), square, P::splat(1.7507871583)));
  }

 private:
  static constexpr double kRate = 5.0;  // times the deviation
  static constexpr double kSmall = 1.0e-200;
  static constexpr double kE = 2.718281828459045;

  /// The factor with which a form varies least, where one of the lines lets it vary less.
  static FL_HOST_DEVICE Addition addition(BoxNetwork const& n, BoxLanes const& b,
                                          double const* coefficients, F by) {
    F const zero = P::splat(0.0);
    F with_below = zero;
    F with_above = zero;
    F of_below = P::splat(kSmall);
    F of_above = P::splat(kSmall);
    for (int k = 0; k < n.inputs; ++k) {
      F const variance = Rows::get(b.variance, k);
      F const below = Rows::get(b.below, k);
      F const above = Rows::get(b.above, k);
      F const w = by * Rows::get(coefficients, k) * variance;
      with_below = P::fma(w, below, with_below);
      with_above = P::fma(w, above, with_above);
      of_below = P::fma(below * variance, below, of_below);
      of_above = P::fma(above * variance, above, of_above);
    }
    M const takes_below = with_below > zero;
    F const factor = P::select(takes_below, with_below / of_below,
                               P::max(Rows::negative(with_above / of_above), zero));
    return {factor, takes_below};
  }

  static FL_HOST_DEVICE Limits limits_with(BoxNetwork const& n, BoxLanes const& b,
                                           double const* coefficients, F by, F constant, F rarity,
                                           Addition const& added) {
    F const zero = P::splat(0.0);
    F all = constant;
    F mean = constant;
    F variance = P::splat(kSmall);
    F size = P::abs(constant);
    for (int k = 0; k < n.inputs; ++k) {
      F const line = added.line(b, k);
      F const own = by * Rows::get(coefficients, k);
      F const w = P::fma(added.factor, line, own);
      F const low = Rows::get(b.low, k);
      F const high = Rows::get(b.high, k);
      M const falls = w < zero;
      all = P::fma(w, P::select(falls, low, high), all);
      mean = P::fma(w, P::select(falls, Rows::get(b.mean_low, k), Rows::get(b.mean_high, k)), mean);
      variance = P::fma(w * w, Rows::get(b.variance, k), variance);
      size = P::fma(P::abs(own) + added.factor * P::abs(line), P::max(P::abs(low), P::abs(high)),
                    size);
    }
    F const deviation = P::sqrt(variance);
    F const square = P::splat(kRate * kRate) / variance;
    F exponent = zero;
    for (int k = 0; k < n.inputs; ++k) {
      F const w = P::fma(added.factor, added.line(b, k), by * Rows::get(coefficients, k));
      F const rate = square * w * w;
      exponent =
          exponent + log_mean(rate * Rows::get(b.variance, k), rate * Rows::get(b.breadth, k));
    }
    F const beyond = (exponent + rarity) * deviation * P::splat((1.0 + BoxError::kSlack) / kRate);
    F const pad = P::splat(BoxError::kSlack) * (size + beyond);
    F const excess = deviation * P::splat((1.0 + BoxError::kSlack) / (kE * kRate));
    return {all + pad, mean + beyond + pad, excess};
  }
};

}  // namespace fairlane
