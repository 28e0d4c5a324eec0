// The heads of a walk as a tree of boxes, in which whole subtrees can be skipped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "kernels/boxes/relaxation.h"
#include "kernels/core/views.h"
#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// Consecutive heads: the lists before `list` have one entry each, `list` has `entries` of its own,
/// the others all of theirs.
/// first  lowest head
struct WalkNode {
  int list = 0;
  std::int64_t first = 0;
  std::int64_t entries = 1;
  friend bool operator==(WalkNode const&, WalkNode const&) = default;
};

/// Halves the entries of one list after the other, the first list's first; a leaf is a single head.
class WalkTree {
 public:
  /// plan  outlives it; view: the subject that is walked
  WalkTree(WalkPlan const& plan, SubjectView const& view);

  WalkNode root() const;
  std::int64_t heads(WalkNode const& node) const {
    return node.entries * stride_[static_cast<std::size_t>(node.list)];
  }
  /// The node's halves, in order; false for a leaf.
  bool split(WalkNode const& node, WalkNode& low, WalkNode& high) const;
  /// Entries of each list that a node's groups have.
  std::vector<AxisRange> entries(WalkNode const& node) const;
  /// A box with all of the network's inputs for a node's groups: box [inputs], in the network's
  /// order.
  void box(WalkNode const& node, std::vector<Interval>& box) const;

 private:
  /// Lists of which a node has but some entries.
  std::size_t narrowed(WalkNode const& node) const {
    return std::min(static_cast<std::size_t>(node.list) + 1, plan_.head_lists());
  }
  /// Sets an attribute's inputs in a box from the codes that it takes, ascending.
  void enclose(std::size_t attribute, std::vector<std::int32_t> const& codes,
               std::vector<Interval>& box) const;
  /// Whether an attribute's inputs lie between those of its least and its greatest code.
  bool ends_suffice(std::size_t attribute) const;
  /// Narrows a box to the values of a list's entries [first, last).
  void add_entries(std::size_t list, std::int64_t first, std::int64_t last,
                   std::vector<Interval>& box) const;

  WalkPlan const& plan_;
  std::vector<std::int64_t> stride_;  // [lists of the heads, at least 1] heads per entry
  std::vector<std::size_t> first_;    // [attributes] first input
  std::vector<EncodingKind> kind_;    // [attributes]
  std::vector<Interval> whole_;       // [inputs] the root's box
};

/// Nodes by size: level i holds those of 2^i heads to less than twice as many. A set of levels is a
/// mask of bits.
using LevelSet = std::uint64_t;
int level_of(std::int64_t heads);

}  // namespace fairlane
