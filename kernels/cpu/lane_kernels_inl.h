// Implementation of LaneKernels for one pack type. Included by kernels/cpu/isa_*.cpp only, after FL_ISA is defined.
#pragma once

#include "kernels/core/margin.h"
#include "kernels/core/steps.h"
#include "kernels/cpu/lane_kernels.h"

// Defined before by the file that includes this one: match_visits and list_visits of the instruction set.

namespace fairlane::FL_ISA {

/// P: the pack; kV: packs per tile; kT: outputs per register tile.
template <class P, int kV, int kT>
struct Kernels {
  using F = typename P::F;
  using I = typename P::I;
  using U = typename P::U;
  static constexpr int kN = P::kLanes;
  static constexpr int kTile = kV * kN;

  /// Codes of lanes [at, at + kTile) as floats: in [columns][kTile].
  static void load_tile(Subject const& s, std::int32_t const* x, long stride, int at, float* in) {
    for (int c = 0; c < s.columns; ++c) {
      for (int v = 0; v < kV; ++v) {
        P::store(P::to_float(P::load_i(x + c * stride + at + v * kN)), in + c * kTile + v * kN);
      }
    }
  }

  /// First layer's sums over the columns that all variants share.
  static void load_prefix(Subject const& s, Scratch const& m) {
    auto const& first = s.network.layer[0].forward;
    dense<P, kV, Finish::kNone, false>(first, 0, s.prefix, m.in, first.bias, m.prefix);
  }

  /// Logits of one variant: the selected columns of m.in are overwritten with its values.
  static float* variant_logits(Subject const& s, Scratch const& m, int variant) {
    float const* value = s.variant_value + static_cast<long>(variant) * s.selected;
    for (int i = 0; i < s.selected; ++i) {
      F const x = P::splat(value[i]);
      for (int v = 0; v < kV; ++v) P::store(x, m.in + s.selected_column[i] * kTile + v * kN);
    }
    return tail_logits(s, m);
  }

  /// Logits of the input in m.in, whose prefix is done.
  static float* tail_logits(Subject const& s, Scratch const& m) {
    layer_forward<P, kV, true>(s.network.layer[0], s.prefix, m.in, m.prefix, s.network.layers == 1,
                               m.a);
    return upper_layers<P, kV>(s.network, m.a, m.b);
  }

