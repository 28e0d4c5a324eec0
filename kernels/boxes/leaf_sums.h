// Sums of trees over a table: each leaf adds its value to all places that reach it.
#pragma once

#include <cstdint>

#include "kernels/core/bits.h"

namespace fairlane {

/// Leaves of trees over a table of places, which is a product of axes.
/// sizes   [axes] at most 64 each; places of the last axis lie side by side
/// sets    [leaves][axes] which places of each axis reach a leaf, a bit each, some at least
/// values  [leaves]
struct LeafTable {
  int axes = 0;
  int leaves = 0;
  int const* sizes = nullptr;
  std::uint64_t const* sets = nullptr;
  std::int32_t const* values = nullptr;
};

/// What is compiled for the instruction set of pack P.
template <class P>
struct LeafSums {
  static constexpr int kMostRuns = 32;  // of 64 bits

  /// sums [places] += each leaf's value. starts: scratch [places]
  static void add(LeafTable const& t, std::int32_t* starts, std::int32_t* sums) {
    for (int leaf = 0; leaf < t.leaves; ++leaf) {
      std::uint64_t const* const set = t.sets + static_cast<long>(leaf) * t.axes;
      // Axes that a leaf takes whole are one with the next.
      int block = 1;
      int a = t.axes - 1;
      for (; a >= 0 && set[a] == low_bits(t.sizes[a]); --a) block *= t.sizes[a];
      if (a < 0) {
        add_run(t.values[leaf], block, sums);
        continue;
      }
      int first[kMostRuns];
      int length[kMostRuns];
      int runs = 0;
      for (std::uint64_t left = set[a]; left != 0; ++runs) {
        int const begin = lowest_bit(left);
        std::uint64_t const beyond = ~(left >> begin);
        int const count = beyond == 0 ? 64 : lowest_bit(beyond);
        first[runs] = begin * block;
        length[runs] = count * block;
        left &= ~(low_bits(count) << begin);
      }
      int const places = find_starts(t, set, a, block * t.sizes[a], starts);
      for (int i = 0; i < places; ++i) {
        for (int r = 0; r < runs; ++r)
          add_run(t.values[leaf], length[r], sums + starts[i] + first[r]);
      }
    }
  }

  /// The least and the greatest sum [places] of some tables: shared [places] and own
  /// [tables][places] together.
  static void span(std::int32_t const* shared, std::int32_t const* own, int tables, int places,
                   std::int32_t* least, std::int32_t* most) {
    for (int i = 0; i < places; ++i) least[i] = most[i] = own[i];
    for (int v = 1; v < tables; ++v) {
      own += places;
      for (int i = 0; i < places; ++i) {
        least[i] = own[i] < least[i] ? own[i] : least[i];
        most[i] = own[i] > most[i] ? own[i] : most[i];
      }
    }
    for (int i = 0; i < places; ++i) {
      least[i] += shared[i];
      most[i] += shared[i];
    }
  }

 private:
  static void add_run(std::int32_t value, int count, std::int32_t* sums) {
    for (int i = 0; i < count; ++i) sums[i] += value;
  }

  /// Where the places of axes [0, axes) begin that reach a leaf. Returns how many.
  /// stride  from one place of the last of them to the next
  static int find_starts(LeafTable const& t, std::uint64_t const* set, int axes, int stride,
                         std::int32_t* starts) {
    starts[0] = 0;
    int count = 1;
    for (int a = axes - 1; a >= 0; --a) {
      int const before = count;
      std::int32_t const lowest = lowest_bit(set[a]) * stride;
      for (std::uint64_t left = set[a] & (set[a] - 1); left != 0; left &= left - 1) {
        std::int32_t const by = lowest_bit(left) * stride;
        for (int i = 0; i < before; ++i) starts[count + i] = starts[i] + by;
        count += before;
      }
      for (int i = 0; i < before; ++i) starts[i] += lowest;
      stride *= t.sizes[a];
    }
    return count;
  }
};

}  // namespace fairlane
