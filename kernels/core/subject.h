// The subject of a run as a kernel sees it: packed network, permuted columns, protected combinations.
//
// Columns are in kernel order: unflagged attributes first, flagged or selected ones last, each part in dataset order
// (numerical contract, rule 3). Variant v of an input has the v-th combination of the selected attributes' values in
// product order, the last attribute fastest.
#pragma once

#include "kernels/core/encoding.h"
#include "kernels/core/mlp.h"

namespace fairlane {

/// The first layer's weights, an input's side by side, where columns may enter it by rows (kernels/core/first_layer.h).
/// weights  [inputs + 2][stride] of every input, then zeros, then the biases; behind the units zeros; null: none do
/// terms    what an input of all columns adds up so: one for each one-hot column, and the other columns' inputs
struct RowWeights {
  float const* weights = nullptr;
  long stride = 0;
  int terms = 0;
};
inline constexpr int kRowFloats = 16;  // of which rows hold a multiple: the widest pack

/// columns         number of attributes
/// prefix          columns before the first selected one; their part of the first layer is shared by all variants
/// inputs          the network's inputs, those of every column side by side: one each where `encoding` is null
/// input_prefix    inputs of the columns before the first selected one
/// encoding        [columns]; null: every column is an input as it is
/// rows            what the first layer's sums take from one-hot columns
/// variants        number of protected combinations
/// selected        number of selected attributes
/// selected_column [selected] their columns
/// selected_inputs inputs of the selected columns
/// selected_input  [selected_inputs] which ones
/// variant_value   [variants][selected_inputs] their values
/// variant_code    [variants][selected] codes
/// low, high       [columns] bounds; of the places in its list where a column has a list of codes
/// movable         [movable_count] columns a search may change, ascending
/// cut             one output: label 1 when score > cut
/// scores          what the model gives: logits, as networks do, and all that is said of logits below holds for them
/// tries_partners  partners are drawn by trial, since the labels of a group would not be kept anyway
/// finite          no output of any input of the domain can overflow: no label is undefined
/// label_bits      bits per label in packed labels; 0 when variants * bits exceed kPackedLabelBits or
///                 labels may be undefined
/// variant_order   [variants] the order in which classify_some() tries variants, most separating first
struct Subject {
  PackedNetwork network;
  int columns = 0;
  int prefix = 0;
  int inputs = 0;
  int input_prefix = 0;
  ColumnEncoding const* encoding = nullptr;
  RowWeights rows;
  int variants = 0;
  int selected = 0;
  int const* selected_column = nullptr;
  int selected_inputs = 0;
  int const* selected_input = nullptr;
  float const* variant_value = nullptr;
  std::int32_t const* variant_code = nullptr;
  std::int32_t const* low = nullptr;
  std::int32_t const* high = nullptr;
  int movable_count = 0;
  int const* movable = nullptr;
  float cut = 0.0F;
  ScoreKind scores = ScoreKind::kLogits;
  bool tries_partners = false;
  bool finite = false;
  int label_bits = 0;
  int const* variant_order = nullptr;

