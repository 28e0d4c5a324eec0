// Which moves (kernels/core/lattice.h) are tested: the most promising ones of each origin, to
// groups that were not tested yet.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/move_prediction.h"

namespace fairlane {

/// The most promising moves from one origin, best first; of equal ones the earlier draw.
/// order  a move's rate, then its trial, whose complement is larger for earlier draws; 0: no move
/// hash   of the group that it leads to; kNoGroup: no move
struct TrialPlan {
  static constexpr std::uint64_t kNoGroup = ~std::uint64_t{0};  // 0 is that of the lowest codes
  static constexpr int kTogether = 8;                           // that are compared at once
  static_assert(kMostTrials % kTogether == 0);

  std::uint64_t order[kMostTrials];
  std::uint64_t hash[kMostTrials];

  FL_HD void clear() {
    for (int t = 0; t < kMostTrials; ++t) clear(t);
  }
  FL_HD void clear(int t) {
    order[t] = 0;
    hash[t] = kNoGroup;
  }
  FL_HD std::uint32_t trial(int t) const {
    return order[t] == 0 ? 0 : ~static_cast<std::uint32_t>(order[t]);
  }
  FL_HD std::uint32_t high_bits(int t) const { return TestedGroups::high_bits(hash[t]); }
  static FL_HD std::uint64_t order_of(float rate, std::uint32_t trial) {
    return static_cast<std::uint64_t>(ScalarPack::bits_of(rate)) << 32 | (trial ^ 0xFFFFFFFFU);
  }
  /// The rate that a move must exceed.
  FL_HD float worst(int trials) const {
    return ScalarPack::float_of(static_cast<std::int32_t>(order[trials - 1] >> 32));
  }
  /// The rate exceeds worst().
  FL_HD void add(int trials, std::uint64_t candidate, std::uint64_t group) {
    bool known = false;
    for (int t = 0; t < trials; t += kTogether) {
      for (int i = 0; i < kTogether; ++i) known |= hash[t + i] == group;
    }
    if (known) return;
    int t = trials - 1;
    for (; t > 0 && candidate > order[t - 1]; --t) {
      order[t] = order[t - 1];
      hash[t] = hash[t - 1];
    }
    order[t] = candidate;
    hash[t] = group;
  }
};

/// By how much a move changes a word of a group's key.
/// drawn  by the first two attributes; each  by a step of the third
struct KeyChange {
  std::uint64_t drawn;
  std::uint64_t each;

  FL_HD KeyChange(PlanLanes const& lanes, MoveDraw const& draw, int w)
      : drawn(step(lanes, draw.column[0], draw.by[0], w) +
              step(lanes, draw.column[1], draw.by[1], w)),
        each(step(lanes, draw.column[2], draw.column[2] == MoveDraw::kNoColumn ? 0 : 1, w)) {}

  FL_HD std::uint64_t by(std::int32_t solved) const {
    return drawn + static_cast<std::uint64_t>(std::int64_t{solved}) * each;
  }

 private:
  static FL_HD std::uint64_t step(PlanLanes const& lanes, int column, std::int32_t by, int w) {
    if (by == 0 || (lanes.words > 1 && lanes.word[column] != w)) return 0;
    return static_cast<std::uint64_t>(std::int64_t{by}) * lanes.key_stride[column];
  }
};

/// Hash of the group that a move leads to. first: of the key's first word
FL_HD std::uint64_t hash_after(PlanLanes const& lanes, MoveDraw const& draw, KeyChange const& first,
                               std::int32_t solved, long lane) {
  std::uint64_t hash = hash_word(0, lanes.key[lane] + first.by(solved));
  for (int w = 1; w < lanes.words; ++w) {
    std::uint64_t const key = lanes.key[w * lanes.stride + lane];
    hash = hash_word(hash, key + KeyChange(lanes, draw, w).by(solved));
  }
  return hash;
}

/// The plans of one pack's origins while moves come in.
template <Pack P>
struct TrialPlans {
  static constexpr int kN = P::kLanes;
  /// Candidates wait until the memory that says whether their group was tested has come.
  static constexpr int kMostWaiting = kN > 1 ? 2 * kN : 1;
  struct Candidate {
    std::uint64_t order;
    std::uint64_t hash;
    int lane;
  };

