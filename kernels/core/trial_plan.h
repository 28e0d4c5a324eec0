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
    int untested = 0;
    for (int i = 0; i < waiting; ++i) {
      Candidate const one = candidate[i];
      candidate[untested] = one;
      untested += tested.has(one.hash) ? 0 : 1;
    }
    for (int i = 0; i < untested; ++i) {
      Candidate const& one = candidate[i];
      TrialPlan& mine = plan[one.lane];
      if (one.order < mine.order[trials - 1]) continue;
      mine.add(trials, one.order, one.hash);
      worst[one.lane] = mine.worst(trials);
    }
    waiting = 0;
  }
};

/// Some of a table's draws at one pack's origins: predicted, rated and offered to the plans, each
/// in a loop of its own over what the one before has left, without branches that must be guessed.
/// solved, least, moved  [draw] as LatticeMove has them
/// draw, lanes           [left] what is left, and at which origins
/// move_class, rate      [left] of what rate() has left
template <Pack P>
struct MoveBatch {
  static constexpr int kDraws = P::kLanes > 1 ? 16 : 1;

  std::int32_t solved[kDraws][P::kLanes];
  float least[kDraws][P::kLanes];
  float moved[kDraws][P::kLanes];
  int draw[kDraws];
  std::uint64_t lanes[kDraws];
  std::int32_t move_class[kDraws][P::kLanes];
  float rate[kDraws][P::kLanes];

  /// Returns how many of n draws are near somewhere.
  template <class Columns>
  FL_HD int predict(MovePrediction<P, Columns> const& prediction, MoveDraw const* draws, int n) {
    int left = 0;
    for (int k = 0; k < n; ++k) {
      LatticeMove<P> const move = prediction.move(draws[k]);
      P::store_i(move.solved, solved[k]);
      P::store(move.least, least[k]);
      P::store(move.moved, moved[k]);
      lanes[left] = P::mask_bits(move.near);
      draw[left] = k;
      left += lanes[left] != 0 ? 1 : 0;
    }
    return left;
  }
  /// Returns how many of `near` draws meet an IDI more often than `worst` somewhere.
  template <class Columns>
  FL_HD int rate_all(MovePrediction<P, Columns> const& prediction, MoveDraw const* draws, int near,
                     float const* rates, typename P::F worst) {
    int left = 0;
    for (int j = 0; j < near; ++j) {
      int const k = draw[j];
      auto const last_step = P::load_i(solved[k]);
      auto const of =
          prediction.class_of(draws[k], last_step, P::load(least[k]), P::load(moved[k]));
      auto const moves = P::less_i(P::splat_i(kMoveCentres - 1), of);
      auto const how_often = P::lookup(rates, of) * P::splat(draws[k].weight);
      std::uint64_t better = lanes[j] & P::mask_bits(P::land(moves, how_often > worst));
      if (prediction.s.feasible.finding_rules > 0 && better != 0)
        better &= P::mask_bits(prediction.may_find(draws[k], last_step));
      P::store_i(of, move_class[left]);
      P::store(how_often, rate[left]);
      lanes[left] = better;
      draw[left] = k;
      left += better != 0 ? 1 : 0;
    }
    return left;
  }
};

/// Chooses the tests of one pack's origins, from `first` on. Columns: as MovePrediction has them
template <Pack P, class Columns>
FL_HOST_DEVICE void plan_trials(Subject const& s, MoveTable const& table, PlanLanes const& lanes,
                                long first, Columns const& columns) {
  TrialPlans<P> plans(table.tested, table.trials);
  MovePrediction<P, Columns> const prediction(s, lanes, first, columns);
  MoveBatch<P> batch;
  for (int at = 0; at < table.count; at += batch.kDraws) {
    auto const worst = P::load(plans.worst);
    if (!P::any(P::splat(table.draws[at].bound) > worst)) break;
    MoveDraw const* const draws = table.draws + at;
    int const n = table.count - at < batch.kDraws ? table.count - at : batch.kDraws;
    int const near = batch.predict(prediction, draws, n);
    int const better = batch.rate_all(prediction, draws, near, table.rate, worst);
    for (int j = 0; j < better; ++j) {
      int const k = batch.draw[j];
      KeyChange const change(lanes, draws[k], 0);
      for (std::uint64_t bits = batch.lanes[j]; bits != 0; bits &= bits - 1) {
        int const i = lowest_bit(bits);
        float const rate = batch.rate[j][i];
        if (!(rate > plans.worst[i])) continue;
        std::int32_t const solved = batch.solved[k][i];
        std::uint32_t const trial = TrialWord::pack(at + k, solved, batch.move_class[j][i]);
        plans.add(i, TrialPlan::order_of(rate, trial),
                  hash_after(lanes, draws[k], change, solved, first + i));
      }
    }
  }
  plans.settle();
  for (int t = 0; t < table.trials; ++t) {
    for (int i = 0; i < P::kLanes; ++i) {
      lanes.trial[t * lanes.trial_stride + first + i] = plans.plan[i].trial(t);
      lanes.trial_hash[t * lanes.trial_stride + first + i] = plans.plan[i].high_bits(t);
    }
  }
}

}  // namespace fairlane
