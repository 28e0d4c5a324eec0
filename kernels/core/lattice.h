// Moves of several attributes at once: which integer steps from a point near the decision boundary
// are predicted to put it between two members of the similar set.
//
// Source: Fairlane. Where a model is nearly fair, the IDIs form a thin shell around the boundary,
// which a step of one attribute leaves. Two attributes are drawn, the third's step is solved for;
// how likely such a move is to meet an IDI is learned from how far it goes and how well its
// predicted margins are centred.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/feasibility.h"
#include "kernels/core/margin.h"

namespace fairlane {

inline constexpr int kMostTrials = 32;     // moves that are tested from one origin
inline constexpr int kUsualTrials = 8;     // as many as that where nothing is known
inline constexpr int kMoveAttributes = 3;  // that a move changes at most
inline constexpr int kMoveDistances = 9;   // classes by the sum of all steps, the last: and more
inline constexpr int kMoveCentres = 6;     // classes by the predicted margins
inline constexpr int kMoveClasses = kMoveDistances * kMoveCentres;
static_assert(kMoveClasses <= kLookupValues);
inline constexpr int kLongestSolved = 8;        // steps of the attribute that is solved for
inline constexpr int kMostMoveDraws = 1 << 12;  // of a table

/// Steps of two attributes and a third one to solve for, the same for all origins of a wave.
/// column    kNoColumn: there are not so many
/// by        steps of the first two; 0 where there is no column
/// distance  their sum, whatever their signs
/// weight    how much more or less likely such steps are to meet an IDI than others of their class
/// bound     at least weight times the best rate of such a distance and beyond
struct alignas(16) MoveDraw {
  static constexpr std::int32_t kNoColumn = -1;

  std::int32_t column[kMoveAttributes];
  std::int32_t by[kMoveAttributes - 1];
  std::int32_t distance;
  float weight;
  float bound;
};

/// Groups that were tested before a wave, as bits that the highest bits of a group's hash choose:
/// some untested ones are taken for tested, none the other way round. bits: null where nothing is
/// known
struct TestedGroups {
  static constexpr int kMostBits = 32;

  std::uint64_t const* bits = nullptr;
  int log2_bits = 6;  // at most kMostBits

  static FL_HD std::uint32_t high_bits(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> (64 - kMostBits));
  }
  static FL_HD std::uint64_t bit_of(std::uint32_t high_bits, int log2_bits) {
    return std::uint64_t{high_bits} >> (kMostBits - log2_bits);
  }
  FL_HD void prefetch([[maybe_unused]] std::uint64_t hash) const {
#ifndef __CUDA_ARCH__
    if (bits != nullptr) __builtin_prefetch(&bits[bit_of(high_bits(hash), log2_bits) / 64]);
#endif
  }
  FL_HD bool has(std::uint64_t hash) const {
    if (bits == nullptr) return false;
    std::uint64_t const bit = bit_of(high_bits(hash), log2_bits);
    return (bits[bit / 64] >> (bit % 64) & 1U) != 0;
  }
};

/// Adds a word of a group's key to its hash, of which the highest bits are the best.
FL_HD std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  hash ^= hash >> 32;
  return hash * 0xD6E8FEB86659FD93ULL;
}

/// What a wave's origins choose their moves from.
/// draws   [count] descending by bound
/// rate    [kLookupValues] share of such moves that met an IDI, by class
/// trials  that each origin gets, at most kMostTrials
struct MoveTable {
  MoveDraw const* draws = nullptr;
  std::int32_t count = 0;
  float const* rate = nullptr;
  TestedGroups tested;
  std::int32_t trials = kUsualTrials;
};

/// What became of a test.
enum class TrialOutcome : std::uint8_t {
  kNone,   // there was no move left
  kHit,    // an IDI
  kDeep,   // one whose sides lie no nearer to the boundary than the origin's, which is one, too
  kNear0,  // a miss whose nearest member is half the members' gap from the boundary; once; twice
  kNear1,
  kNear2,
  kNear3,  // eight times
  kNear4,  // 32 times
  kFar,
};

