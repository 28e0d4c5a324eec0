// An ensemble of trees whose nodes ask of a domain's axes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "models/trees/trees.h"

namespace fairlane {

/// The trees of an ensemble over the groups of a domain.
class BoxTrees {
 public:
  static constexpr std::int32_t kVariants = -1;
  /// Whether an input is at most a threshold.
  /// axis   of the input; kVariants: one of the attributes under test
  /// cut    of an axis with ascending entries: that many, the first ones, are
  /// meets  [entries] of any other axis, or [variants]; empty where there is a cut
  struct Condition {
    std::int32_t axis = kVariants;
    std::int32_t cut = 0;
    std::vector<std::uint8_t> meets;
  };
  /// left, right  where the condition is met, and where it is not: a node, or leaf ~c when below 0
  /// axis, cut    of the condition, in the same place; kNoCut: it has none
  struct Node {
    std::int32_t condition = 0;
    std::int32_t left = 0;
    std::int32_t right = 0;
    std::int32_t axis = 0;
    std::int32_t cut = 0;
  };
  static constexpr std::int32_t kNoCut = -1;

  /// Both outlive it.
  BoxTrees(BoxDomain const& domain, TreeEnsemble const& trees);

  BoxDomain const& domain() const { return domain_; }
  TreeEnsemble const& ensemble() const { return trees_; }
  std::vector<Condition> const& conditions() const { return conditions_; }
  Condition const& condition(std::int32_t c) const {
    return conditions_[static_cast<std::size_t>(c)];
  }
  Node const& node(std::int32_t n) const { return nodes_[static_cast<std::size_t>(n)]; }

 private:
  BoxDomain const& domain_;
  TreeEnsemble const& trees_;
  std::vector<Condition> conditions_;
  std::vector<Node> nodes_;
};

}  // namespace fairlane
