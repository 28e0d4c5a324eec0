// Counter-based random numbers: every draw is a pure function of (lane, phase, iteration, draw) and
// the run's seed.
#pragma once

#include "kernels/core/pack.h"

namespace fairlane {

/// Where in a run a number is drawn; part of the counter.
enum class Phase : std::uint32_t {
  kGlobal = 0,
  kLocal = 1,
  kSeeding = 2,
  kClustering = 3,
  kData = 4,
  kSample = 5,
  kPilot = 6,
  kFrontier = 7
};

/// Four random words per lane.
template <Pack P>
struct RandomWords {
  typename P::U w[4];
};

/// Philox4x32-10. counter = (lane, phase, iteration, draw), key = the run's 64-bit seed.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
template <Pack P>
FL_HD RandomWords<P> philox(typename P::U lane, typename P::U phase, typename P::U iteration,
                            typename P::U draw, std::uint64_t seed) {
  constexpr std::uint32_t kMul0 = 0xD2511F53U;
  constexpr std::uint32_t kMul1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
  constexpr int kRounds = 10;
  auto c0 = lane;
  auto c1 = phase;
  auto c2 = iteration;
  auto c3 = draw;
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    typename P::U high0;
    typename P::U low0;
    typename P::U high1;
    typename P::U low1;
    P::mul_hi_lo(c0, P::splat_u(kMul0), high0, low0);
    P::mul_hi_lo(c2, P::splat_u(kMul1), high1, low1);
    c0 = high1 ^ c1 ^ P::splat_u(key0);
    c1 = low1;
    c2 = high0 ^ c3 ^ P::splat_u(key1);
    c3 = low0;
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform float in [0, 1) from the top 24 bits; exact.
template <Pack P>
FL_HD typename P::F unit_float(typename P::U word) {
  constexpr float kScale = 1.0F / 16777216.0F;
  return P::u_to_float(P::template shift_right_u<8>(word)) * P::splat(kScale);
}

/// Uniform integer in [0, count): the high word of the product.
template <Pack P>
FL_HD typename P::U below(typename P::U word, typename P::U count) {
  typename P::U high;
  typename P::U low;
  P::mul_hi_lo(word, count, high, low);
  return high;
}

}  // namespace fairlane
