// The decisions of an AEQUITAS local step on one lane: attribute and direction by odds that the
// search adapts, and whether the lane goes to the input that its step led to.
#pragma once

#include <cstddef>

#include "kernels/core/pack.h"

namespace fairlane {

/// What becomes of a step to an input that is no IDI. The authors' program minimises an objective
/// that is 0 at an IDI and 1 elsewhere, by scipy's basinhopping.
enum class Acceptance : std::uint8_t {
  kMetropolis,  // the authors' program: from an IDI taken with probability 1/e, else always
  kAlways,      // the paper's algorithm
  kReset,       // MAFT's port: back to the origin
};

/// Odds of a step, the same for all lanes of a round; [movable] each.
/// up_to  cumulated odds of the attributes, in parts of kAttributeOdds, which is the last entry
/// down   odds of direction -1, in parts of kDirectionOdds
struct StepOdds {
  std::int32_t const* up_to = nullptr;
  std::int32_t const* down = nullptr;
};
inline constexpr int kAttributeOddsBits = 30;
inline constexpr std::int32_t kAttributeOdds = std::int32_t{1} << kAttributeOddsBits;
inline constexpr std::int32_t kDirectionOdds = 1000;

/// Index of the drawn attribute: the first whose cumulated odds exceed the lot.
template <Pack P>
FL_HD typename P::I attribute_by_odds(std::int32_t const* up_to, int count, typename P::U word) {
  constexpr int kWordBits = 32;
  auto const lot = P::u_to_i(P::template shift_right_u<kWordBits - kAttributeOddsBits>(word));
  auto index = P::splat_i(0);
  for (int i = 0; i + 1 < count; ++i) {
    auto const before = P::less_i(lot, P::splat_i(up_to[i]));
    index = index + P::select_i(before, P::splat_i(0), P::splat_i(1));
  }
  return index;
}

/// Whether a step goes down; at either bound by a fair coin, as the authors' program has it.
/// lot  below<P>(word, kDirectionOdds)
template <Pack P>
FL_HD typename P::M goes_down(typename P::I lot, typename P::I x, std::int32_t low,
                              std::int32_t high, std::int32_t odds) {
  auto const inside = P::land(P::less_i(P::splat_i(low), x), P::less_i(x, P::splat_i(high)));
  auto const coin = P::splat_i(kDirectionOdds / 2);
  return P::less_i(lot, P::select_i(inside, P::splat_i(odds), coin));
}

/// Whether a lane goes to the input that its step led to. hit: it is an IDI; from_hit: so is the
/// one that it came from
FL_HD bool accepts_step(Acceptance acceptance, bool hit, bool from_hit, std::uint32_t word) {
  // The objective rises by 1 at temperature 1: 2^32 / e, rounded.
  constexpr std::uint32_t kOneInE = 1580030169;
  if (hit || acceptance == Acceptance::kAlways) return true;
  return acceptance == Acceptance::kMetropolis && (!from_hit || word < kOneInE);
}

/// Where a step is counted among events [movable][2][2]: by attribute, direction (down, up) and
/// outcome (miss, hit).
/// choice  2 * attribute + (1 where the step went up)
FL_HD std::int32_t event_of(std::int32_t choice, bool hit) { return 2 * choice + (hit ? 1 : 0); }
inline constexpr std::size_t kEventsPerAttribute = 4;

}  // namespace fairlane
