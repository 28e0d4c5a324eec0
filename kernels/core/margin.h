// The margin method's decisions: which members of a similar set lie nearest to and farthest from
// the decision boundary, a Newton step on the integer lattice towards it, and local moves that keep
// one member on either side.
//
// Source: Fairlane. The all-attribute sign step of ADF and EIDIG overshoots: every member crosses
// the boundary together. This step moves as few attributes as the linear model asks for, first
// those that pull the members apart, and stops where the nearest member is predicted to cross.
#pragma once

#include "kernels/core/bits.h"
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

/// Moves up and down that are possible or tried, a bit for each of 32 movable attributes.
struct MoveBits {
  std::uint32_t up = 0;
  std::uint32_t down = 0;

  FL_HD std::uint32_t either() const { return up | down; }
};
inline constexpr int kMoveBits = 32;

/// MoveBits of a lane: words of `up`, and behind them as many of `down`.
FL_HD int move_words(Subject const& s) { return (s.movable_count + kMoveBits - 1) / kMoveBits; }

/// Whether a lane needs new gradients before its next move. stale: it has hit since the last ones;
/// misses in a row since that hit. With several classes a side may be lost by the move to another
/// IDI.
FL_HD bool margin_renewal_due(Subject const& s, bool stale, int misses, float margin_a,
                              float margin_b) {
  bool const lost = s.network.outputs() > 1 && (margin_a <= 0.0F || margin_b <= 0.0F);
  return stale && (misses == kMissesBeforeRenewal || lost);
}

/// Remembers in `tried` what a move led to: a miss is not tried again from here, and after a hit
/// all moves are new but the way back.
/// tried  [2 * move_words], `stride` apart
FL_HD void note_margin_move(Subject const& s, bool hit, MarginMove move, std::uint32_t* tried,
                            long stride) {
  int const words = move_words(s);
  std::uint32_t const bit = move.index >= 0 ? 1U << move.index % kMoveBits : 0U;
  bool const up = (move.step > 0) != hit;  // what is tried now: the move, or the way back
  int const at = (up ? 0 : words) + (move.index >= 0 ? move.index / kMoveBits : 0);
  if (hit) {
    for (int w = 0; w < 2 * words; ++w) tried[w * stride] = w == at ? bit : 0U;
  } else if (bit != 0) {
    tried[at * stride] |= bit;
  }
}

/// State of one lane of the local phase, arrays `stride` apart.
/// x                    [columns] current IDI
/// slope_a, slope_b     [columns] gradients of the margins of sides a and b
/// tried                [2 * move_words] moves that missed here, and the way back
struct MarginLane {
  std::int32_t const* x;
  float const* slope_a;
  float const* slope_b;
  std::uint32_t* tried;
  long stride;
  float margin_a;
  float margin_b;
};

namespace detail {

/// Moves under the rules by which they are chosen, the strictest first: predicted to stay an IDI
/// and untried, untried, inside the domain.
struct PossibleMoves {
  MoveBits predicted;
  MoveBits untried;
  MoveBits inside;
};

/// Those of attributes [first, first + kMoveBits).
FL_HD PossibleMoves possible_moves(Subject const& s, MarginLane const& lane, std::int32_t step,
                                   int first) {
  struct At {
    std::int32_t x;
    float slope_a;
    float slope_b;
  };
  int const word = first / kMoveBits;
  MoveBits const tried{lane.tried[word * lane.stride],
                       lane.tried[(move_words(s) + word) * lane.stride]};
  MoveBits inside;
  MoveBits keeps;  // a member on either side, says the linear model
  float const d = static_cast<float>(step);
  int const rest = s.movable_count - first;
  read_ahead(
      rest < kMoveBits ? rest : kMoveBits,
      [&](int i) {
        long const at = s.movable[first + i] * lane.stride;
        return At{lane.x[at], lane.slope_a[at], lane.slope_b[at]};
      },
      [&](int i, At const& at) {
        int const c = s.movable[first + i];
        std::uint32_t const bit = 1U << i;
        float const a = d * at.slope_a;
        float const b = d * at.slope_b;
        if (at.x <= s.high[c] - step) inside.up |= bit;
        if (at.x >= s.low[c] + step) inside.down |= bit;
        if (lane.margin_a + a > 0.0F && lane.margin_b + b > 0.0F) keeps.up |= bit;
        if (lane.margin_a - a > 0.0F && lane.margin_b - b > 0.0F) keeps.down |= bit;
      });
  MoveBits const untried{inside.up & ~tried.up, inside.down & ~tried.down};
  return {{untried.up & keeps.up, untried.down & keeps.down}, untried, inside};
}

}  // namespace detail

/// Draws a local move uniformly over the attributes that have one, preferring moves after which the
/// linear model still sees a member on either side of the boundary.
FL_HD MarginMove choose_margin_move(Subject const& s, MarginLane const& lane, std::int32_t step,
                                    std::uint32_t word, std::uint32_t direction_word) {
  detail::PossibleMoves possible;
  std::uint32_t predicted = 0;  // attributes that have such a move
  std::uint32_t untried = 0;
  std::uint32_t inside = 0;
  for (int first = 0; first < s.movable_count; first += kMoveBits) {
    possible = detail::possible_moves(s, lane, step, first);
    predicted += pop_count(possible.predicted.either());
    untried += pop_count(possible.untried.either());
    inside += pop_count(possible.inside.either());
  }
  std::uint32_t const attributes = predicted > 0 ? predicted : untried > 0 ? untried : inside;
  if (attributes == 0) return {};
  std::uint32_t skip = below<ScalarPack>(word, attributes);
  MoveBits moves;
  int first = 0;
  for (;; first += kMoveBits) {  // to the word of the one that is drawn
    if (s.movable_count > kMoveBits) possible = detail::possible_moves(s, lane, step, first);
    moves = predicted > 0 ? possible.predicted : untried > 0 ? possible.untried : possible.inside;
    std::uint32_t const here = pop_count(moves.either());
    if (skip < here) break;
    skip -= here;
  }
  std::uint32_t left = moves.either();
  for (; skip > 0; --skip) left &= left - 1;
  std::uint32_t const bit = left & (0U - left);
  std::int32_t direction = (moves.up & bit) != 0 ? 1 : -1;
  if ((moves.up & moves.down & bit) != 0) direction = choose_direction<ScalarPack>(direction_word);
  if (predicted == 0 && untried == 0) {
    for (int w = 0; w < 2 * move_words(s); ++w) lane.tried[w * lane.stride] = 0;
  }
  return {first + lowest_bit(bit), direction * step};
}

}  // namespace fairlane
