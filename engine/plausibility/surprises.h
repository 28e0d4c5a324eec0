// How surprising the rows of a table are, and what may be said of an input beside them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/plausibility/chow_liu.h"
#include "engine/plausibility/distinct_rows.h"

namespace fairlane {

/// Surprises of a table's rows under its own tree.
class Surprises {
 public:
  /// rows  the tree's, at least one
  Surprises(ChowLiuTree const& tree, DistinctRows const& rows, ThreadPool& pool, int threads);

  /// Per cent of the table's rows whose surprise is not above this one.
  double percentile(double surprise) const;
  /// The greatest number of the tree's steps at which an input's percentile is at most that; of 100
  /// the greatest there is.
  std::int32_t most_steps(double percentile) const;

 private:
  struct Level {
    std::int32_t steps = 0;
    std::int64_t rows = 0;  // up to here
  };
  double percentile_of(Level const& level) const {
    return 100.0 * static_cast<double>(level.rows) / static_cast<double>(levels_.back().rows);
  }

  double nats_per_step_;
  std::vector<Level> levels_;  // distinct surprises, ascending
};

}  // namespace fairlane
