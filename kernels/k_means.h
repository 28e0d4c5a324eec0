// k-means on rows of integer codes, its work over all rows done by the host or by a device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/k_means.h"

namespace fairlane {

/// Sums over the rows of each cluster. codes [clusters][attributes], rows [clusters]
struct ClusterSums {
  std::vector<std::int64_t> codes;
  std::vector<std::int64_t> rows;
};

/// Whoever goes over all rows. Nothing that it returns depends on who it is: see
/// kernels/core/k_means.h.
class KMeansWorker {
 public:
  static constexpr std::int64_t kPiece = 1024;  // rows whose weights are summed together

  virtual ~KMeansWorker() = default;
  /// Makes a row one of the first centers: every row's weight is the least to any of them. Returns
  /// the sums of weights over pieces of kPiece rows, in their order.
  virtual std::vector<std::uint64_t> add_center(std::int64_t row) = 0;
  /// Weights of one piece's rows, in their order.
  virtual std::vector<std::uint64_t> weights(std::int64_t piece) = 0;
  /// Assigns every row to its nearest center, and sums. Returns whether a row changed; all are in
  /// cluster 0 at first.
  /// centers [clusters][attributes]
  virtual bool assign(std::vector<double> const& centers, ClusterSums& sums) = 0;
  /// The row farthest from the center that it is assigned to, ties to the lowest; from now on it
  /// counts as next to it.
  virtual std::int64_t take_farthest() = 0;
  /// [rows] clusters
  virtual std::vector<std::int32_t> assignment() = 0;
};

/// The task of clustering rows in that many clusters, or one for each row where there are fewer
/// rows.
KMeansTask make_k_means_task(RowTable const& rows, int clusters);

/// Cluster of each row: k-means++ start from Philox draws, Lloyd's iterations. An empty cluster
/// takes the farthest row.
/// Source: Arthur and Vassilvitskii, SODA 2007; Lloyd 1982.
std::vector<std::int32_t> k_means(KMeansTask const& task, std::uint64_t seed, KMeansWorker& worker);

/// The same on the host.
std::vector<std::int32_t> k_means(RowTable const& rows, int clusters, std::uint64_t seed,
                                  int threads);

}  // namespace fairlane
