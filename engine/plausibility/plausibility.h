// How ordinary people are beside the rows of a table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/threads/thread_pool.h"
#include "engine/plausibility/chow_liu.h"
#include "engine/plausibility/gower.h"
#include "engine/plausibility/nearest_rows.h"
#include "engine/plausibility/surprises.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

/// How ordinary a person is beside the rows of a table.
/// distance  least Gower distance to a row
/// surprise  negative log-likelihood under the table's Chow-Liu tree, nats
/// distance_percentile, surprise_percentile  per cent of the table's own rows that are as ordinary
///           or more (0 to 100); a row's own distance is to the nearest of the *other* rows
struct Plausibility {
  double distance = 0.0;
  double surprise = 0.0;
  double distance_percentile = 0.0;
  double surprise_percentile = 0.0;

  /// The worse of the two percentiles.
  double implausibility() const { return std::max(distance_percentile, surprise_percentile); }
};

/// What a table's rows look like. The order of its rows does not matter, nor do threads. Where it
/// has more than 4096 rows, percentiles of distance are those of a sample of so many, drawn evenly
/// from all in lexicographic order under a fixed seed.
class PlausibilityModel {
 public:
  /// table    rows in the domain, whose bounds are resolved
  /// threads  workers
  /// Throws Error(kData) for a table without rows, Error(kBug) for a code that may not occur.
  PlausibilityModel(Domain const& domain, Dataset const& table, int threads);

  /// rows [count][attributes] codes of the domain
  /// Throws Error(kBug) for a code that is none.
  std::vector<Plausibility> score(std::span<std::int32_t const> rows) const;
  /// Of one row [attributes], by the calling thread.
  Plausibility score_one(std::int32_t const* row) const;
  /// People drawn from the tree, each a function of its number and the seed alone:
  /// [count][attributes], codes of the domain.
  std::vector<std::int32_t> draw(std::int64_t count, std::uint64_t seed) const;
  /// Gower's.
  double distance(std::int32_t const* a, std::int32_t const* b) const {
    return gower_.distance(a, b);
  }
  std::size_t attributes() const { return attributes_; }
  ChowLiuTree const& tree() const { return tree_; }

 private:
  PlausibilityModel(Domain const& domain, DistinctRows const& rows, int threads);
  void measure_distances(DistinctRows const& rows);

  std::size_t attributes_;
  std::unique_ptr<ThreadPool> pool_;
  int threads_;
  Gower gower_;
  ChowLiuTree tree_;
  Surprises surprises_;
  NearestRows nearest_;
  std::vector<double> distances_;  // of the sample's rows to the others, ascending
};

}  // namespace fairlane
