// A walk over part of a domain: which groups there are, how they are numbered, and what is counted
// on the way.
//
// A walk's groups are the combinations of its factors, numbered in mixed radix, the last factor
// fastest. A kernel takes one *head* per lane, a combination of the factors before the tail, and
// visits all its *members*: the combinations of the tail's levels, which are the remaining columns,
// the selected ones among them, in kernel order. So neighbouring members share the first layer's
// sums over all columns but the last few. Group number = head * groups + tail group.
#pragma once

#include "kernels/core/labels.h"

namespace fairlane {

/// Columns that move together through a list of values.
/// column  [columns] in kernel order
/// value   [size][columns] codes as kernels have them
struct WalkFactor {
  int columns = 0;
  int const* column = nullptr;
  std::int64_t size = 0;
  std::int32_t const* value = nullptr;
};

/// A column of the tail and its values.
/// stride  members for which it keeps a value
/// first   its first input, of `width`
/// value   [size][width] inputs; null where a head has its own
/// code    [size] codes of the values, as kernels have them; null with them
struct WalkLevel {
  int size = 0;
  int stride = 0;
  int first = 0;
  int width = 1;
  float const* value = nullptr;
  std::int32_t const* code = nullptr;
};

/// A proper subset of the selected attributes: it parts a group into classes of members that differ
/// in it alone.
/// member  [classes][class_size] variants
struct WalkSubset {
  int classes = 0;
  int class_size = 0;
  int const* member = nullptr;
};

/// factor         [factors] of the heads, the last fastest
/// heads          their combinations
/// first          column at which the tail begins, and its first input
/// level          [columns - first] the last one fastest
/// members        combinations of the levels
/// groups         groups of one head: members / variants
/// group_member   [groups] member that has the tail group's values and the first variant's
/// variant_member [variants] by how many members a variant is further
/// subset         [subsets]
/// counts_pairs   whether CountLayout has pairs
struct Walk {
  int factors = 0;
  WalkFactor const* factor = nullptr;
  std::int64_t heads = 0;
  int first = 0;
  int first_input = 0;
  WalkLevel const* level = nullptr;
  int members = 0;
  int groups = 0;
  int const* group_member = nullptr;
  int const* variant_member = nullptr;
  int subsets = 0;
  WalkSubset const* subset = nullptr;
  bool counts_pairs = false;
};

inline constexpr int kSeverityBins = 20;

/// Where in an array of counters what is counted; all are sums over groups.
/// groups     discriminatory ones: two members have different defined labels
/// instances  IDIs: members of such groups with a defined label
/// unknown    groups that are not discriminatory as far as is known, but have a member whose output
///            is not finite; where constraints exclude inputs: groups none of whose members exist
/// positive   [variants] members of that variant with a defined label other than 0
/// undefined  [variants] members of that variant whose output is not finite, or that do not exist
/// severity   [kSeverityBins] discriminatory groups whose severity is at least bin / kSeverityBins
/// subset     [subsets][2] discriminatory classes of a subset, and the IDIs in them
/// pair       [variants][variants] groups where the first variant's label is greater than the
///            second's
struct CountLayout {
  static constexpr int kGroups = 0;
  static constexpr int kInstances = 1;
  static constexpr int kUnknown = 2;
  static constexpr int kPositive = 3;
  int variants = 0;
  int subsets = 0;
  bool pairs = false;

  FL_HD int positive(int v) const { return kPositive + v; }
  FL_HD int undefined(int v) const { return kPositive + variants + v; }
  FL_HD int severity(int bin) const { return kPositive + 2 * variants + bin; }
  FL_HD int subset(int i) const { return severity(kSeverityBins) + 2 * i; }
  FL_HD int pair(int v, int w) const { return subset(subsets) + v * variants + w; }
  FL_HD int size() const { return pairs ? pair(variants, 0) : subset(subsets); }
};

FL_HD CountLayout count_layout(Subject const& s, Walk const& w) {
  return {s.variants, w.subsets, w.counts_pairs};
}

/// Heads whose bits a word has, and words for so many.
inline constexpr int kHeadsPerWord = 64;
inline std::int64_t head_words(std::int64_t heads) {
  return (heads + kHeadsPerWord - 1) / kHeadsPerWord;
}

/// Bits of a label, and words per variant that the tally works with: a bit each, and whether the
/// label is defined.
FL_HD int label_planes(int outputs) {
  int planes = 1;
  while ((1 << planes) < outputs) ++planes;
  return planes;
}
inline constexpr int kMostPlanes = 8;  // kMaxOutputs

/// a / b, both at least 0. Of numbers below 2^32 it takes a fraction of the time.
FL_HD std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

/// Columns of heads [head, head + n), as floats or codes: in [columns][stride], the tail's columns
/// left alone.
template <class T>
FL_HD void load_heads(Walk const& w, std::int64_t head, int n, long stride, T* in) {
  for (int i = 0; i < n; ++i) {
    std::int64_t rest = head + i;
    for (int f = w.factors - 1; f >= 0; --f) {
      WalkFactor const& factor = w.factor[f];
      std::int64_t const above = quotient(rest, factor.size);
      std::int64_t const digit = rest - above * factor.size;
      std::int32_t const* value = factor.value + digit * factor.columns;
      for (int c = 0; c < factor.columns; ++c)
        in[factor.column[c] * stride + i] = static_cast<T>(value[c]);
      rest = above;
      if (digit == 0 || i == 0) continue;
      for (int g = 0; g < f; ++g) {  // as the head before
        for (int c = 0; c < w.factor[g].columns; ++c) {
          T* const x = in + w.factor[g].column[c] * stride + i;
          x[0] = x[-1];
        }
      }
      break;
    }
  }
}

}  // namespace fairlane