/// A test of a move in one word: its outcome, its class, the third attribute's step, the draw.
struct TrialWord {
  static FL_HD std::uint32_t pack(int draw, std::int32_t solved, int move_class) {
    return static_cast<std::uint32_t>(draw) << 16 |
           static_cast<std::uint32_t>(solved + kSolvedBias) << 10 |
           static_cast<std::uint32_t>(move_class) << 4;
  }
  static FL_HD int draw(std::uint32_t word) { return static_cast<int>(word >> 16); }
  static FL_HD std::int32_t solved(std::uint32_t word) {
    return static_cast<std::int32_t>(word >> 10 & 63U) - kSolvedBias;
  }
  static FL_HD int move_class(std::uint32_t word) { return static_cast<int>(word >> 4 & 63U); }
  /// Words without a move have distance 0.
  static FL_HD bool moves(std::uint32_t word) { return move_class(word) >= kMoveCentres; }
  static FL_HD TrialOutcome outcome(std::uint32_t word) {
    return static_cast<TrialOutcome>(word & 15U);
  }

 private:
  static constexpr std::int32_t kSolvedBias = 16;
};

/// Origins whose moves are chosen; arrays over lanes, `stride` apart but for the gradients.
/// x [columns], key [words]  of the origins
/// word, key_stride    [columns] as ColumnMap has them
/// margin_a, margin_b  of the two sides between which the boundary shall lie
/// sign_b              -1 where slope_b is that of the other label's margin, 1 elsewhere
/// slope_a, slope_b    [columns] gradients of the sides' margins, `slope_stride` apart
/// trial, trial_hash   out: [trials] TrialWord and the group hash's high_bits() of every test,
///                     `trial_stride` apart
/// side_a              the members whose tests are visits
struct PlanLanes {
  long stride = 0;
  int words = 1;
  std::int32_t const* x = nullptr;
  std::uint64_t const* key = nullptr;
  int const* word = nullptr;
  std::uint64_t const* key_stride = nullptr;
  float const* margin_a = nullptr;
  float const* margin_b = nullptr;
  float const* sign_b = nullptr;
  float const* slope_a = nullptr;
  float const* slope_b = nullptr;
  long slope_stride = 0;
  long trial_stride = 0;
  std::uint32_t* trial = nullptr;
  std::uint32_t* trial_hash = nullptr;
  std::int32_t const* side_a = nullptr;
};

/// A draw at the origins of one pack.
/// solved  steps of the third attribute
/// least   the smaller one of the predicted margins of the two sides
/// moved   by how much the first would change if all steps went one way
/// near    where it stays in the domain, and is not predicted to miss by far
template <Pack P>
struct LatticeMove {
  typename P::I solved;
  typename P::F least;
  typename P::F moved;
  typename P::M near;
};

/// What moves ask of a column, at one pack of origins; 0 of kNoColumn, which never moves.
/// down, up          codes to the bounds of its domain, the first at most 0
/// slope_a, slope_b  change of the sides' margins by a step
/// closing           1 / (slope_a - slope_b): steps that bring the margins nearer by 1; 0: none do
template <Pack P>
struct MoveColumn {
  using F = typename P::F;
  using I = typename P::I;

  I down;
  I up;
  F slope_a;
  F slope_b;
  F closing;
};

/// The same from what lanes have, anew for every move.
template <Pack P>
struct LaneColumns {
  Subject const& s;
  PlanLanes const& lanes;
  long lane;

