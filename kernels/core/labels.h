// From logits to labels, and what the labels of a group tell: whether it is discriminatory, which
// member is an input's partner, and how far a class lies from the decision boundary.
#pragma once

#include "kernels/core/subject.h"

namespace fairlane {

inline constexpr int kPackedLabelBits = 32;
inline constexpr int kMaxOutputs = 254;      // labels travel as bytes
inline constexpr int kUndefinedLabel = 255;  // label of an input whose output is not finite

/// From so many variants on, and where labels are not packed, stopping at a second label beats a
/// plain pass.
inline constexpr int kStagedVariants = 12;

/// Whether groups are classified a few variants at a time. Not where labels may be undefined: a
/// lane that stops early would not meet its undefined members.
FL_HD bool stages_classification(Subject const& s) {
  return s.finite && s.label_bits == 0 && s.variants >= kStagedVariants;
}

/// End of the stage of classification that begins at variant `first` of the order: 2, 4, 8, ...,
/// all.
FL_HD int next_stage(Subject const& s, int first) {
  int const last = first == 0 ? 2 : 2 * first;
  return last < s.variants ? last : s.variants;
}

/// What classify() says about a group.
inline constexpr std::int32_t kGroupMixed = 1;      // two members with different defined labels
inline constexpr std::int32_t kGroupUndefined = 2;  // a member without a defined label

/// Label of one pack of logits, kUndefinedLabel where an output is not finite.
/// logits  [outputs] packs, `stride` floats apart
template <Pack P>
FL_HD typename P::I label_of(float const* logits, int outputs, int stride, float threshold) {
  auto top = P::load(logits);
  auto finite = is_finite<P>(top);
  if (outputs == 1) {
    auto const label = P::select_i(top > P::splat(threshold), P::splat_i(1), P::splat_i(0));
    return P::select_i(finite, label, P::splat_i(kUndefinedLabel));
  }
  auto label = P::splat_i(0);
  for (int c = 1; c < outputs; ++c) {
    auto const value = P::load(logits + c * stride);
    auto const better = value > top;
    label = P::select_i(better, P::splat_i(c), label);
    top = P::select(better, value, top);
    finite = P::land(finite, is_finite<P>(value));
  }
  return P::select_i(finite, label, P::splat_i(kUndefinedLabel));
}

/// Probabilities of one pack, in place: scores that are no logits are probabilities themselves
/// (labels: one-hot vectors); of logits one output gives p(1), several softmax.
/// terms  [2 * outputs] packs of scratch, `stride` floats apart (unused with one output)
template <Pack P>
FL_HD void probabilities(ScoreKind scores, float* logits, int outputs, int stride, float* terms) {
  if (scores != ScoreKind::kLogits) return;
  if (outputs == 1) {
    P::store(sigmoid<P>(P::load(logits)), logits);
  } else {
    softmax<P>(logits, outputs, stride, logits, terms);
  }
}

/// Which labels occur in a group, fed one variant at a time.
template <Pack P>
struct LabelSet {
  typename P::I first;  // first defined label, kUndefinedLabel before one is met
  typename P::M mixed;  // two different defined labels
  typename P::M undefined;

  FL_HD void clear() {
    first = P::splat_i(kUndefinedLabel);
    mixed = P::splat(0.0F) > P::splat(0.0F);
    undefined = mixed;
  }

  FL_HD void add(typename P::I label) {
    auto const bad = equal(label, P::splat_i(kUndefinedLabel));
    auto const unset = equal(first, P::splat_i(kUndefinedLabel));
    undefined = P::lor(undefined, bad);
    mixed = P::lor(mixed, P::lnot(P::lor(P::lor(unset, bad), equal(label, first))));
    first = P::select_i(unset, label, first);
  }

  /// kGroupMixed and kGroupUndefined bits.
  FL_HD typename P::I flags() const {
    auto const none = P::splat_i(0);
    return P::select_i(mixed, P::splat_i(kGroupMixed), none) +
           P::select_i(undefined, P::splat_i(kGroupUndefined), none);
  }

  static FL_HD typename P::M equal(typename P::I a, typename P::I b) {
    return P::to_float(a) == P::to_float(b);
  }
};

/// Partner of an input: the similar input with the largest squared output difference, the first of
/// equals; and the severity, the largest output difference within the similar set.
/// Source: max_diff of EIDIG (Zhang, Zhang and Zhang, ISSTA 2021); ADF's re-implementation shares
/// it.
template <Pack P>
struct PartnerChoice {
  typename P::F best;     // largest squared difference so far
  typename P::I variant;  // its variant, or -1 when all outputs are equal

  FL_HD void clear() {
    best = P::splat(0.0F);
    variant = P::splat_i(-1);
  }
  FL_HD void add(int v, typename P::F squared_difference) {
    auto const better = squared_difference > best;
    best = P::select(better, squared_difference, best);
    variant = P::select_i(better, P::splat_i(v), variant);
  }
};

/// Margin of a class: how far its score lies above the threshold (one output: class 0 below it), or
/// above the best other.
template <Pack P>
FL_HD typename P::F class_margin(typename P::I label, float const* logits, int outputs, int stride,
                                 float threshold) {
  using F = typename P::F;
  F const zero = P::splat(0.0F);
  if (outputs == 1) {
    F const above = P::load(logits) - P::splat(threshold);
    return P::select(LabelSet<P>::equal(label, P::splat_i(1)), above, zero - above);
  }
  F own = zero;
  F other = zero;
  auto seen = zero > zero;
  for (int c = 0; c < outputs; ++c) {
    F const value = P::load(logits + c * stride);
    auto const mine = LabelSet<P>::equal(label, P::splat_i(c));
    own = P::select(mine, value, own);
    auto const better = P::land(P::lnot(mine), P::lor(P::lnot(seen), value > other));
    other = P::select(better, value, other);
    seen = P::lor(seen, P::lnot(mine));
  }
  return own - other;
}

}  // namespace fairlane
