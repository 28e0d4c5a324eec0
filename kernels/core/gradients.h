// Gradients by the columns' codes: of which quantity, where backpropagation begins and what an
// encoded column makes of it, and differences.
#pragma once

#include "kernels/core/labels.h"

namespace fairlane {

/// Gradient of which quantity. All but kLoss grow towards the input's own label.
enum class GradientKind : std::uint8_t {
  kNone,
  kProbability,  // EIDIG: d p(label) / dx by backpropagation
  kLoss,         // ADF: d cross-entropy / dx against the own label, from the logits
  kMargin,  // d margin / dx, margin = signed logit (one output) or label's minus the best other
  kProbabilityDifference,  // MAFT: (p(x + h e_i) - p(x)) / h, unclipped
};

/// kind  which gradient
/// step  h of the differences
struct GradientSpec {
  GradientKind kind = GradientKind::kNone;
  float step = 1.0F;
};

/// Gradient at the logits that input_gradient starts from.
/// logits  [outputs] packs, `stride` floats apart; in: logits, out: the gradient at them
/// terms   [3 * outputs] packs of scratch
template <Pack P>
FL_HD void logit_gradient(GradientKind kind, float threshold, float* logits, int outputs,
                          int stride, float* terms) {
  using F = typename P::F;
  F const zero = P::splat(0.0F);
  F const one = P::splat(1.0F);
  if (outputs == 1) {
    F const z = P::load(logits);
    auto const positive = z > P::splat(threshold);
    F const p = sigmoid<P>(z);
    F d = one;
    if (kind == GradientKind::kProbability) d = p * (one - p);
    if (kind == GradientKind::kLoss) {
      d = p - P::select(positive, one, zero);
    } else {
      d = P::select(positive, d, zero - d);
    }
    P::store(d, logits);
    return;
  }
  auto const label = label_of<P>(logits, outputs, stride, threshold);
  if (kind == GradientKind::kMargin) {
    // runner-up: the best class other than the label, lowest index first
    auto runner = P::splat_i(-1);
    F best = zero;
    for (int c = 0; c < outputs; ++c) {
      F const value = P::load(logits + c * stride);
      auto const own = LabelSet<P>::equal(label, P::splat_i(c));
      auto const none = LabelSet<P>::equal(runner, P::splat_i(-1));
      auto const better = P::land(P::lnot(own), P::lor(none, value > best));
      best = P::select(better, value, best);
      runner = P::select_i(better, P::splat_i(c), runner);
    }
    for (int c = 0; c < outputs; ++c) {
      F d = P::select(LabelSet<P>::equal(label, P::splat_i(c)), one, zero);
      d = d - P::select(LabelSet<P>::equal(runner, P::splat_i(c)), one, zero);
      P::store(d, logits + c * stride);
    }
    return;
  }
  softmax<P>(logits, outputs, stride, logits, terms);
  F own = zero;
  for (int c = 0; c < outputs; ++c) {
    own = P::select(LabelSet<P>::equal(label, P::splat_i(c)), P::load(logits + c * stride), own);
  }
  for (int c = 0; c < outputs; ++c) {
    F const p = P::load(logits + c * stride);
    F const target = P::select(LabelSet<P>::equal(label, P::splat_i(c)), one, zero);
    P::store(kind == GradientKind::kLoss ? p - target : own * (target - p), logits + c * stride);
  }
}

/// Probability of a given label, whose differences MAFT takes; with one output up to a constant.
/// Overwrites logits.
template <Pack P>
FL_HD typename P::F label_probability(ScoreKind scores, typename P::I label, float* logits,
                                      int outputs, int stride, float* terms) {
  using F = typename P::F;
  probabilities<P>(scores, logits, outputs, stride, terms);
  if (outputs == 1) {
    F const p = P::load(logits);
    return P::select(LabelSet<P>::equal(label, P::splat_i(1)), p,
                     P::splat(0.0F) - p);  // p(0) = 1 - p(1)
  }
  F own = P::splat(0.0F);
  for (int c = 0; c < outputs; ++c) {
    own = P::select(LabelSet<P>::equal(label, P::splat_i(c)), P::load(logits + c * stride), own);
  }
  return own;
}

/// How far a difference moves a column: h, or where it goes to a neighbouring code, which may be
/// the one before, that step.
template <Pack P>
FL_HD typename P::F difference_step(Subject const& s, int column, typename P::I code, float h) {
  if (s.encoding == nullptr || !s.encoding[column].steps()) return P::splat(h);
  auto const inside = P::less_i(code, P::splat_i(s.high[column]));
  return P::select(inside, P::splat(1.0F), P::splat(-1.0F));
}

/// The inputs of a column moved so. in  its inputs as they are, `stride` floats from one to the
/// next; changed
template <Pack P>
FL_HD void move_column(Subject const& s, int column, typename P::I code, float h, float* in,
                       long stride) {
  if (s.encoding == nullptr) {
    P::store(P::load(in) + P::splat(h), in);
    return;
  }
  auto const& e = s.encoding[column];
  if (e.steps()) {
    encode_column<P>(e, e.neighbour<P>(code), in, stride);
  } else {
    P::store(P::load(in) + P::splat(h * e.slope), in);
  }
}

/// Gradient by the code of a column that has steps: what the sums gain in a step, times the
/// gradient at the sums.
/// sums  [outputs] packs, `stride` floats from one to the next
template <Pack P>
FL_HD typename P::F step_gradient(ColumnEncoding const& e, typename P::I code, float const* sums,
                                  int outputs, long stride) {
  auto const row = e.row<P>(code);
  auto gain = P::splat(0.0F);
  for (int o = 0; o < outputs; ++o)
    gain = P::fma(P::load(sums + o * stride), P::gather(e.rise + o, row, outputs), gain);
  return gain;
}

}  // namespace fairlane
