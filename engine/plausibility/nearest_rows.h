// The row nearest to a person.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/plausibility/distinct_rows.h"
#include "engine/plausibility/gower.h"

namespace fairlane {

/// Finds least distances to rows: a tree halves them by the attribute in which they differ most,
/// and a box that is farther than the best row so far is left out. What it finds is exactly the
/// least of Gower::distance over all rows.
/// Source: Friedman, Bentley and Finkel, ACM TOMS 3, 1977.
class NearestRows {
 public:
  /// rows are at least one.
  NearestRows(Gower gower, DistinctRows const& rows);

  /// row [attributes]
  double nearest(std::int32_t const* row) const;
  /// The same, rows that are equal to it left out; infinity where there is no other.
  double nearest_other(std::int32_t const* row) const;

 private:
  /// Rows that are compared at once, side by side: their sums fit in registers.
  static constexpr std::size_t kBlock = 32;

  /// What the rows of a node take of one attribute.
  struct Extent {
    std::int32_t low = 0;
    std::int32_t high = 0;
    std::uint64_t codes = 0;  // of a nominal one: bit (code - low of the domain) mod 64
  };
  struct Node {
    std::size_t first_block = 0;
    std::size_t blocks = 0;  // 0: it has two children
    std::array<std::size_t, 2> child = {};
  };
  /// A search for the least sum of terms.
  struct Query {
    std::int32_t const* codes = nullptr;  // [terms]
    std::int16_t const* marks = nullptr;  // [terms]
    bool leaves_out_equal = false;
    double best = 0.0;
  };
  using Order = std::vector<std::size_t>;

  std::size_t build(DistinctRows const& rows, Order& order, std::size_t first, std::size_t last);
  /// Reorders the rows of the newest node so that those of one half come first; where the other
  /// begins, or `last` where they need no halves.
  std::size_t halve(DistinctRows const& rows, Order& order, std::size_t first,
                    std::size_t last) const;
  void add_blocks(DistinctRows const& rows, Order const& order, std::size_t first,
                  std::size_t last);
  std::int16_t mark(Gower::Term const& term, std::int32_t code) const;
  double bound(std::size_t node, Query const& query) const;
  void visit(std::size_t node, Query& query) const;
  void look_through(Node const& node, Query& query) const;
  double least(std::int32_t const* row, bool leaves_out_equal) const;

  Gower gower_;
  std::vector<Node> nodes_;
  std::vector<Extent> extents_;      // [nodes][terms]
  std::vector<std::int32_t> codes_;  // [blocks][kBlock][terms], the last row repeated
  std::int16_t unit_ = 0;            // what a term of 1 is in marks
  std::vector<std::int16_t> marks_;  // [blocks][terms][kBlock], by mark()
};

}  // namespace fairlane
