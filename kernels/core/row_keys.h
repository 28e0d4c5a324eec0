// Keys of inputs that sort like their rows, from the backend's keys.
#pragma once

#include <cstdint>

#include "kernels/core/pack.h"

namespace fairlane {

/// Neighbouring movable attributes whose digits are neighbours in both keys: they move as one
/// digit. range: 0 for the leading run of its word, nothing above it to take off
struct RowKeyRun {
  int from_word = 0;
  std::uint64_t from_stride = 1;
  std::uint64_t range = 0;
  std::uint64_t to_stride = 1;
};

/// How row keys are made; see RowCodec, which owns what this points to.
/// runs     [first[words]] those of word w are first[w] .. first[w + 1]
/// first    [words + 1]
/// variant  [variants][words] what the selected attributes contribute
/// bits     [words] of the greatest key
struct RowKeys {
  int words = 1;
  int variants = 1;
  RowKeyRun const* runs = nullptr;
  int const* first = nullptr;
  std::uint64_t const* variant = nullptr;
  int const* bits = nullptr;

  /// Word w of the key of an input, given by the backend's group key and variant.
  FL_HD std::uint64_t word(std::uint64_t const* group, std::uint32_t of_variant, int w) const {
    std::uint64_t key = variant[static_cast<std::int64_t>(of_variant) * words + w];
    for (int r = first[w]; r < first[w + 1]; ++r) {
      RowKeyRun const& run = runs[r];
      std::uint64_t digit = group[run.from_word];
      if (run.from_stride != 1) digit /= run.from_stride;
      if (run.range != 0) digit %= run.range;
      key += digit * run.to_stride;
    }
    return key;
  }
};

}  // namespace fairlane
