// Whether inputs may exist: the constraints of a subject over a pack, and what becomes of logits of
// those that may not.
//
// An input that violates a constraint has no defined output: its logits are dropped where they are
// made, so that no search, walk or sample needs to know why. What a finding alone must satisfy
// drops no logits, so that such an input may still be a partner: it takes an input's own label away
// where a test has evaluated it, so that it is no IDI.
#pragma once

#include "kernels/core/constraints.h"
#include "kernels/core/labels.h"

namespace fairlane {

/// Asks the constraints about one pack. P: the pack
template <Pack P>
struct Feasible {
  using F = typename P::F;
  using I = typename P::I;
  using M = typename P::M;
  static constexpr int kN = P::kLanes;

  /// Where the constraints hold. code(term): codes of the pack in the term's column; lanes behind
  /// the last one may have any.
  template <class Code>
  static FL_HD M all(Feasibility const& f, Code const& code) {
    M holds = P::splat(0.0F) == P::splat(0.0F);
    for (int r = 0; r < f.rules; ++r) holds = P::land(holds, one(f, f.rule[r], code));
    return holds;
  }

  /// Of lanes as x [columns][stride] has them.
  static FL_HD M own(Subject const& s, std::int32_t const* x, long stride) {
    return all(s.feasible, own_codes(x, stride));
  }

  /// Of the same member of every lane's similar set.
  static FL_HD M variant(Subject const& s, std::int32_t const* x, long stride, int variant) {
    std::int32_t const* const codes = s.variant_code + static_cast<long>(variant) * s.selected;
    return all(s.feasible, [&](FeasibilityTerm const& t) {
      return t.selected < 0 ? P::load_i(x + t.column * stride) : P::splat_i(codes[t.selected]);
    });
  }

  /// Of a member of each lane's own. variant: one for each lane
  static FL_HD M candidate(Subject const& s, std::int32_t const* x, long stride, I variant) {
    return all(s.feasible, candidate_codes(s, x, stride, variant));
  }

  /// Where lanes may be findings, as far as the rule for these goes, which there is.
  static FL_HD M finding(Subject const& s, std::int32_t const* x, long stride) {
    return of_findings(s.feasible, own_codes(x, stride));
  }

  /// The sum of the rule for findings, of lanes as they are.
  static FL_HD I finding_sum(Subject const& s, std::int32_t const* x, long stride) {
    return finding_sum_of(s.feasible, own_codes(x, stride));
  }

  /// The same of a member of each lane's own, `by(c)` codes away in column c. variant: one for each
  /// lane
  template <class By>
  static FL_HD I finding_sum_near(Subject const& s, std::int32_t const* x, long stride, I variant,
                                  By const& by) {
    auto const codes = candidate_codes(s, x, stride, variant);
    return finding_sum_of(s.feasible,
                          [&](FeasibilityTerm const& t) { return codes(t) + by(t.column); });
  }

  /// What that sum may come to after a local step: its bound and, where there is slack, no more
  /// than is drawn above the sum before.
  /// before()  that sum
  /// draw()    words of random bits
  template <class Before, class Draw>
  static FL_HD I most_after_step(Feasibility const& f, Before const& before, Draw const& draw) {
    I const bound = P::splat_i(finding_bound(f));
    if (f.slack < 0) return bound;
    I const sum = before();
    constexpr int kUnused = 32 - kSlackBits;
    I const drawn = P::u_to_i(P::template shift_right_u<kUnused>(draw()));
    return sum + P::min_i(P::gather_i(f.table + f.slack, drawn), bound - sum);
  }

  /// After a full evaluation of a pack of lanes: takes the label and the pair of those away that
  /// may be no findings. pair: null where there is none
  static FL_HD void leave_out(Subject const& s, std::int32_t const* x, long stride,
                              std::int32_t* label, std::int32_t* pair) {
    if (s.feasible.finding_rules == 0) return;
    M const counts = finding(s, x, stride);
    keep_where(counts, label, kUndefinedLabel);
    if (pair != nullptr) keep_where(counts, pair, -1);
  }

  /// The same of a member of each lane's own, whose label alone there is. variant: [lanes]
  static FL_HD void leave_out_member(Subject const& s, std::int32_t const* x, long stride,
                                     std::int32_t const* variant, std::int32_t* label) {
    if (s.feasible.finding_rules == 0) return;
    auto const codes = candidate_codes(s, x, stride, P::load_i(variant));
    keep_where(of_findings(s.feasible, codes), label, kUndefinedLabel);
  }

