// The coarse operations of a search on many lanes, tile after tile: what every backend runs.
//
// Arrays over lanes are structure-of-arrays, row r of an array at r * stride. Strides and the
// memory behind n are padded to whole tiles, so that an operation may read and write past n up to
// the next multiple.
#pragma once

#include "kernels/core/feasibility.h"
#include "kernels/core/lane_gradients.h"
#include "kernels/core/lane_steps.h"
#include "kernels/core/margin.h"
#include "kernels/core/partner_draw.h"

namespace fairlane {

/// P: the pack; kV: packs per tile. x [columns][stride] holds integer codes in kernel column order.
/// kernels/cpu/lane_kernels.h says what each operation does.
template <Pack P, int kV>
struct LaneTiles : LaneGradients<P, kV>, LaneSteps<P>, PartnerDraw<P, kV> {
  using F = typename P::F;
  using I = typename P::I;
  using U = typename P::U;
  static constexpr int kN = P::kLanes;
  using Draw = PartnerDraw<P, kV>;
  using Network = NetworkTiles<P, kV>;
  using First = FirstLayer<P, kV>;
  static constexpr int kTile = kV * kN;

  /// Calls use(at) for the first lane of every pack of the tiles that n lanes fill.
  template <class Use>
  static FL_HD void for_packs(int n, Use const& use) {
    for (int at = 0; at < n; at += kTile) {
      for (int v = 0; v < kV; ++v) use(at + v * kN);
    }
  }

  /// Where the operations below take logits from: here the network, evaluated for one tile after
  /// the other. A source gives a tile's logits [outputs][kTile] of a member of its lanes' similar
  /// sets, outputs stride() floats apart; each call may overwrite what the one before gave.
  /// StoredLogits (kernels/device) is the other source.
  struct NetworkLogits {
    Subject const& s;
    Scratch const& m;
    std::int32_t const* x;
    long x_stride;
    mutable int first = 0;  // of the tile's lanes

    static constexpr FL_HD int stride() { return kTile; }
    /// Makes lanes [at, at + kTile) the tile.
    FL_HD void load(int at) const {
      first = at;
      Network::load_group(s, x, x_stride, at, m);
    }
    /// Of the lanes themselves, before any other member is asked for.
    FL_HD float* own() const {
      return drop(Network::tail_logits(s, m), [&](std::int32_t const* lanes, int) {
        return Feasible<P>::own(s, lanes, x_stride);
      });
    }
    FL_HD float* variant(int member) const {
      return drop(Network::variant_logits(s, m, member), [&](std::int32_t const* lanes, int) {
        return Feasible<P>::variant(s, lanes, x_stride, member);
      });
    }
    /// Of the i-th variant in the subject's order.
    FL_HD float* ordered(int i) const { return variant(s.variant_order[i]); }
    /// Of the members that a lane's try t names, one for each lane.
    FL_HD float* candidate(std::uint32_t, I const* variant) const {
      for (int v = 0; v < kV; ++v) {
        for (int a = 0; a < s.selected_inputs; ++a) {
          P::store(P::gather(s.variant_value + a, variant[v], s.selected_inputs),
                   m.in + s.selected_input[a] * kTile + v * kN);
        }
      }
      return drop(Network::tail_logits(s, m), [&](std::int32_t const* lanes, int v) {
        return Feasible<P>::candidate(s, lanes, x_stride, variant[v]);
      });
    }

    /// Drops logits z of lanes that may not exist. feasible(codes of a pack's lanes, which pack)
    template <class Mask>
    FL_HD float* drop(float* z, Mask const& feasible) const {
      if (s.feasible.rules == 0) return z;
      for (int v = 0; v < kV; ++v) Feasible<P>::drop(feasible(x + first + v * kN, v), z + v * kN);
      return z;
    }
  };

  static FL_HOST_DEVICE void classify(Subject const& s, std::int32_t const* x, long stride, int n,
                                      Scratch const& m, std::uint32_t* packed,
                                      std::int32_t* flags) {
    classify_by(s, NetworkLogits{s, m, x, stride}, n, packed, flags);
  }