  FL_HD MoveColumn<P> operator()(int c) const {
    auto const zero = P::splat(0.0F);
    if (c == MoveDraw::kNoColumn) return {P::splat_i(0), P::splat_i(0), zero, zero, zero};
    auto const x = P::load_i(lanes.x + c * lanes.stride + lane);
    auto const sign_b = P::load(lanes.sign_b + lane);
    auto const slope_a = P::load(lanes.slope_a + c * lanes.slope_stride + lane);
    auto const slope_b = sign_b * P::load(lanes.slope_b + c * lanes.slope_stride + lane);
    auto const apart = slope_a - slope_b;
    auto const closing = P::select(apart == zero, zero, P::divide(P::splat(1.0F), apart));
    return {P::splat_i(s.low[c]) - x, P::splat_i(s.high[c]) - x, slope_a, slope_b, closing};
  }
};

/// The same in memory, for many moves.
template <Pack P>
class KeptColumns {
 public:
  static constexpr int kLeast = MoveDraw::kNoColumn;
  static constexpr FL_HD long words(int columns) { return long{kWords} * (columns - kLeast); }

  /// memory: words(columns), for columns from kLeast on
  FL_HD explicit KeptColumns(std::int32_t* memory) : memory_(memory) {}
  FL_HD void keep(int c, MoveColumn<P> const& column) const {
    P::store_i(column.down, place(c, 0));
    P::store_i(column.up, place(c, 1));
    P::store_i(P::bits_of(column.slope_a), place(c, 2));
    P::store_i(P::bits_of(column.slope_b), place(c, 3));
    P::store_i(P::bits_of(column.closing), place(c, 4));
  }
  FL_HD MoveColumn<P> operator()(int c) const {
    return {P::load_i(place(c, 0)), P::load_i(place(c, 1)), P::float_of(P::load_i(place(c, 2))),
            P::float_of(P::load_i(place(c, 3))), P::float_of(P::load_i(place(c, 4)))};
  }

 private:
  static constexpr int kFields = 5;
  static constexpr int kWords = kFields * P::kLanes;

  FL_HD std::int32_t* place(int c, int field) const {
    return memory_ + (c - kLeast) * kWords + field * P::kLanes;
  }

  std::int32_t* memory_;
};

/// What the moves of one pack's origins are predicted from.
/// Columns: LaneColumns or KeptColumns
template <Pack P, class Columns>
struct MovePrediction {
  using F = typename P::F;
  using I = typename P::I;

  Subject const& s;
  PlanLanes const& lanes;
  long lane;
  Columns columns;
  F margin_a;
  F margin_b;
  F gap;
  I most;  // what the sum of the rule for findings may come to, where there is one

