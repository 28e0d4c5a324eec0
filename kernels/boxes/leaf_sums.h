// Sums of trees over a table of places, to which leaves add their values.
#pragma once

#include <cstdint>

#include "kernels/core/bits.h"

namespace fairlane {

/// Leaves over a table of places, which is a product of axes.
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

/// Sums of several classes over the same places, of some tables.
/// label   [classes] bit of the class's label
/// shared  [classes][places] what is the same for all tables
/// own     [classes][tables][places]
/// lead    by which the greatest sum has to lead, or its label is not the only one; where it is 0,
///         the first of equal sums is the greatest
struct ClassSums {
  int classes = 0;
  int tables = 0;
  int places = 0;
  std::uint32_t const* label = nullptr;
  std::int32_t const* const* shared = nullptr;
  std::int32_t const* const* own = nullptr;
  std::int32_t lead = 0;
};

/// What is compiled for the instruction set of pack P.
template <class P>
struct LeafSums {
  /// Each leaf's value to all places that reach it. starts: scratch; sums [places]
  static void add(LeafTable const& t, std::int32_t* starts, std::int32_t* sums) {
    constexpr int kMostRuns = 32;  // of 64 bits
    int const last = t.axes - 1;
    for (int leaf = 0; leaf < t.leaves; ++leaf) {
      std::uint64_t const* const set = t.sets + static_cast<long>(leaf) * t.axes;
      int first[kMostRuns];
      int length[kMostRuns];
      int runs = 0;
      for (std::uint64_t left = set[last]; left != 0; ++runs) {
        first[runs] = lowest_bit(left);
        std::uint64_t const beyond = ~(left >> first[runs]);
        length[runs] = beyond == 0 ? 64 : lowest_bit(beyond);
        left &= ~(low_bits(length[runs]) << first[runs]);
      }
      std::int32_t const value = t.values[leaf];
      int const count = find_starts(t, set, starts);
      for (int i = 0; i < count; ++i) {
        for (int r = 0; r < runs; ++r) {
          std::int32_t* const run = sums + starts[i] + first[r];
          for (int k = 0; k < length[r]; ++k) run[k] += value;
        }
      }
    }
  }

  /// What is the same for `size` places side by side: from [count] to sums [count][size].
  static void spread(std::int32_t const* from, int count, int size, std::int32_t* sums) {
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < size; ++k) sums[k] += from[i];
      sums += size;
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

  /// Labels that places may have, a bit each. labels [tables][places]
  static void rank(ClassSums const& s, std::uint32_t* labels) {
    constexpr int kBlock = 64;
    std::int32_t sums[kBlock];
    std::int32_t top[kBlock];
    for (int table = 0; table < s.tables; ++table) {
      for (int first = 0; first < s.places; first += kBlock) {
        long const at = static_cast<long>(table) * s.places + first;
        int const n = s.places - first < kBlock ? s.places - first : kBlock;
        std::uint32_t* const to = labels + at;
        for (int c = 0; c < s.classes; ++c) {
          add_two(s.shared[c] + first, s.own[c] + at, n, sums);
          for (int i = 0; i < n; ++i) {
            bool const greater = c == 0 || sums[i] > top[i];
            to[i] = greater ? s.label[c] : to[i];
            top[i] = greater ? sums[i] : top[i];
          }
        }
        for (int c = 0; s.lead > 0 && c < s.classes; ++c) {
          add_two(s.shared[c] + first, s.own[c] + at, n, sums);
          for (int i = 0; i < n; ++i) to[i] |= top[i] - sums[i] < s.lead ? s.label[c] : 0U;
        }
      }
    }
  }

 private:
  static void add_two(std::int32_t const* a, std::int32_t const* b, int n, std::int32_t* sums) {
    for (int i = 0; i < n; ++i) sums[i] = a[i] + b[i];
  }

  /// Where the places of all axes but the last begin that reach a leaf. Returns how many.
  static int find_starts(LeafTable const& t, std::uint64_t const* set, std::int32_t* starts) {
    starts[0] = 0;
    int count = 1;
    int stride = t.sizes[t.axes - 1];
    for (int a = t.axes - 2; a >= 0; --a) {
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
