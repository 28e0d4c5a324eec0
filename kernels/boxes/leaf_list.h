// Leaves over a table of places, by the axes that they ask of.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/boxes/leaf_sums.h"

namespace fairlane {

/// One thread's.
class LeafList {
 public:
  /// Forgets all leaves; of a table of some axes, at least one. sizes [axes] at most 64 each
  void begin(std::span<int const> sizes);
  /// set [axes] which places of each axis reach the leaf, a bit each, some at least
  void put(std::span<std::uint64_t const> set, std::int32_t value);
  /// All leaves that were put; as long as none follow.
  LeafTable view();

 private:
  std::vector<int> sizes_;
  int inner_ = 0;
  std::vector<std::uint64_t> sets_;  // [leaves][axes]
  std::vector<std::int32_t> values_;
  std::vector<std::pair<std::uint32_t, std::int32_t>> asked_;  // [leaves] axes, number
  std::vector<std::int32_t> order_;
  std::vector<LeafGroup> groups_;
};

}  // namespace fairlane
