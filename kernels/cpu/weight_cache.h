// Weights of the local draw that a block computed lately. They depend on the input and its partner
// alone, and a search that renews them before every step comes back to the same pairs: after each
// miss, and where a bound stopped a step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace fairlane {

/// Direct-mapped: a newer pair takes an older one's place, which costs time, never a result.
class WeightCache {
 public:
  /// A pair of inputs of one group: its key and both variants.
  struct Pair {
    std::uint64_t group = 0;
    std::uint32_t variant = kNone;
    std::uint32_t partner = kNone;
    bool operator==(Pair const&) const = default;
  };

  /// rows   weights of one pair, their sum included
  /// lanes  that use it
  WeightCache(int rows, int lanes) : rows_(static_cast<std::size_t>(rows)) {
    std::size_t const room = kBytes / (sizeof(Pair) + rows_ * sizeof(float));
    std::size_t const wanted = std::bit_ceil(kPairsPerLane * static_cast<std::size_t>(lanes));
    pairs_.resize(std::bit_floor(std::clamp<std::size_t>(room, 1, wanted)));
    weights_.resize(pairs_.size() * rows_);
  }

  void clear() { std::fill(pairs_.begin(), pairs_.end(), Pair{}); }
  /// Weights [rows] of a pair, null when they are not here.
  float const* find(Pair const& pair) const {
    std::size_t const at = slot(pair);
    return pairs_[at] == pair ? &weights_[at * rows_] : nullptr;
  }
  /// Where the weights [rows] of a pair belong; find knows them from now on.
  float* put(Pair const& pair) {
    std::size_t const at = slot(pair);
    pairs_[at] = pair;
    return &weights_[at * rows_];
  }

 private:
  static constexpr std::size_t kBytes = 1 << 21;  // about a second-level cache
  static constexpr std::size_t kPairsPerLane = 32;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  std::size_t slot(Pair const& pair) const {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    std::uint64_t const members = (std::uint64_t{pair.variant} << 32) | pair.partner;
    std::uint64_t const mixed = ((pair.group * kOdd) ^ members) * kOdd;
    return (mixed >> 32) & (pairs_.size() - 1);
  }

  std::size_t rows_;
  std::vector<Pair> pairs_;
  std::vector<float> weights_;  // [pairs][rows]
};

}  // namespace fairlane