  static void classify(Subject const& s, std::int32_t const* x, long stride, int n,
                       Scratch const& m, std::uint32_t* packed, std::int32_t* flags) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      load_prefix(s, m);
      LabelSet<P> set[kV];
      I bits[kV];
      for (int v = 0; v < kV; ++v) {
        set[v].clear();
        bits[v] = P::splat_i(0);
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        float const* z = variant_logits(s, m, variant);
        for (int v = 0; v < kV; ++v) {
          I const label = label_of<P>(z + v * kN, outputs, kTile, s.cut);
          set[v].add(label);
          bits[v] = P::or_i(bits[v],
                            P::shift_left_by(P::and_i(label, label_mask), variant * s.label_bits));
        }
      }
      for (int v = 0; v < kV; ++v) {
        P::store_i(set[v].flags(), flags + at + v * kN);
        P::store_i(bits[v], reinterpret_cast<std::int32_t*>(packed) + at + v * kN);
      }
    }
  }

  static void classify_some(Subject const& s, std::int32_t const* x, long stride, int n,
                            Scratch const& m, int first, int last, std::int32_t* found,
                            std::int32_t* flags) {
    int const outputs = s.network.outputs();
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      load_prefix(s, m);
      LabelSet<P> set[kV];
      for (int v = 0; v < kV; ++v) {
        set[v].clear();
        set[v].first = P::load_i(found + at + v * kN);
      }
      for (int i = first; i < last; ++i) {
        float const* z = variant_logits(s, m, s.variant_order[i]);
        for (int v = 0; v < kV; ++v) set[v].add(label_of<P>(z + v * kN, outputs, kTile, s.cut));
      }
      for (int v = 0; v < kV; ++v) {
        std::int32_t* flag = flags + at + v * kN;
        P::store_i(P::or_i(P::load_i(flag), set[v].flags()), flag);
        P::store_i(set[v].first, found + at + v * kN);
      }
    }
  }

  static void variant_labels(Subject const& s, std::int32_t const* x, long stride, int n,
                             Scratch const& m, std::uint8_t* labels, long label_stride) {
    int const outputs = s.network.outputs();
    std::int32_t row[kTile];
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      load_prefix(s, m);
      for (int variant = 0; variant < s.variants; ++variant) {
        float const* z = variant_logits(s, m, variant);
        for (int v = 0; v < kV; ++v)
          P::store_i(label_of<P>(z + v * kN, outputs, kTile, s.cut), row + v * kN);
        for (int i = 0; i < kTile; ++i)
          labels[variant * label_stride + at + i] = static_cast<std::uint8_t>(row[i]);
      }
    }
  }

  static void probe(Subject const& s, std::int32_t const* x, long stride, int n, Scratch const& m,
                    ProbeResult const& out) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    float* own = m.terms;                    // [outputs] own probabilities
    float* low = m.terms + outputs * kTile;  // [outputs] least probability within the similar set
    float* high = m.terms + 2 * outputs * kTile;
    float* sums = m.terms + 3 * outputs * kTile;  // [2 * outputs] scratch of softmax
    bool const describe = out.score != nullptr;
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      load_prefix(s, m);
      float* z = tail_logits(s, m);
      I label[kV];
      I pair[kV];
      I bits[kV];
      F score[kV];
      F pair_score[kV];
      LabelSet<P> set[kV];
      PartnerChoice<P> partner[kV];
      for (int v = 0; v < kV; ++v) {
        label[v] = label_of<P>(z + v * kN, outputs, kTile, s.cut);
        probabilities<P>(z + v * kN, outputs, kTile, sums + v * kN);
        for (int c = 0; c < outputs; ++c) {
          F const p = P::load(z + c * kTile + v * kN);
          P::store(p, own + c * kTile + v * kN);
          P::store(p, low + c * kTile + v * kN);
          P::store(p, high + c * kTile + v * kN);
        }
        score[v] = score_of(own + v * kN, outputs, label[v]);
        pair[v] = P::splat_i(-1);
        pair_score[v] = score[v];
        bits[v] = P::splat_i(0);
        set[v].clear();
        partner[v].clear();
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        z = variant_logits(s, m, variant);
        for (int v = 0; v < kV; ++v) {
          I const other = label_of<P>(z + v * kN, outputs, kTile, s.cut);
          set[v].add(other);
          bits[v] = P::or_i(bits[v],
                            P::shift_left_by(P::and_i(other, label_mask), variant * s.label_bits));
          probabilities<P>(z + v * kN, outputs, kTile, sums + v * kN);
          F squares = P::splat(0.0F);
          for (int c = 0; c < outputs; ++c) {
            int const i = c * kTile + v * kN;
            F const p = P::load(z + i);
            F const difference = P::load(own + i) - p;
            squares = P::fma(difference, difference, squares);
            if (describe) {
              P::store(P::select(p < P::load(low + i), p, P::load(low + i)), low + i);
              P::store(P::select(p > P::load(high + i), p, P::load(high + i)), high + i);
            }
          }
          auto const undefined = LabelSet<P>::equal(other, P::splat_i(kUndefinedLabel));
          partner[v].add(variant, P::select(undefined, P::splat(0.0F), squares));
          auto const own_undefined = LabelSet<P>::equal(label[v], P::splat_i(kUndefinedLabel));
          auto const same =
              P::lor(LabelSet<P>::equal(other, label[v]), P::lor(undefined, own_undefined));
          auto const taken = P::lor(same, P::lnot(LabelSet<P>::equal(pair[v], P::splat_i(-1))));
          pair[v] = P::select_i(taken, pair[v], P::splat_i(variant));
          if (describe) {
            pair_score[v] = P::select(taken, pair_score[v], score_of(z + v * kN, outputs, other));
          }
        }
      }
      for (int v = 0; v < kV; ++v) {
        int const i = at + v * kN;
        P::store_i(label[v], out.label + i);
        P::store_i(pair[v], out.pair + i);
        P::store_i(partner[v].variant, out.partner + i);
        P::store_i(bits[v], reinterpret_cast<std::int32_t*>(out.packed) + i);
        P::store_i(set[v].flags(), out.flags + i);
        if (!describe) continue;
        F severity = P::splat(0.0F);
        for (int c = 0; c < outputs; ++c) {
          F const spread = P::load(high + c * kTile + v * kN) - P::load(low + c * kTile + v * kN);
          severity = P::select(spread > severity, spread, severity);
        }
        P::store(score[v], out.score + i);
        P::store(pair_score[v], out.pair_score + i);
        P::store(severity, out.severity + i);
      }
    }
  }

  static void margins(Subject const& s, std::int32_t const* x, long stride, int n, Scratch const& m,
                      MarginResult const& out) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      load_prefix(s, m);
      float const* z = tail_logits(s, m);
      I label[kV];
      I bits[kV];
      LabelSet<P> set[kV];
      MarginChoice<P> choice[kV];
      for (int v = 0; v < kV; ++v) {
        label[v] = label_of<P>(z + v * kN, outputs, kTile, s.cut);
        bits[v] = P::splat_i(0);
        set[v].clear();
        int const i = at + v * kN;
        choice[v].clear(P::load_i(out.side_a + i), P::load_i(out.side_b + i));
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        z = variant_logits(s, m, variant);
        for (int v = 0; v < kV; ++v) {
          I const other = label_of<P>(z + v * kN, outputs, kTile, s.cut);
          set[v].add(other);
          bits[v] = P::or_i(bits[v],
                            P::shift_left_by(P::and_i(other, label_mask), variant * s.label_bits));
          choice[v].add(variant, other, z + v * kN, outputs, kTile, s.cut);
        }
      }
      for (int v = 0; v < kV; ++v) {
        int const i = at + v * kN;
        P::store_i(label[v], out.label + i);
        P::store_i(bits[v], reinterpret_cast<std::int32_t*>(out.packed) + i);
        P::store_i(set[v].flags(), out.flags + i);
        choice[v].store(i, out);
      }
    }
  }

  /// p(1) of one output, otherwise the label's probability.
  static F score_of(float const* p, int outputs, I label) {
    F score = P::load(p);
    for (int c = 1; c < outputs; ++c) {
      score = P::select(LabelSet<P>::equal(label, P::splat_i(c)), P::load(p + c * kTile), score);
    }
    return score;
  }

  static void gradients(Subject const& s, GradientSpec spec, std::int32_t const* x, long stride,
                        int n, Scratch const& m, float* gradient, long gradient_stride) {
    for (int at = 0; at < n; at += kTile) {
      if (spec.kind == GradientKind::kProbabilityDifference) {
        load_tile(s, x, stride, at, m.in);
        difference_tile(s, spec, m, gradient + at, gradient_stride);
      } else {
        load_tile(s, x, stride, at, m.kept);
        backward_tile(s, spec, m, gradient + at, gradient_stride);
      }
    }
  }

  static void backward_tile(Subject const& s, GradientSpec spec, Scratch const& m, float* gradient,
                            long stride) {
    int const outputs = s.network.outputs();
    float const* z = forward_keep<P, kV>(s.network, m.kept);
    for (int v = 0; v < kV; ++v) {
      logit_gradient<P>(spec.kind, s.cut, z + v * kN, outputs, kTile, m.a + v * kN,
                        m.terms + v * kN);
    }
    float const* g = input_gradient<P, kV>(s.network, m.kept, m.a, m.b);
    for (int c = 0; c < s.columns; ++c) {
      for (int v = 0; v < kV; ++v)
        P::store(P::load(g + c * kTile + v * kN), gradient + c * stride + v * kN);
    }
  }

  static void difference_tile(Subject const& s, GradientSpec spec, Scratch const& m,
                              float* gradient, long stride) {
    int const outputs = s.network.outputs();
    float* z = forward<P, kV>(s.network, m.in, m.a, m.b);
    I label[kV];
    F here[kV];
    for (int v = 0; v < kV; ++v) {
      label[v] = label_of<P>(z + v * kN, outputs, kTile, s.cut);
      here[v] = label_probability<P>(label[v], z + v * kN, outputs, kTile, m.terms + v * kN);
    }
    for (int c = 0; c < s.columns; ++c) {
      for (int v = 0; v < kV; ++v) P::store(P::splat(0.0F), gradient + c * stride + v * kN);
    }
    F const h = P::splat(spec.step);
    for (int i = 0; i < s.movable_count; ++i) {
      int const c = s.movable[i];
      F kept[kV];
      for (int v = 0; v < kV; ++v) {
        float* cell = m.in + c * kTile + v * kN;
        kept[v] = P::load(cell);
        P::store(kept[v] + h, cell);
      }
      z = forward<P, kV>(s.network, m.in, m.a, m.b);
      for (int v = 0; v < kV; ++v) {
        F const there =
            label_probability<P>(label[v], z + v * kN, outputs, kTile, m.terms + v * kN);
        P::store(P::divide(there - here[v], h), gradient + c * stride + v * kN);
        P::store(kept[v], m.in + c * kTile + v * kN);
      }
    }
  }

  static void logits(Subject const& s, std::int32_t const* x, long stride, int n, Scratch const& m,
                     float* out, long out_stride) {
    int const outputs = s.network.outputs();
    for (int at = 0; at < n; at += kTile) {
      load_tile(s, x, stride, at, m.in);
      float const* z = forward<P, kV>(s.network, m.in, m.a, m.b);
      for (int c = 0; c < outputs; ++c) {
        for (int v = 0; v < kV; ++v)
          P::store(P::load(z + c * kTile + v * kN), out + c * out_stride + at + v * kN);
      }
    }
  }

  static void random_words(std::uint32_t const* lane, Phase phase, std::uint32_t const* iteration,
                           std::uint32_t draw, std::uint64_t seed, int n, std::uint32_t* words,
                           long stride) {
    for (int at = 0; at < n; at += kN) {
      auto const r = philox<P>(P::load_u(lane + at), P::splat_u(static_cast<std::uint32_t>(phase)),
                               P::load_u(iteration + at), P::splat_u(draw), seed);
      for (int i = 0; i < 4; ++i) P::store_u(r.w[i], words + i * stride + at);
    }
  }

  static void advance(Subject const& s, AdvanceSpec spec, float const* g1, float const* g2,
                      long gradient_stride, float* m1, float* m2, std::int32_t* x, long stride,
                      int n) {
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

  static void attribute_weights(Subject const& s, float epsilon, float const* g1, float const* g2,
                                long gradient_stride, int n, float* weights, long stride,
                                float* total) {
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

  static void choose(int movable, float const* weights, long stride, float const* total,
                     std::uint32_t const* word, int n, std::int32_t* index) {
    for (int at = 0; at < n; at += kN) {
      P::store_i(choose_attribute<P>(weights + at, movable, stride, P::load(total + at),
                                     P::load_u(word + at)),
                 index + at);
    }
  }

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

  static LaneKernels const* table(char const* isa) {
    static constexpr LaneKernels kTable = {
        nullptr,           kTile,          kT,           classify,
        classify_some,     variant_labels, probe,        margins,
        gradients,         logits,         random_words, advance,
        attribute_weights, choose,         match_visits, list_visits,
        multiply_adds,     restore};
    static LaneKernels const named = [isa] {
      LaneKernels t = kTable;
      t.isa = isa;
      return t;
    }();
    return &named;
  }
};

}  // namespace fairlane::FL_ISA
