// Sums of trees over a table of places, to which leaves add their values.
#pragma once

#include <cstdint>

#include "kernels/core/bits.h"

namespace fairlane {

/// Leaves that ask of the same outer axes: which, a bit each, and how many there are.
struct LeafGroup {
  std::uint32_t asked = 0;
  int leaves = 0;
};

/// Leaves over a table of places, which is a product of axes. Places of the last axis lie side by
/// side; those of all inner axes are a row.
/// inner   first of the inner axes
/// sizes   [axes] at most 64 each
/// group   [groups]
/// order   [leaves] their numbers, group after group
/// sets    [leaves][axes] which places of each axis reach a leaf, a bit each, some at least
/// values  [leaves]
struct LeafTable {
  int axes = 0;
  int inner = 0;
  int groups = 0;
  int const* sizes = nullptr;
  LeafGroup const* group = nullptr;
  std::int32_t const* order = nullptr;
  std::uint64_t const* sets = nullptr;
  std::int32_t const* values = nullptr;
};

inline constexpr int kMostClassSums = 32;

/// Sums of several classes, at most 32, over the same places, of some tables.
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
  /// Adds each leaf's value to all places that reach it. Leaves that ask of the same outer axes are
  /// added up over these alone first, and what they come to is spread over the others.
  /// sums [places]; scratch [4 * places]
  static void add(LeafTable const& t, std::int32_t* scratch, std::int32_t* sums) {
    constexpr int kFewLeaves = 2;  // which are added to all places at once
    std::uint32_t const all = static_cast<std::uint32_t>(low_bits(t.inner));
    int const row = places_of(t, t.inner, t.axes, ~0U);
    int const rows = places_of(t, 0, t.inner, all);
    std::int32_t* const starts = scratch;
    std::int32_t* const reached = starts + rows;
    std::int32_t* const values = reached + row;
    std::int32_t* const part = values + row;
    std::int32_t const* order = t.order;
    for (int g = 0; g < t.groups; ++g) {
      LeafGroup const& group = t.group[g];
      bool const whole = group.leaves <= kFewLeaves || group.asked == all;
      std::uint32_t const asked = whole ? all : group.asked;
      std::int32_t* const to = whole ? sums : part;
      long const size = whole ? 0 : static_cast<long>(places_of(t, 0, t.inner, asked)) * row;
      for (long i = 0; i < size; ++i) part[i] = 0;
      for (int i = 0; i < group.leaves; ++i, ++order) {
        std::uint64_t const* const set = t.sets + static_cast<long>(*order) * t.axes;
        int const places = find_places(t, set, t.inner, t.axes, ~0U, 1, reached);
        for (int k = 0; k < row; ++k) values[k] = 0;
        for (int k = 0; k < places; ++k) values[reached[k]] = t.values[*order];
        int const count = find_places(t, set, 0, t.inner, asked, row, starts);
        for (int s = 0; s < count; ++s) add_row(values, row, to + starts[s]);
      }
      if (whole) continue;
      find_rows(t, asked, row, starts);
      for (int r = 0; r < rows; ++r)
        add_row(part + starts[r], row, sums + static_cast<long>(r) * row);
    }
  }

  /// What is the same for `size` places side by side: from [count] to sums [count][size].
  static void spread(std::int32_t const* from, int count, int size, std::int32_t* sums) {
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < size; ++k) sums[k] = from[i];
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
    std::int32_t sums[kMostClassSums][kBlock];
    for (int table = 0; table < s.tables; ++table) {
      for (int first = 0; first < s.places; first += kBlock) {
        long const at = static_cast<long>(table) * s.places + first;
        int const n = s.places - first < kBlock ? s.places - first : kBlock;
        std::int32_t top[kBlock];
        for (int i = 0; i < n; ++i) top[i] = sums[0][i] = s.shared[0][first + i] + s.own[0][at + i];
        for (int c = 1; c < s.classes; ++c) {
          for (int i = 0; i < n; ++i) {
            sums[c][i] = s.shared[c][first + i] + s.own[c][at + i];
            top[i] = sums[c][i] > top[i] ? sums[c][i] : top[i];
          }
        }
        std::uint32_t set[kBlock] = {};
        for (int c = s.classes - 1; c >= 0; --c) {
          std::uint32_t const label = s.label[c];
          if (s.lead > 0) {
            for (int i = 0; i < n; ++i) set[i] |= top[i] - sums[c][i] < s.lead ? label : 0U;
          } else {
            for (int i = 0; i < n; ++i) set[i] = sums[c][i] == top[i] ? label : set[i];
          }
        }
        for (int i = 0; i < n; ++i) labels[at + i] = set[i];
      }
    }
  }

 private:
  static void add_row(std::int32_t const* __restrict from, int count, std::int32_t* __restrict to) {
    for (int i = 0; i < count; ++i) to[i] += from[i];
  }

  /// How many places axes [begin, end) have of which a bit is set.
  static int places_of(LeafTable const& t, int begin, int end, std::uint32_t axes) {
    int places = 1;
    for (int a = begin; a < end; ++a)
      if ((axes >> a & 1U) != 0) places *= t.sizes[a];
    return places;
  }

  /// Places of a table of axes [begin, end) of which a bit is set, `unit` apart, that reach a leaf.
  /// Returns how many.
  static int find_places(LeafTable const& t, std::uint64_t const* set, int begin, int end,
                         std::uint32_t axes, int unit, std::int32_t* places) {
    places[0] = 0;
    int count = 1;
    int stride = unit;
    for (int a = end - 1; a >= begin; --a) {
      if ((axes >> a & 1U) == 0) continue;
      int const before = count;
      std::int32_t const lowest = lowest_bit(set[a]) * stride;
      for (std::uint64_t left = set[a] & (set[a] - 1); left != 0; left &= left - 1) {
        std::int32_t const by = lowest_bit(left) * stride;
        for (int i = 0; i < before; ++i) places[count + i] = places[i] + by;
        count += before;
      }
      for (int i = 0; i < before; ++i) places[i] += lowest;
      stride *= t.sizes[a];
    }
    return count;
  }

  /// Where each row of the table lies in one of some outer axes alone.
  static void find_rows(LeafTable const& t, std::uint32_t axes, int row, std::int32_t* starts) {
    starts[0] = 0;
    int count = 1;
    int stride = row;
    for (int a = t.inner - 1; a >= 0; --a) {
      bool const is_asked = (axes >> a & 1U) != 0;
      int const by = is_asked ? stride : 0;
      for (int k = 1; k < t.sizes[a]; ++k)
        for (int i = 0; i < count; ++i) starts[k * count + i] = starts[i] + k * by;
      count *= t.sizes[a];
      if (is_asked) stride *= t.sizes[a];
    }
  }
};

}  // namespace fairlane
