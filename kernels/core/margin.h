// The margin method's decisions: which members of a similar set lie nearest to and farthest from
// the decision boundary, a Newton step on the integer lattice towards it, and local moves that keep
// one member on either side.
//
// Source: Fairlane. The all-attribute sign step of ADF and EIDIG overshoots: every member crosses
// the boundary together. This step moves as few attributes as the linear model asks for, first
// those that pull the members apart, and stops where the nearest member is predicted to cross.
#pragma once

#include "kernels/core/labels.h"
#include "kernels/core/steps.h"
#include "kernels/core/strided.h"

namespace fairlane {

inline constexpr std::int32_t kReachDivisor =
    4;  // a global step moves an attribute by at most a quarter of its range
inline constexpr int kMissesBeforeRenewal =
    2;  // local misses in a row after which gradients are taken anew

/// Margins within the similar sets of n lanes; [n] each.
/// label, packed, flags  as ProbeResult
/// low, high             variants with the least and the largest margin of the first variant's
///                       label, first of equals
/// low_margin            that least margin
/// side_a, side_b        in: classes whose best margins margin_a and margin_b are wanted, -1 where
///                       none is
/// best_a, best_b        classes with the best members: a of the member with the largest margin of
///                       its own label, b of the best among the members with another label (-1 when
///                       there is none)
/// member_a, member_b    those members; best_margin_a, best_margin_b their margins
struct MarginResult {
  std::int32_t* label = nullptr;
  std::uint32_t* packed = nullptr;
  std::int32_t* flags = nullptr;
  std::int32_t* low = nullptr;
  std::int32_t* high = nullptr;
  float* low_margin = nullptr;
  std::int32_t* side_a = nullptr;
  std::int32_t* side_b = nullptr;
  float* margin_a = nullptr;
  float* margin_b = nullptr;
  std::int32_t* best_a = nullptr;
  std::int32_t* best_b = nullptr;
  std::int32_t* member_a = nullptr;
  std::int32_t* member_b = nullptr;
  float* best_margin_a = nullptr;
  float* best_margin_b = nullptr;

  /// The results of lanes from `lane` on.
  FL_HD MarginResult from(long lane) const {
    return {label + lane,    packed + lane,     flags + lane,         low + lane,
            high + lane,     low_margin + lane, side_a + lane,        side_b + lane,
            margin_a + lane, margin_b + lane,   best_a + lane,        best_b + lane,
            member_a + lane, member_b + lane,   best_margin_a + lane, best_margin_b + lane};
  }
};

/// Variants of two members of each lane's similar set, [n] each.
struct MemberPair {
  std::int32_t const* first = nullptr;
  std::int32_t const* second = nullptr;

  FL_HD MemberPair from(long lane) const { return {first + lane, second + lane}; }
};

/// Whether an input is an IDI, from its label and its group's flags.
FL_HD bool margin_hit(std::int32_t label, std::int32_t flags) {
  return (flags & kGroupMixed) != 0 && label != kUndefinedLabel;
}

/// Accumulates MarginResult over the variants of one pack.
template <Pack P>
struct MarginChoice {
  using F = typename P::F;
  using I = typename P::I;

  I first_label;
  I low;
  I high;
  F low_margin;
  F high_margin;
  I side_a;
  I side_b;
  F margin_a;
  F margin_b;
  I best_a;
  I best_b;
  I member_a;
  I member_b;
  F best_margin_a;
  F best_margin_b;

  FL_HD void clear(I a, I b) {
    I const none = P::splat_i(-1);
    F const zero = P::splat(0.0F);
    first_label = low = high = best_a = best_b = member_a = member_b = none;
    low_margin = high_margin = margin_a = margin_b = best_margin_a = best_margin_b = zero;
    side_a = a;
    side_b = b;
  }

