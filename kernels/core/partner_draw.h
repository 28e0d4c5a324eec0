// A partner by lot among the members with another label, where no labels are kept: by trial first,
// then by evaluating every variant twice.
#pragma once

#include "kernels/core/labels.h"
#include "kernels/core/steps.h"

namespace fairlane {

/// P: the pack; kV: packs per tile. Logits: a source of logits, see LaneTiles::NetworkLogits.
template <Pack P, int kV>
struct PartnerDraw {
  using I = typename P::I;
  static constexpr int kN = P::kLanes;

  /// What a partner's draw depends on. seed, iteration [n]
  struct PartnerLot {
    std::uint32_t const* seed;
    Phase phase;
    std::uint32_t const* iteration;
    std::uint64_t run_seed;

    FL_HD RandomWords<P> words(int lane, std::uint32_t draw) const {
      return philox<P>(P::load_u(seed + lane), P::splat_u(static_cast<std::uint32_t>(phase)),
                       P::load_u(iteration + lane), P::splat_u(draw), run_seed);
    }
    /// The member that try t, from 1, names.
    FL_HD I candidate(int lane, std::uint32_t t, int variants) const {
      return P::u_to_i(
          below<P>(words(lane, t).w[0], P::splat_u(static_cast<std::uint32_t>(variants))));
    }
  };

  /// Tries before a group is evaluated.
  static FL_HOST_DEVICE std::uint32_t partner_tries(Subject const& s) {
    return s.tries_partners ? kPartnerTries : 0;
  }

  /// own: labels of a tile's lanes; pick: partners, -1 where the tries found none. Returns whether
  /// a lane has none.
  template <class Logits>
  static FL_HOST_DEVICE bool pick_by_trial(Subject const& s, Logits const& logits, int at,
                                           PartnerLot const& lot, I* own, I* pick) {
    int const outputs = s.network.outputs();
    float const* z = logits.own();
    for (int v = 0; v < kV; ++v) {
      own[v] = label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold);
      pick[v] = P::splat_i(-1);
    }
    bool open = true;
    for (std::uint32_t t = 1; t <= partner_tries(s) && open; ++t) {
      I candidate[kV];
      for (int v = 0; v < kV; ++v) candidate[v] = lot.candidate(at + v * kN, t, s.variants);
      z = logits.candidate(t, candidate);
      open = false;
      for (int v = 0; v < kV; ++v) {
        auto const other =
            differs(label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold), own[v]);
        auto const none = LabelSet<P>::equal(pick[v], P::splat_i(-1));
        pick[v] = P::select_i(P::land(none, other), candidate[v], pick[v]);
        open = open || P::any(LabelSet<P>::equal(pick[v], P::splat_i(-1)));
      }
    }
    return open;
  }

  /// For lanes whose pick is -1: the member that word 2 of draw 0 points to among those with
  /// another label.
  template <class Logits>
  static FL_HOST_DEVICE void pick_by_count(Subject const& s, Logits const& logits, int at,
                                           I const* own, PartnerLot const& lot, I* pick) {
    int const outputs = s.network.outputs();
    I const none = P::splat_i(0);
    I rest[kV];  // such members; then those that are still to be skipped, counted down
    for (int v = 0; v < kV; ++v) rest[v] = none;
    for (int pass = 0; pass < 2; ++pass) {
      I const step = P::splat_i(pass == 0 ? 1 : -1);
      for (int variant = 0; variant < s.variants; ++variant) {
        float const* z = logits.variant(variant);
        for (int v = 0; v < kV; ++v) {
          auto const other =
              differs(label_of<P>(z + v * kN, outputs, logits.stride(), s.threshold), own[v]);
          auto const here = P::land(other, P::land(LabelSet<P>::equal(rest[v], none),
                                                   LabelSet<P>::equal(pick[v], P::splat_i(-1))));
          if (pass == 1) pick[v] = P::select_i(here, P::splat_i(variant), pick[v]);
          rest[v] = rest[v] + P::select_i(other, step, none);
        }
      }
      for (int v = 0; v < kV && pass == 0; ++v)
        rest[v] = P::u_to_i(below<P>(lot.words(at + v * kN, 0).w[2], P::i_to_u(rest[v])));
    }
  }

  static FL_HOST_DEVICE typename P::M differs(I label, I own) {
    return P::lnot(P::lor(LabelSet<P>::equal(label, own),
                          LabelSet<P>::equal(label, P::splat_i(kUndefinedLabel))));
  }
};

}  // namespace fairlane
