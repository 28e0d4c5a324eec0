// The kernels of k-means; an index is a row. See KMeansWorker, whose steps they are.
#pragma once

#include <cstring>

#include "kernels/core/k_means.h"
#include "kernels/device/atomics.h"

namespace fairlane {

/// Lowers every row's weight to that of its distance to `center`, and adds the weights of each
/// piece of rows up.
/// first  of all centers: there are no weights yet
/// piece  rows of a piece
/// weight [rows], sums [pieces]
struct LowerWeights {
  KMeansTask task;
  std::int64_t center;
  bool first;
  std::int64_t piece;
  std::uint64_t* weight;
  std::uint64_t* sums;

  FL_HD void operator()(std::int64_t i) const {
    std::uint64_t const now = row_weight(task, i, center);
    if (first || now < weight[i]) weight[i] = now;
    atomic_count(sums + i / piece, weight[i]);
  }
};

/// Assigns every row to its nearest center, and adds the rows of each cluster up.
/// centers  [clusters][attributes]; distance, cluster [rows]
/// sums     [copies][clusters * (attributes + 1) + 1] codes and numbers of rows, to be added up
///          over the copies: one would be a queue; the last word: whether a row changed
struct AssignRows {
  KMeansTask task;
  double const* centers;
  double* distance;
  std::int32_t* cluster;
  std::uint64_t* sums;
  int copies;

  static FL_HD std::int64_t words(KMeansTask const& task) {
    return std::int64_t{task.clusters} * (task.rows.attributes + 1) + 1;
  }

  FL_HD void operator()(std::int64_t i) const {
    auto const nearest = nearest_center(task, i, centers);
    distance[i] = nearest.distance;
    std::uint64_t* const sum = sums + i % copies * words(task);
    int const width = task.rows.attributes;
    for (int a = 0; a < width; ++a) {
      atomic_count(sum + std::int64_t{nearest.cluster} * width + a,
                   static_cast<std::uint64_t>(std::int64_t{task.rows.row(i)[a]}));
    }
    atomic_count(sum + std::int64_t{task.clusters} * width + nearest.cluster, 1);
    if (cluster[i] == nearest.cluster) return;
    cluster[i] = nearest.cluster;
    atomic_raise(sum + words(task) - 1, 1);
  }
};

/// The largest distance, as bits, which have the order of numbers that are not negative. found [2],
/// zero at first
struct RaiseFarthest {
  double const* distance;
  std::uint64_t* found;

  FL_HD void operator()(std::int64_t i) const { atomic_raise(found, bits(i)); }
  FL_HD std::uint64_t bits(std::int64_t i) const {
    std::uint64_t word = 0;
    memcpy(&word, distance + i, sizeof word);
    return word;
  }
};

/// After it: the complement of the lowest row at that distance, in the second word.
struct NameFarthest {
  RaiseFarthest farthest;

  FL_HD void operator()(std::int64_t i) const {
    if (farthest.bits(i) == farthest.found[0])
      atomic_raise(farthest.found + 1, ~static_cast<std::uint64_t>(i));
  }
};

}  // namespace fairlane