  FL_HD void add(int variant, I label, float const* logits, int outputs, int stride,
                 float threshold) {
    I const v = P::splat_i(variant);
    I const none = P::splat_i(-1);
    auto const start = LabelSet<P>::equal(first_label, none);
    first_label = P::select_i(start, label, first_label);
    F const common = class_margin<P>(first_label, logits, outputs, stride, threshold);
    auto const lower = P::lor(start, common < low_margin);
    low = P::select_i(lower, v, low);
    low_margin = P::select(lower, common, low_margin);
    auto const higher = P::lor(start, common > high_margin);
    high = P::select_i(higher, v, high);
    high_margin = P::select(higher, common, high_margin);

    F const a = class_margin<P>(side_a, logits, outputs, stride, threshold);
    F const b = class_margin<P>(side_b, logits, outputs, stride, threshold);
    margin_a = P::select(P::lor(start, a > margin_a), a, margin_a);
    margin_b = P::select(P::lor(start, b > margin_b), b, margin_b);

    F const own = class_margin<P>(label, logits, outputs, stride, threshold);
    auto const same = LabelSet<P>::equal(label, best_a);
    auto const defined = P::lnot(LabelSet<P>::equal(label, P::splat_i(kUndefinedLabel)));
    auto const best =
        P::land(defined, P::lor(LabelSet<P>::equal(best_a, none), own > best_margin_a));
    auto const demote =
        P::land(best, P::lnot(same));  // the best so far becomes the best of another label
    auto const second = P::land(P::land(defined, P::lnot(P::lor(best, same))),
                                P::lor(LabelSet<P>::equal(best_b, none), own > best_margin_b));
    best_b = P::select_i(demote, best_a, P::select_i(second, label, best_b));
    member_b = P::select_i(demote, member_a, P::select_i(second, v, member_b));
    best_margin_b = P::select(demote, best_margin_a, P::select(second, own, best_margin_b));
    best_a = P::select_i(best, label, best_a);
    member_a = P::select_i(best, v, member_a);
    best_margin_a = P::select(best, own, best_margin_a);
  }