  template <class Logits>
  static FL_HOST_DEVICE void classify_by(Subject const& s, Logits const& logits, int n,
                                         std::uint32_t* packed, std::int32_t* flags) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      LabelSet<P> set[kV];
      I bits[kV];
      for (int v = 0; v < kV; ++v) {
        set[v].clear();
        bits[v] = P::splat_i(0);
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        float const* z = logits.variant(variant);
        for (int v = 0; v < kV; ++v) {
          I const label = label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold);
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

  static FL_HOST_DEVICE void classify_some(Subject const& s, std::int32_t const* x, long stride,
                                           int n, Scratch const& m, int first, int last,
                                           std::int32_t* found, std::int32_t* flags) {
    classify_some_by(s, NetworkLogits{s, m, x, stride}, n, first, last, found, flags);
  }

  template <class Logits>
  static FL_HOST_DEVICE void classify_some_by(Subject const& s, Logits const& logits, int n,
                                              int first, int last, std::int32_t* found,
                                              std::int32_t* flags) {
    int const outputs = s.network.outputs();
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      LabelSet<P> set[kV];
      for (int v = 0; v < kV; ++v) {
        set[v].clear();
        set[v].first = P::load_i(found + at + v * kN);
      }
      for (int i = first; i < last; ++i) {
        float const* z = logits.ordered(i);
        for (int v = 0; v < kV; ++v)
          set[v].add(label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold));
      }
      for (int v = 0; v < kV; ++v) {
        std::int32_t* flag = flags + at + v * kN;
        P::store_i(P::or_i(P::load_i(flag), set[v].flags()), flag);
        P::store_i(set[v].first, found + at + v * kN);
      }
    }
  }