  TestedGroups tested;
  int trials;
  int waiting = 0;
  TrialPlan plan[kN];
  float worst[kN];
  Candidate candidate[kMostWaiting];

  FL_HD TrialPlans(TestedGroups const& known, int count) : tested(known), trials(count) {
    for (int i = 0; i < kN; ++i) {
      plan[i].clear();
      worst[i] = 0.0F;
    }
  }
  FL_HD void add(int lane, std::uint64_t order, std::uint64_t hash) {
    tested.prefetch(hash);
    candidate[waiting++] = {order, hash, lane};
    if (waiting == kMostWaiting) settle();
  }
  FL_HD void settle() {
    for (int i = 0; i < waiting; ++i) {
      Candidate const& one = candidate[i];
      TrialPlan& mine = plan[one.lane];
      if (one.order < mine.order[trials - 1] || tested.has(one.hash)) continue;
      mine.add(trials, one.order, one.hash);
      worst[one.lane] = mine.worst(trials);
    }
    waiting = 0;
  }
};

/// Chooses the tests of one pack's origins, from `first` on. Columns: as MovePrediction has them
template <Pack P, class Columns>
FL_HOST_DEVICE void plan_trials(Subject const& s, MoveTable const& table, PlanLanes const& lanes,
                                long first, Columns const& columns) {
  constexpr int kN = P::kLanes;
  constexpr int kTogether = kN > 1 ? 16 : 1;  // draws whose predictions do not wait for each other
  TrialPlans<P> plans(table.tested, table.trials);
  std::int32_t solved[kTogether][kN];
  float least[kTogether][kN];
  float moved[kTogether][kN];
  std::uint64_t near[kTogether];
  MovePrediction<P, Columns> const prediction(s, lanes, first, columns);
  for (int at = 0; at < table.count; at += kTogether) {
    auto const worst = P::load(plans.worst);
    if (!P::any(P::splat(table.draws[at].bound) > worst)) break;
    int const n = table.count - at < kTogether ? table.count - at : kTogether;
    for (int k = 0; k < n; ++k) {
      LatticeMove<P> const move = prediction.move(table.draws[at + k]);
      P::store_i(move.solved, solved[k]);
      P::store(move.least, least[k]);
      P::store(move.moved, moved[k]);
      near[k] = P::mask_bits(move.near);
    }
    for (int k = 0; k < n; ++k) {
      if (near[k] == 0) continue;
      MoveDraw const& draw = table.draws[at + k];
      auto const last_step = P::load_i(solved[k]);
      auto const move_class =
          prediction.class_of(draw, last_step, P::load(least[k]), P::load(moved[k]));
      auto const moves = P::less_i(P::splat_i(kMoveCentres - 1), move_class);
      auto const rate = P::lookup(table.rate, move_class) * P::splat(draw.weight);
      std::uint64_t bits = near[k] & P::mask_bits(P::land(moves, rate > worst));
      if (bits != 0 && s.feasible.finding_rules > 0)
        bits &= P::mask_bits(prediction.may_find(draw, last_step));
      if (bits == 0) continue;
      std::int32_t classes[kN];
      float rates[kN];
      P::store_i(move_class, classes);
      P::store(rate, rates);
      KeyChange const change(lanes, draw, 0);
      for (; bits != 0; bits &= bits - 1) {
        int const i = lowest_bit(bits);
        if (!(rates[i] > plans.worst[i])) continue;
        std::uint32_t const trial = TrialWord::pack(at + k, solved[k][i], classes[i]);
        plans.add(i, TrialPlan::order_of(rates[i], trial),
                  hash_after(lanes, draw, change, solved[k][i], first + i));
      }
    }
  }
  plans.settle();
  for (int t = 0; t < table.trials; ++t) {
    for (int i = 0; i < kN; ++i) {
      lanes.trial[t * lanes.trial_stride + first + i] = plans.plan[i].trial(t);
      lanes.trial_hash[t * lanes.trial_stride + first + i] = plans.plan[i].high_bits(t);
    }
  }
}

}  // namespace fairlane