  FL_HD MovePrediction(Subject const& subject, PlanLanes const& from, long first, Columns const& of)
      : s(subject), lanes(from), lane(first), columns(of) {
    margin_a = P::load(lanes.margin_a + lane);
    margin_b = P::load(lanes.margin_b + lane);
    gap = P::abs(margin_a + margin_b);
    if (s.feasible.finding_rules == 0) return;
    auto const nowhere = [](int) { return P::splat_i(0); };
    most = Feasible<P>::most_after_step(
        s.feasible, [&] { return sum_after(nowhere); }, [&] { return origin_words(); });
  }
  FL_HD LatticeMove<P> move(MoveDraw const& draw) const {
    I const zero = P::splat_i(0);
    Margins at{margin_a, margin_b, P::splat(0.0F)};
    auto outside = P::less_i(zero, zero);
    for (int i = 0; i < kMoveAttributes - 1; ++i) {
      MoveColumn<P> const column = columns(draw.column[i]);
      I const by = P::splat_i(draw.by[i]);
      outside = P::lor(outside, P::lor(P::less_i(column.up, by), P::less_i(by, column.down)));
      at.shift(column, P::to_float(by));
    }
    MoveColumn<P> const last = columns(draw.column[kMoveAttributes - 1]);
    I const solved = solve(last, at);
    at.shift(last, P::to_float(solved));
    constexpr float kFar = -0.5F;
    F const least = P::min(at.a, at.b);
    F const scale = P::max(P::abs(at.a + at.b), gap);
    return {solved, least, at.moved, P::land(P::lnot(outside), least > P::splat(kFar) * scale)};
  }
  /// Class of a move that is near; below kMoveCentres where it goes nowhere.
  static FL_HD I class_of(MoveDraw const& draw, I solved, F least, F moved) {
    constexpr float kSafe[] = {0.05F, 0.2F, 0.5F};
    I const one = P::splat_i(1);
    I const far = P::max_i(solved, P::splat_i(0) - solved) + P::splat_i(draw.distance);
    I const distance = P::min_i(far, P::splat_i(kMoveDistances - 1));
    I centre = P::select_i(least > P::splat(0.0F), P::splat_i(2), one);
    for (float const safe : kSafe)
      centre = P::select_i(least > P::splat(safe) * moved, centre + one, centre);
    return distance * P::splat_i(kMoveCentres) + centre;
  }
  /// Where a move leads to what may be a finding, and no further away from the plausible than is
  /// drawn for the origin.
  FL_HD typename P::M may_find(MoveDraw const& draw, I solved) const {
    I const sum = sum_after([&](int column) {
      I by = P::splat_i(0);
      for (int i = 0; i < kMoveAttributes - 1; ++i)
        by = by + P::splat_i(draw.column[i] == column ? draw.by[i] : 0);
      return draw.column[kMoveAttributes - 1] == column ? by + solved : by;
    });
    return P::lnot(P::less_i(most, sum));
  }

 private:
  /// Predicted margins of both sides, after some steps.
  /// moved  by how much the first would change if all steps went one way
  struct Margins {
    F a;
    F b;
    F moved;

    FL_HD void shift(MoveColumn<P> const& column, F by) {
      F const change = by * column.slope_a;
      a = a + change;
      b = P::fma(by, column.slope_b, b);
      moved = moved + P::abs(change);
    }
  };

  /// The integer step of a column that centres the boundary, inside the domain.
  static FL_HD I solve(MoveColumn<P> const& column, Margins const& at) {
    F const longest = P::splat(static_cast<float>(kLongestSolved));
    F const wanted =
        P::max(P::min((at.b - at.a) * column.closing, longest), P::splat(0.0F) - longest);
    F const magic = P::splat(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
    I const by = P::bits_of(wanted + magic) - P::bits_of(magic);
    return P::max_i(P::min_i(by, column.up), column.down);
  }
  /// The sum of the rule for findings, `by(c)` codes away in column c.
  template <class By>
  FL_HD I sum_after(By const& by) const {
    I const variant = P::load_i(lanes.side_a + lane);
    return Feasible<P>::finding_sum_near(s, lanes.x + lane, lanes.stride, variant, by);
  }
  /// Random bits that are each origin's, whenever and wherever it is planned for.
  FL_HD typename P::U origin_words() const {
    std::int32_t word[P::kLanes];
    for (int i = 0; i < P::kLanes; ++i) {
      std::uint64_t hash = 0;
      for (int w = 0; w < lanes.words; ++w)
        hash = hash_word(hash, lanes.key[w * lanes.stride + lane + i]);
      word[i] = static_cast<std::int32_t>(hash >> 32);
    }
    return P::i_to_u(P::load_i(word));
  }
};

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

/// How close to the boundary a miss came, by the least margin and the gap between the members.
FL_HD TrialOutcome miss_outcome(float low_margin, float gap) {
  if (low_margin < 0.5F * gap) return TrialOutcome::kNear0;
  if (low_margin < gap) return TrialOutcome::kNear1;
  if (low_margin < 2.0F * gap) return TrialOutcome::kNear2;
  if (low_margin < 8.0F * gap) return TrialOutcome::kNear3;
  return low_margin < 32.0F * gap ? TrialOutcome::kNear4 : TrialOutcome::kFar;
}

}  // namespace fairlane
