// From an input's path in a decision tree to the next inputs: negated predicates, solved as boxes
// of integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/search/symbolic/decision_tree.h"

namespace fairlane {

/// Values that an attribute may take; none where low > high.
struct CodeRange {
  std::int32_t low = 0;
  std::int32_t high = 0;

  bool empty() const { return low > high; }
  bool operator==(CodeRange const&) const = default;
};

/// The codes that an attribute may take, ascending; empty: all within its bounds.
using CodeList = std::span<std::int32_t const>;

/// Where predicates are solved.
/// domain   [attributes] bounds
/// movable  [attributes] 1 where the search may change the value
/// codes    [attributes], or empty where every attribute takes all codes within its bounds
struct ToggleSpace {
  std::vector<CodeRange> domain;
  std::vector<std::uint8_t> movable;
  std::vector<CodeList> codes = {};
};

/// A conjunction of predicates in canonical form: attribute, low, high of each attribute that it
/// bounds, ascending. Nothing where no input fulfils it.
std::optional<std::vector<std::int32_t>> canonical_box(std::span<Predicate const> predicates,
                                                       std::vector<CodeRange> const& domain,
                                                       std::span<CodeList const> codes = {});

/// Moves a row into the predicates' box, attribute by attribute. sticky: to the nearest value;
/// otherwise to the lowest value of every attribute that they bound. False where no value fulfils
/// them.
bool solve(std::span<Predicate const> predicates, std::vector<CodeRange> const& domain,
           ToggleSolver solver, std::span<std::int32_t> row, std::span<CodeList const> codes = {});

/// A path with a predicate negated, and an input on it.
/// rank  place in the queue, least first
/// box   canonical_box of the path
/// row   [attributes] the input; empty where the path has none
struct Toggle {
  double rank = 0.0;
  bool directed = false;
  std::vector<std::int32_t> box;
  std::vector<std::int32_t> row;
};

/// Ranks of the queue: directed tests, then seeds, then undirected ones; within their kind directed
/// tests in the configured order, undirected ones with much confidence first.
inline constexpr double kDirectedRank =
    1.0;  // + average confidence, or share of the path from the predicate on
inline constexpr double kSeedRank = 5.0;
inline constexpr double kUndirectedRank = 10.0;  // - average confidence

/// Everything that the path of a tested input leads to, in the authors' order.
/// path      of the input in its tree
/// row       [attributes] the input
/// directed  also negate single predicates of the whole path: the input is an IDI
/// Source: Aggarwal et al., "Black box fairness testing of machine learning models", FSE 2019,
/// algorithms 1 and 2, with the ranks of Zhang et al.'s program (ICSE 2020), which keeps only the
/// toggled attribute's part of a directed path. The order from the leaf is ours: there the fewest
/// neighbours share the predicate, and its negation leads the least away from the IDI's path.
std::vector<Toggle> toggles(std::span<Predicate const> path, std::span<std::int32_t const> row,
                            bool directed, ToggleSpace const& space, SymbolicConfig const& config);

}  // namespace fairlane