  FL_HD void store(int lane, MarginResult const& out) const {
    P::store_i(low, out.low + lane);
    P::store_i(high, out.high + lane);
    P::store(low_margin, out.low_margin + lane);
    P::store(margin_a, out.margin_a + lane);
    P::store(margin_b, out.margin_b + lane);
    P::store_i(best_a, out.best_a + lane);
    P::store_i(best_b, out.best_b + lane);
    P::store_i(member_a, out.member_a + lane);
    P::store_i(member_b, out.member_b + lane);
    P::store(best_margin_a, out.best_margin_a + lane);
    P::store(best_margin_b, out.best_margin_b + lane);
  }
};

/// What one lane's draws depend on.
struct LaneDraw {
  std::uint32_t seed;
  std::uint32_t iteration;
  std::uint64_t run_seed;
};

/// A random step of every attribute by up to its range, clipped: half the mass lands on the bounds,
/// where networks that are flat here still differ.
/// x  [columns], `stride` apart
FL_HD void random_step(Subject const& s, LaneDraw draw, std::int32_t* x, long stride) {
  RandomWords<ScalarPack> words{};
  for (int i = 0; i < s.movable_count; ++i) {
    if (i % 4 == 0) {
      words =
          philox<ScalarPack>(draw.seed, static_cast<std::uint32_t>(Phase::kGlobal), draw.iteration,
                             1U + static_cast<std::uint32_t>(i / 4), draw.run_seed);
    }
    int const c = s.movable[i];
    std::int32_t const range = s.high[c] - s.low[c];
    auto const offset =
        below<ScalarPack>(words.w[i % 4], 2U * static_cast<std::uint32_t>(range) + 1U);
    std::int32_t& cell = x[c * stride];
    cell = step_and_clip<ScalarPack>(cell, static_cast<std::int32_t>(offset) - range, s.low[c],
                                     s.high[c]);
  }
}

/// Newton step of the nearest member onto its decision boundary.
/// near, far  [columns] gradients of the common label's margin at the members with the least and
///            the largest margin, `gradient_stride` apart
/// margin     the least margin
/// reach      least distance that an attribute may move
/// x          [columns], `stride` apart; moves. Random where nothing can move towards the boundary.
FL_HD void newton_step(Subject const& s, LaneDraw draw, float const* near, float const* far,
                       long gradient_stride, float margin, std::int32_t reach, std::int32_t* x,
                       long stride) {
  int const count = s.movable_count;
  auto const words = philox<ScalarPack>(draw.seed, static_cast<std::uint32_t>(Phase::kGlobal),
                                        draw.iteration, 0U, draw.run_seed);
  int const start =
      static_cast<int>(below<ScalarPack>(words.w[0], static_cast<std::uint32_t>(count)));
  float rest = margin;
  bool moved = false;
  for (int pass = 0; pass < 2; ++pass) {  // first the attributes that pull near and far apart
    for (int j = 0; j < count; ++j) {
      if (moved && rest <= 0.0F) return;
      int const c = s.movable[start + j < count ? start + j : start + j - count];
      std::int32_t& cell = x[c * stride];
      float const slope = near[c * gradient_stride];
      std::int32_t const direction = -sign_of<ScalarPack>(slope);
      if (direction == 0) continue;
      std::int32_t const quarter = (s.high[c] - s.low[c]) / kReachDivisor;
      std::int32_t const longest = quarter > reach ? quarter : reach;
      std::int32_t const distance = direction > 0 ? s.high[c] - cell : cell - s.low[c];
      std::int32_t const room = distance < longest ? distance : longest;
      if (room <= 0) continue;
      float const gain = ScalarPack::abs(slope);
      float const loss = -(far[c * gradient_stride] * static_cast<float>(direction));
      bool const widening = gain >= loss;
      if (widening != (pass == 0)) continue;
      float const wanted = ScalarPack::divide(rest, gain);
      std::int32_t steps = room;
      if (wanted < static_cast<float>(room)) {
        steps = static_cast<std::int32_t>(wanted);  // truncates; round up, at least one
        if (static_cast<float>(steps) < wanted) ++steps;
        if (steps < 1) steps = 1;
      }
      cell += steps * direction;
      rest = rest - static_cast<float>(steps) * gain;
      moved = true;
    }
  }
  if (!moved) random_step(s, draw, x, stride);
}

/// A local move: which movable attribute, by how much; index -1 when nothing can move.
struct MarginMove {
  int index = -1;
  std::int32_t step = 0;
};

/// Bits of `tried` per movable attribute.
inline constexpr std::uint8_t kTriedUp = 1;
inline constexpr std::uint8_t kTriedDown = 2;

/// Whether a lane needs new gradients before its next move. stale: it has hit since the last ones;
/// misses in a row since that hit. With several classes a side may be lost by the move to another
/// IDI.
FL_HD bool margin_renewal_due(Subject const& s, bool stale, int misses, float margin_a,
                              float margin_b) {
  bool const lost = s.network.outputs() > 1 && (margin_a <= 0.0F || margin_b <= 0.0F);
  return stale && (misses == kMissesBeforeRenewal || lost);
}

/// Remembers in `tried` [movable], `stride` apart, what a move led to: a miss is not tried again
/// from here, and after a hit all moves are new but the way back.
FL_HD void note_margin_move(Subject const& s, bool hit, MarginMove move, std::uint8_t* tried,
                            long stride) {
  std::uint8_t const made = move.step > 0 ? kTriedUp : kTriedDown;
  if (hit) {
    for (int i = 0; i < s.movable_count; ++i) tried[i * stride] = 0;
    if (move.index >= 0) tried[move.index * stride] = made == kTriedUp ? kTriedDown : kTriedUp;
  } else if (move.index >= 0) {
    std::uint8_t& cell = tried[move.index * stride];
    cell = static_cast<std::uint8_t>(cell | made);
  }
}

/// State of one lane of the local phase, arrays `stride` apart.
/// x                    [columns] current IDI
/// slope_a, slope_b     [columns] gradients of the margins of sides a and b
/// tried                [movable] moves that missed here, and the way back
struct MarginLane {
  std::int32_t const* x;
  float const* slope_a;
  float const* slope_b;
  std::uint8_t* tried;
  long stride;
  float margin_a;
  float margin_b;
};

namespace detail {

/// How an attribute may be chosen for a move, the strictest rule first: predicted to stay an IDI
/// and untried, untried, inside the domain.
enum MoveRule : int { kPredicted, kUntried, kInside, kMoveRules };

/// What a rule is asked about one attribute.
struct MoveState {
  std::int32_t x;
  float slope_a;
  float slope_b;
  std::uint8_t tried;
};

/// Directions of attribute `i` that are possible under each rule.
struct PossibleMoves {
  std::uint8_t by_rule[kMoveRules];
};
FL_HD PossibleMoves possible_moves(Subject const& s, MarginLane const& lane, int i,
                                   MoveState const& at, std::int32_t step) {
  int const c = s.movable[i];
  bool const up = at.x <= s.high[c] - step;
  bool const down = at.x >= s.low[c] + step;
  int const inside = (up ? kTriedUp : 0) | (down ? kTriedDown : 0);
  float const d = static_cast<float>(step);
  float const a = d * at.slope_a;
  float const b = d * at.slope_b;
  bool const keeps_up = lane.margin_a + a > 0.0F && lane.margin_b + b > 0.0F;
  bool const keeps_down = lane.margin_a - a > 0.0F && lane.margin_b - b > 0.0F;
  int const untried = inside & ~at.tried;
  int const predicted = untried & ((keeps_up ? kTriedUp : 0) | (keeps_down ? kTriedDown : 0));
  return {{static_cast<std::uint8_t>(predicted), static_cast<std::uint8_t>(untried),
           static_cast<std::uint8_t>(inside)}};
}

/// Calls use(i, moves) for every movable attribute, ascending.
template <class Use>
FL_HD void for_each_move(Subject const& s, MarginLane const& lane, std::int32_t step,
                         Use const& use) {
  read_ahead(
      s.movable_count,
      [&](int i) {
        long const at = s.movable[i] * lane.stride;
        return MoveState{lane.x[at], lane.slope_a[at], lane.slope_b[at],
                         lane.tried[i * lane.stride]};
      },
      [&](int i, MoveState const& at) { use(i, possible_moves(s, lane, i, at, step)); });
}

}  // namespace detail

/// Draws a local move uniformly over the attributes that have one, preferring moves after which the
/// linear model still sees a member on either side of the boundary.
FL_HD MarginMove choose_margin_move(Subject const& s, MarginLane const& lane, std::int32_t step,
                                    std::uint32_t word, std::uint32_t direction_word) {
  std::uint32_t attributes[detail::kMoveRules] = {};
  detail::for_each_move(s, lane, step, [&](int, detail::PossibleMoves const& moves) {
    for (int rule = 0; rule < detail::kMoveRules; ++rule)
      attributes[rule] += moves.by_rule[rule] != 0 ? 1U : 0U;
  });
  int const rule = attributes[detail::kPredicted] > 0 ? detail::kPredicted
                   : attributes[detail::kUntried] > 0 ? detail::kUntried
                                                      : detail::kInside;
  if (attributes[rule] == 0) return {};
  std::uint32_t skip = below<ScalarPack>(word, attributes[rule]);
  MarginMove chosen;
  detail::for_each_move(s, lane, step, [&](int i, detail::PossibleMoves const& possible) {
    int const moves = possible.by_rule[rule];
    if (moves == 0 || chosen.index >= 0) return;
    if (skip > 0) {
      --skip;
      return;
    }
    std::int32_t direction = moves == kTriedUp ? 1 : -1;
    if (moves == (kTriedUp | kTriedDown)) direction = choose_direction<ScalarPack>(direction_word);
    chosen = {i, direction * step};
  });
  if (rule == detail::kInside) {
    for (int i = 0; i < s.movable_count; ++i) lane.tried[i * lane.stride] = 0;
  }
  return chosen;
}

}  // namespace fairlane
