// Brings the trees of a file into the form of TreeEnsemble, node by node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/trees/trees.h"

namespace fairlane {

/// The greatest float32 that is not above `value`: for every float32 x, x <= value exactly when x
/// <= this.
float float_at_most(double value);
/// The greatest float32 below `value`: x < value exactly when x <= this.
float float_below(float value);

/// One tree as a file has it: numbered nodes in any order, 0 is the root; each is set once or left
/// out.
///
/// A split is a list of boundaries b0 < b1 < ...: inputs up to b0 go to one side, those above it up
/// to b1 to the other, and so on in turn. One boundary is a threshold; several are a set of
/// categories.
class TreeBuilder {
 public:
  /// where: the file and the path of the tree inside it, for messages
  TreeBuilder(TreeEnsemble& ensemble, std::string where, std::size_t nodes);

  void set_split(std::size_t node, std::int64_t feature, std::span<float const> boundaries,
                 bool left_first, std::int64_t left, std::int64_t right);
  /// values  [ensemble.width]
  void set_leaf(std::size_t node, std::span<double const> values);
  /// Appends the tree to the ensemble; its leaves add to the sums from first_sum on.
  /// Throws Error(kData) when a child is no node of the tree, or two ways lead to a node that is no
  /// leaf.
  void finish(int first_sum);

 private:
  struct Node {
    std::int32_t feature = 0;
    std::int64_t left = 0;
    std::int64_t right = 0;
    std::size_t first = 0;  // of boundaries_, or of leaves_
    std::size_t count = 0;
    bool left_first = true;
    bool is_leaf = false;
    bool is_set = false;
    bool is_reached = false;
    std::int32_t placed = 0;  // as a child of the ensemble
  };
  // A child of the ensemble that is not placed yet.
  struct Link {
    std::int32_t parent;
    bool right;
    std::size_t node;
  };

  bool reach(std::int64_t node, std::size_t parent);
  std::int32_t place(Node const& node);
  std::int32_t place_search(Node const& node, std::size_t first, std::size_t last);

  TreeEnsemble& ensemble_;
  std::string where_;
  std::vector<Node> nodes_;
  std::vector<float> boundaries_;
  std::vector<double> leaves_;
  std::vector<Link> links_;
};

}  // namespace fairlane