  /// Drops the logits of lanes that may not exist. One output that is no number is enough: softmax
  /// spreads it.
  /// logits  a pack of the first output
  static FL_HD void drop(M feasible, float* logits) {
    constexpr std::int32_t kNanBits = 0x7FFFFFFF;  // as a GPU gives it
    P::store(P::select(feasible, P::load(logits), P::float_of(P::splat_i(kNanBits))), logits);
  }

  /// Drops scores of any kind: each may be a probability of its own.
  /// scores  packs of the outputs, `stride` floats apart
  static FL_HD void drop_all(M feasible, float* scores, int outputs, long stride) {
    for (int c = 0; c < outputs; ++c) drop(feasible, scores + c * stride);
  }

 private:
  static FL_HD auto own_codes(std::int32_t const* x, long stride) {
    return [=](FeasibilityTerm const& t) { return P::load_i(x + t.column * stride); };
  }

  static FL_HD auto candidate_codes(Subject const& s, std::int32_t const* x, long stride,
                                    I variant) {
    I const first = variant * P::splat_i(s.selected);
    std::int32_t const* const variants = s.variant_code;
    return [=](FeasibilityTerm const& t) {
      return t.selected < 0 ? P::load_i(x + t.column * stride)
                            : P::gather_i(variants + t.selected, first);
    };
  }

  static FL_HD std::int32_t finding_bound(Feasibility const& f) { return f.rule[f.rules].bound; }

  template <class Code>
  static FL_HD I finding_sum_of(Feasibility const& f, Code const& code) {
    return sum_of<true>(f, f.rule[f.rules], code);
  }

  template <class Code>
  static FL_HD M of_findings(Feasibility const& f, Code const& code) {
    return P::lnot(P::less_i(P::splat_i(finding_bound(f)), finding_sum_of(f, code)));
  }

  static FL_HD void keep_where(M kept, std::int32_t* values, std::int32_t otherwise) {
    P::store_i(P::select_i(kept, P::load_i(values), P::splat_i(otherwise)), values);
  }

  template <class Code>
  static FL_HD M one(Feasibility const& f, FeasibilityRule const& rule, Code const& code) {
    I const sum = sum_of<false>(f, rule, code);
    M const small = P::lnot(P::less_i(P::splat_i(rule.bound), sum));
    return rule.set < 0 ? small : P::land(small, among(f, rule, sum));
  }

  /// kLooksUp: whether there may be look-ups, which take registers where there are none, too
  template <bool kLooksUp, class Code>
  static FL_HD I sum_of(Feasibility const& f, FeasibilityRule const& rule, Code const& code) {
    I sum = P::splat_i(0);
    I index = P::splat_i(0);
    for (int i = 0; i < rule.terms; ++i) {
      FeasibilityTerm const& t = f.term[rule.first + i];
      if (kLooksUp && t.kind == TermKind::kLookUp) {
        sum = sum + P::gather_i(f.table + t.table, index);
        index = P::splat_i(0);
        continue;
      }
      I const raw = code(t);
      if (t.kind == TermKind::kWithin) {
        auto const outside =
            P::lor(P::less_i(raw, P::splat_i(t.from)), P::less_i(P::splat_i(t.to), raw));
        sum = sum + P::select_i(outside, P::splat_i(0), P::splat_i(t.factor));
        continue;
      }
      I const inside = P::min_i(P::max_i(raw, P::splat_i(t.from)), P::splat_i(t.to));
      if (kLooksUp && t.kind == TermKind::kIndex) {
        index = index + P::gather_i(f.table + t.table, inside - P::splat_i(t.from));
        continue;
      }
      sum = sum + (t.kind == TermKind::kCode
                       ? inside * P::splat_i(t.factor)
                       : P::gather_i(f.table + t.table, inside - P::splat_i(t.from)));
    }
    return sum;
  }

  /// Whether a sum of at most the bound is 0 or more, and its bit set.
  static FL_HD M among(Feasibility const& f, FeasibilityRule const& rule, I sum) {
    I const none = P::splat_i(0);
    I const inside = P::min_i(P::max_i(sum, none), P::splat_i(rule.bound));
    constexpr int kWordShift = 5;
    I const word = P::gather_i(f.table + rule.set,
                               P::u_to_i(P::template shift_right_u<kWordShift>(P::i_to_u(inside))));
    I const bit = P::gather_i(f.table, P::and_i(inside, P::splat_i(kSetWordBits - 1)));
    M const is_set = P::lnot(P::to_float(P::and_i(word, bit)) == P::splat(0.0F));
    return P::land(is_set, P::lnot(P::less_i(sum, none)));
  }
};

}  // namespace fairlane