  /// First input of a column; of `columns`, the number of inputs.
  FL_HD int input_of(int column) const {
    if (encoding == nullptr) return column;
    return column < columns ? encoding[column].first : inputs;
  }
};

/// How far a difference moves a column: h, or where it goes to a neighbouring code, which may be the one before, that step.
template <class P>
FL_HD typename P::F difference_step(Subject const& s, int column, typename P::I code, float h) {
  if (s.encoding == nullptr || !s.encoding[column].steps()) return P::splat(h);
  auto const inside = P::less_i(code, P::splat_i(s.high[column]));
  return P::select(inside, P::splat(1.0F), P::splat(-1.0F));
}

/// The inputs of a column moved so. in  its inputs as they are, `apart` floats from one to the next; changed
template <class P>
FL_HD void move_column(Subject const& s, int column, typename P::I code, float h, float* in,
                       long apart) {
  if (s.encoding == nullptr) {
    P::store(P::load(in) + P::splat(h), in);
    return;
  }
  auto const& e = s.encoding[column];
  if (e.steps()) {
    encode_column<P>(e, e.neighbour<P>(code), in, apart);
  } else {
    P::store(P::load(in) + P::splat(h * e.slope), in);
  }
}

/// Gradient by the code of a column that has steps: what the sums gain in a step, times the gradient at the sums.
/// sums  [outputs] packs, `apart` floats from one to the next
template <class P>
FL_HD typename P::F step_gradient(ColumnEncoding const& e, typename P::I code, float const* sums,
                                  int outputs, long apart) {
  auto const row = e.row<P>(code);
  auto gain = P::splat(0.0F);
  for (int o = 0; o < outputs; ++o)
    gain = P::fma(P::load(sums + o * apart), P::gather(e.rise + o, row, outputs), gain);
  return gain;
}

inline constexpr int kPackedLabelBits = 32;
inline constexpr int kMaxOutputs = 254;      // labels travel as bytes
inline constexpr int kUndefinedLabel = 255;  // label of an input whose output is not finite

/// From so many variants on, and where labels are not packed, stopping at a second label beats a plain pass.
inline constexpr int kStagedVariants = 12;

/// Whether groups are classified a few variants at a time. Not where labels may be undefined: a lane that
/// stops early would not meet its undefined members.
FL_HD bool stages_classification(Subject const& s) {
  return s.finite && s.label_bits == 0 && s.variants >= kStagedVariants;
}

/// End of the stage of classification that begins at variant `first` of the order: 2, 4, 8, ..., all.
FL_HD int next_stage(Subject const& s, int first) {
  int const last = first == 0 ? 2 : 2 * first;
  return last < s.variants ? last : s.variants;
}

/// What classify() says about a group.
inline constexpr std::int32_t kGroupMixed = 1;      // two members with different defined labels
inline constexpr std::int32_t kGroupUndefined = 2;  // a member without a defined label

/// Gradient of which quantity. All but kLoss grow towards the input's own label.
enum class GradientKind : std::uint8_t {
  kNone,
  kProbability,  // EIDIG: d p(label) / dx by backpropagation
  kLoss,         // ADF: d cross-entropy / dx against the own label, from the logits
  kMargin,  // d margin / dx, margin = signed logit (one output) or label's logit minus the best other
  kProbabilityDifference,  // MAFT: (p(x + h e_i) - p(x)) / h, unclipped
};

/// kind  which gradient
/// step  h of the differences
struct GradientSpec {
  GradientKind kind = GradientKind::kNone;
  float step = 1.0F;
};

/// Label of one pack of logits, kUndefinedLabel where an output is not finite.
/// logits  [outputs] packs, `stride` floats apart
template <class P>
FL_HD typename P::I label_of(float const* logits, int outputs, int stride, float cut) {
  auto top = P::load(logits);
  auto finite = is_finite<P>(top);
  if (outputs == 1) {
    auto const label = P::select_i(top > P::splat(cut), P::splat_i(1), P::splat_i(0));
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

/// Probabilities of one pack, in place: scores that are no logits are probabilities themselves (labels: one-hot vectors);
/// of logits one output gives p(1), several softmax.
/// terms  [2 * outputs] packs of scratch, `stride` floats apart (unused with one output)
template <class P>
FL_HD void probabilities(ScoreKind scores, float* logits, int outputs, int stride, float* terms) {
  if (scores != ScoreKind::kLogits) return;
  if (outputs == 1) {
    P::store(sigmoid<P>(P::load(logits)), logits);
  } else {
    softmax<P>(logits, outputs, stride, logits, terms);
  }
}

/// Which labels occur in a group, fed one variant at a time.
template <class P>
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

/// Partner of an input: the similar input with the largest squared output difference, the first of equals; and the
/// severity, the largest output difference within the similar set.
/// Source: max_diff of EIDIG (Zhang, Zhang and Zhang, ISSTA 2021); ADF's re-implementation shares it.
template <class P>
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

/// Gradient at the logits that input_gradient starts from.
/// logits  [outputs] packs, `stride` floats apart; unchanged
/// delta   [outputs] packs out
/// terms   [3 * outputs] packs of scratch
template <class P>
FL_HD void logit_gradient(GradientKind kind, float cut, float const* logits, int outputs,
                          int stride, float* delta, float* terms) {
  using F = typename P::F;
  F const zero = P::splat(0.0F);
  F const one = P::splat(1.0F);
  if (outputs == 1) {
    F const z = P::load(logits);
    auto const positive = z > P::splat(cut);
    F const p = sigmoid<P>(z);
    F d = one;
    if (kind == GradientKind::kProbability) d = p * (one - p);
    if (kind == GradientKind::kLoss) {
      d = p - P::select(positive, one, zero);
    } else {
      d = P::select(positive, d, zero - d);
    }
    P::store(d, delta);
    return;
  }
  auto const label = label_of<P>(logits, outputs, stride, cut);
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
      P::store(d, delta + c * stride);
    }
    return;
  }
  softmax<P>(logits, outputs, stride, delta, terms);
  F own = zero;
  for (int c = 0; c < outputs; ++c) {
    own = P::select(LabelSet<P>::equal(label, P::splat_i(c)), P::load(delta + c * stride), own);
  }
  for (int c = 0; c < outputs; ++c) {
    F const p = P::load(delta + c * stride);
    F const target = P::select(LabelSet<P>::equal(label, P::splat_i(c)), one, zero);
    P::store(kind == GradientKind::kLoss ? p - target : own * (target - p), delta + c * stride);
  }
}

/// Probability of a given label, whose differences MAFT takes; with one output up to a constant. Overwrites logits.
template <class P>
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

/// Margin of a class: how far its score lies above the cut (one output: class 0 below it), or above the best other.
template <class P>
FL_HD typename P::F class_margin(typename P::I label, float const* logits, int outputs, int stride,
                                 float cut) {
  using F = typename P::F;
  F const zero = P::splat(0.0F);
  if (outputs == 1) {
    F const above = P::load(logits) - P::splat(cut);
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