  static FL_HOST_DEVICE void variant_labels(Subject const& s, std::int32_t const* x, long stride,
                                            int n, Scratch const& m, std::uint8_t* labels,
                                            long label_stride) {
    int const outputs = s.network.outputs();
    std::int32_t row[kTile];
    NetworkLogits const logits{s, m, x, stride};
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      for (int variant = 0; variant < s.variants; ++variant) {
        float const* z = logits.variant(variant);
        for (int v = 0; v < kV; ++v)
          P::store_i(label_of<P>(z + v * kN, outputs, kTile, s.threshold), row + v * kN);
        for (int i = 0; i < kTile; ++i)
          labels[variant * label_stride + at + i] = static_cast<std::uint8_t>(row[i]);
      }
    }
  }

  /// Partner of every lane by lot among the members with another label, where no labels are kept;
  /// -1 when there is none.
  /// chosen [n]
  static FL_HOST_DEVICE void draw_partner(Subject const& s, std::int32_t const* x, long stride,
                                          int n, Scratch const& m,
                                          typename Draw::PartnerLot const& lot,
                                          std::int32_t* chosen) {
    NetworkLogits const logits{s, m, x, stride};
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      I own[kV];
      I pick[kV];
      if (Draw::pick_by_trial(s, logits, at, lot, own, pick))
        Draw::pick_by_count(s, logits, at, own, lot, pick);
      for (int v = 0; v < kV; ++v) P::store_i(pick[v], chosen + at + v * kN);
    }
  }

  static FL_HOST_DEVICE void probe(Subject const& s, std::int32_t const* x, long stride, int n,
                                   Scratch const& m, ProbeResult const& out) {
    probe_by(s, NetworkLogits{s, m, x, stride}, n, m.terms, out);
    for_packs(n, [&](int at) {
      Feasible<P>::leave_out(s, x + at, stride, out.label + at, out.pair + at);
    });
  }

  /// terms [6 * outputs], with the stride of the logits, which are overwritten but for the lanes'
  /// own.
  template <class Logits>
  static FL_HOST_DEVICE void probe_by(Subject const& s, Logits const& logits, int n, float* terms,
                                      ProbeResult const& out) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    int const stride = logits.stride();
    float* own = terms;                     // [outputs] own probabilities
    float* low = terms + outputs * stride;  // [outputs] least probability within the similar set
    float* high = terms + 2 * outputs * stride;
    float* sums = terms + 3 * outputs * stride;  // [2 * outputs] scratch of softmax
    bool const describe = out.score != nullptr;
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      float* z = logits.own();
      I label[kV];
      I pair[kV];
      I bits[kV];
      F score[kV];
      F pair_score[kV];
      LabelSet<P> set[kV];
      PartnerChoice<P> partner[kV];
      for (int v = 0; v < kV; ++v) {
        label[v] = label_of<P>(z + v * kN, outputs, stride, s.threshold);
        for (int c = 0; c < outputs; ++c)
          P::store(P::load(z + c * stride + v * kN), own + c * stride + v * kN);
        probabilities<P>(s.scores, own + v * kN, outputs, stride, sums + v * kN);
        for (int c = 0; c < outputs; ++c) {
          F const p = P::load(own + c * stride + v * kN);
          P::store(p, low + c * stride + v * kN);
          P::store(p, high + c * stride + v * kN);
        }
        score[v] = score_of(own + v * kN, outputs, stride, label[v]);
        pair[v] = P::splat_i(-1);
        pair_score[v] = score[v];
        bits[v] = P::splat_i(0);
        set[v].clear();
        partner[v].clear();
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        z = logits.variant(variant);
        for (int v = 0; v < kV; ++v) {
          I const other = label_of<P>(z + v * kN, outputs, stride, s.threshold);
          set[v].add(other);
          bits[v] = P::or_i(bits[v],
                            P::shift_left_by(P::and_i(other, label_mask), variant * s.label_bits));
          probabilities<P>(s.scores, z + v * kN, outputs, stride, sums + v * kN);
          F squares = P::splat(0.0F);
          for (int c = 0; c < outputs; ++c) {
            int const i = c * stride + v * kN;
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
            pair_score[v] =
                P::select(taken, pair_score[v], score_of(z + v * kN, outputs, stride, other));
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
          F const spread = P::load(high + c * stride + v * kN) - P::load(low + c * stride + v * kN);
          severity = P::select(spread > severity, spread, severity);
        }
        P::store(score[v], out.score + i);
        P::store(pair_score[v], out.pair_score + i);
        P::store(severity, out.severity + i);
      }
    }
  }

  static FL_HOST_DEVICE void margins(Subject const& s, std::int32_t const* x, long stride, int n,
                                     Scratch const& m, MarginResult const& out) {
    margins_by(s, NetworkLogits{s, m, x, stride}, n, out);
    for_packs(n,
              [&](int at) { Feasible<P>::leave_out(s, x + at, stride, out.label + at, nullptr); });
  }

  template <class Logits>
  static FL_HOST_DEVICE void margins_by(Subject const& s, Logits const& logits, int n,
                                        MarginResult const& out) {
    int const outputs = s.network.outputs();
    I const label_mask = P::splat_i(static_cast<std::int32_t>((1ULL << s.label_bits) - 1));
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      float const* z = logits.own();
      I label[kV];
      I bits[kV];
      LabelSet<P> set[kV];
      MarginChoice<P> choice[kV];
      for (int v = 0; v < kV; ++v) {
        label[v] = label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold);
        bits[v] = P::splat_i(0);
        set[v].clear();
        int const i = at + v * kN;
        choice[v].clear(P::load_i(out.side_a + i), P::load_i(out.side_b + i));
      }
      for (int variant = 0; variant < s.variants; ++variant) {
        z = logits.variant(variant);
        for (int v = 0; v < kV; ++v) {
          I const other = label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold);
          set[v].add(other);
          bits[v] = P::or_i(bits[v],
                            P::shift_left_by(P::and_i(other, label_mask), variant * s.label_bits));
          choice[v].add(variant, other, z + v * kN, outputs, logits.stride(), s.threshold);
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

  static FL_HOST_DEVICE void pair_margins(Subject const& s, std::int32_t const* x, long stride,
                                          int n, Scratch const& m, MemberPair const& pair,
                                          MarginResult const& out) {
    pair_margins_by(s, NetworkLogits{s, m, x, stride}, n, pair, out);
    for_packs(n, [&](int at) {
      Feasible<P>::leave_out_member(s, x + at, stride, pair.first + at, out.label + at);
    });
  }

  /// The same of two members of each similar set alone; label: of the first one.
  template <class Logits>
  static FL_HOST_DEVICE void pair_margins_by(Subject const& s, Logits const& logits, int n,
                                             MemberPair const& pair, MarginResult const& out) {
    int const outputs = s.network.outputs();
    I const none = P::splat_i(-1);
    for (int at = 0; at < n; at += kTile) {
      logits.load(at);
      LabelSet<P> set[kV];
      MarginChoice<P> choice[kV];
      for (int v = 0; v < kV; ++v) {
        set[v].clear();
        choice[v].clear(none, none);
      }
      for (int member = 0; member < 2; ++member) {
        I variant[kV];
        for (int v = 0; v < kV; ++v)
          variant[v] = P::load_i((member == 0 ? pair.first : pair.second) + at + v * kN);
        float const* z = logits.candidate(static_cast<std::uint32_t>(member), variant);
        for (int v = 0; v < kV; ++v) {
          I const label = label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold);
          if (member == 0) P::store_i(label, out.label + at + v * kN);
          set[v].add(label);
          choice[v].add(member, label, z + v * kN, outputs, logits.stride(), s.threshold);
        }
      }
      for (int v = 0; v < kV; ++v) {
        int const i = at + v * kN;
        P::store_i(set[v].flags(), out.flags + i);
        choice[v].store(i, out);
      }
    }
  }

  /// p(1) of one output, otherwise the label's probability.
  static FL_HOST_DEVICE F score_of(float const* p, int outputs, int stride, I label) {
    F score = P::load(p);
    for (int c = 1; c < outputs; ++c) {
      score = P::select(LabelSet<P>::equal(label, P::splat_i(c)), P::load(p + c * stride), score);
    }
    return score;
  }

  static FL_HOST_DEVICE void logits(Subject const& s, std::int32_t const* x, long stride, int n,
                                    Scratch const& m, float* out, long out_stride) {
    int const outputs = s.network.outputs();
    for (int at = 0; at < n; at += kTile) {
      First::load(s, x, stride, at, s.columns, m.in);
      float const* z = Network::logits_of(s, m);
      for (int c = 0; c < outputs; ++c) {
        for (int v = 0; v < kV; ++v)
          P::store(P::load(z + c * kTile + v * kN), out + c * out_stride + at + v * kN);
      }
    }
  }
};

}  // namespace fairlane
