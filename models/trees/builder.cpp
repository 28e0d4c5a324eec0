#include "models/trees/builder.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace fairlane {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::max();
constexpr float kHighest = std::numeric_limits<float>::max();

}  // namespace

float float_at_most(double value) {
  if (value >= static_cast<double>(kHighest)) return kHighest;
  if (value <= static_cast<double>(kLowest)) return kLowest;
  auto const near = static_cast<float>(value);
  return static_cast<double>(near) > value ? std::nextafter(near, kLowest) : near;
}

float float_below(float value) {
  return value > kLowest ? std::nextafter(value, -std::numeric_limits<float>::infinity()) : kLowest;
}

TreeBuilder::TreeBuilder(TreeEnsemble& ensemble, std::string where, std::size_t nodes)
    : ensemble_(ensemble), where_(std::move(where)), nodes_(nodes) {}

void TreeBuilder::set_split(std::size_t node, std::int64_t feature,
                            std::span<float const> boundaries, bool left_first, std::int64_t left,
                            std::int64_t right) {
  if (feature < 0 || feature >= ensemble_.inputs) {
    throw Error(ExitCode::kData, fmt::format("{}: node {} asks for feature {}, expected 0..{}",
                                             where_, node, feature, ensemble_.inputs - 1));
  }
  Node& to = nodes_[node];
  to.feature = static_cast<std::int32_t>(feature);
  to.left = left;
  to.right = right;
  to.first = boundaries_.size();
  to.count = boundaries.size();
  to.left_first = left_first;
  to.is_set = true;
  boundaries_.insert(boundaries_.end(), boundaries.begin(), boundaries.end());
  if (boundaries.empty()) {  // all inputs go one way: both sides lead there
    (left_first ? to.right : to.left) = left_first ? left : right;
    boundaries_.push_back(0.0F);
    to.count = 1;
  }
}

void TreeBuilder::set_leaf(std::size_t node, std::span<double const> values) {
  Node& to = nodes_[node];
  to.first = leaves_.size();
  to.is_leaf = true;
  to.is_set = true;
  leaves_.insert(leaves_.end(), values.begin(), values.end());
}

// Whether it is the first way to the child.
bool TreeBuilder::reach(std::int64_t node, std::size_t parent) {
  auto const fail = [&](std::string const& what) {
    return Error(ExitCode::kData,
                 fmt::format("{}: node {} has child {}, {}", where_, parent, node, what));
  };
  if (node < 0 || static_cast<std::size_t>(node) >= nodes_.size()) {
    throw fail(fmt::format("expected 0..{}", nodes_.size() - 1));
  }
  Node& child = nodes_[static_cast<std::size_t>(node)];
  if (!child.is_set) throw fail("which is not in the file");
  if (child.is_reached && !child.is_leaf)
    throw fail("which another node leads to, expected a tree");
  return !std::exchange(child.is_reached, true);
}

// A balanced search among the boundaries first .. last - 1; what lies between them is decided by
// their parity.
std::int32_t TreeBuilder::place_search(Node const& node, std::size_t first, std::size_t last) {
  auto const id = static_cast<std::int32_t>(ensemble_.feature.size());
  std::size_t const middle = first + (last - first) / 2;
  ensemble_.feature.push_back(node.feature);
  ensemble_.threshold.push_back(boundaries_[node.first + middle]);
  ensemble_.left.push_back(0);
  ensemble_.right.push_back(0);
  for (bool const above : {false, true}) {
    std::size_t const from = above ? middle + 1 : first;
    std::size_t const to = above ? last : middle;
    if (from < to) {
      std::int32_t const child = place_search(node, from, to);
      (above ? ensemble_.right : ensemble_.left)[static_cast<std::size_t>(id)] = child;
    } else {
      bool const goes_left = (from % 2 == 0) == node.left_first;
      links_.push_back({id, above, static_cast<std::size_t>(goes_left ? node.left : node.right)});
    }
  }
  return id;
}

std::int32_t TreeBuilder::place(Node const& node) {
  if (!node.is_leaf) return place_search(node, 0, node.count);
  auto const width = static_cast<std::ptrdiff_t>(ensemble_.width);
  auto const id =
      static_cast<std::int32_t>(ensemble_.leaves.size() / static_cast<std::size_t>(width));
  auto const from = leaves_.begin() + static_cast<std::ptrdiff_t>(node.first);
  ensemble_.leaves.insert(ensemble_.leaves.end(), from, from + width);
  return ~id;
}

void TreeBuilder::finish(int first_sum) {
  if (nodes_.empty() || !nodes_[0].is_set) {
    throw Error(ExitCode::kData,
                fmt::format("{}: has no node, expected at least one leaf", where_));
  }
  std::vector<std::size_t> waiting{0};
  nodes_[0].is_reached = true;
  while (!waiting.empty()) {
    std::size_t const at = waiting.back();
    waiting.pop_back();
    Node& node = nodes_[at];
    constexpr std::size_t kLimit = kMaxTreeNodes;
    if (ensemble_.feature.size() + node.count > kLimit || ensemble_.leaves.size() > kLimit * 2) {
      throw Error(ExitCode::kData,
                  fmt::format("{}: more than {} nodes up to here", where_, kLimit));
    }
    node.placed = place(node);
    if (node.is_leaf) continue;
    bool const is_one_way = node.left == node.right;
    if (!is_one_way && reach(node.right, at))
      waiting.push_back(static_cast<std::size_t>(node.right));
    if (reach(node.left, at)) waiting.push_back(static_cast<std::size_t>(node.left));
  }
  for (Link const& link : links_) {
    auto& children = link.right ? ensemble_.right : ensemble_.left;
    children[static_cast<std::size_t>(link.parent)] = nodes_[link.node].placed;
  }
  ensemble_.roots.push_back(nodes_[0].placed);
  ensemble_.first_sum.push_back(first_sum);
}

}  // namespace fairlane
