// How likely a person is, by a tree of the attributes that go together most.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/plausibility/code_cells.h"
#include "engine/plausibility/distinct_rows.h"
#include "models/data/domain.h"

namespace fairlane {

/// The tree-shaped distribution nearest to a table: the maximum spanning tree of the attributes'
/// mutual information, ties by their order, rooted in the first; each pair of cells counts one half
/// more than it occurs, so that every input of the domain has a likelihood. Codes that share a cell
/// are equally likely. Surprise is counted in whole steps, each attribute's rounded to the nearest,
/// so that a bound on their sum is the same wherever it is asked for.
/// Source: Chow and Liu, IEEE Transactions on Information Theory 14, 1968; Krichevsky and Trofimov,
/// the same 27, 1981, of the half.
class ChowLiuTree {
 public:
  /// Bounds are resolved; rows are in the domain, at least one. No result depends on threads.
  ChowLiuTree(Domain const& domain, DistinctRows const& rows, ThreadPool& pool, int threads);

  /// Of each attribute its parent; -1 for the first.
  std::vector<int> const& parents() const { return parents_; }
  /// Of two attributes' cells, counted with the half, in nats.
  double mutual_information(std::size_t a, std::size_t b) const {
    return information_[a * cells_.size() + b];
  }
  /// Negative log-likelihood of a row, in nats: its steps. Throws Error(kBug) for one outside the
  /// domain.
  double surprise(std::int32_t const* row) const { return steps(row) * nats_per_step(); }
  std::int32_t steps(std::int32_t const* row) const;
  /// 2^-16, more only where steps of a row might leave int32.
  double nats_per_step() const { return nats_per_step_; }
  CodeCells const& cells(std::size_t attribute) const { return cells_[attribute]; }
  /// [parent's cells][cells] steps of an attribute's cell, given its parent's.
  std::vector<std::int32_t> const& steps_of(std::size_t attribute) const {
    return conditionals_[attribute].steps;
  }
  /// The so manieth person that is drawn under a seed.
  /// row [attributes] receives codes
  void draw(std::uint64_t number, std::uint64_t seed, std::int32_t* row) const;

 private:
  /// What is known of an attribute's cell, given its parent's.
  /// surprise  [parent's cells][cells] of a code in the cell, nats
  /// steps     [parent's cells][cells] the same
  /// reach     [parent's cells][cells] likelihood of it and the cells before it
  struct Conditional {
    std::vector<double> surprise;
    std::vector<std::int32_t> steps;
    std::vector<double> reach;
  };
  void span();
  Conditional conditional(std::size_t a, std::vector<double> const& counts) const;
  void count_steps();

  std::vector<CodeCells> cells_;
  std::vector<double> information_;  // [attributes][attributes]
  std::vector<int> parents_;
  std::vector<std::size_t> order_;  // attributes, each after its parent
  std::vector<Conditional> conditionals_;
  double nats_per_step_ = 0x1p-16;
};

}  // namespace fairlane
