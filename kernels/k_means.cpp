#include "kernels/k_means.h"

#include <algorithm>
#include <numeric>

#include "base/threads/thread_pool.h"
#include "kernels/core/philox.h"

namespace fairlane {

namespace {

constexpr int kMaxRounds = 100;

/// Uniform double in [0, 1) with 53 bits.
double unit_draw(std::uint32_t index, std::uint64_t seed) {
  auto const words =
      philox<ScalarPack>(index, static_cast<std::uint32_t>(Phase::kClustering), 0, 0, seed);
  std::uint64_t const bits = (static_cast<std::uint64_t>(words.w[0]) << 21) ^ (words.w[1] >> 11);
  return static_cast<double>(bits & ((1ULL << 53) - 1)) * 0x1p-53;
}

/// First place at which the running sum, from `before` on, exceeds the target; values.size() where
/// it never does.
std::size_t place_beyond(std::vector<std::uint64_t> const& values, double target,
                         std::uint64_t& before) {
  std::size_t at = 0;
  while (at < values.size() && static_cast<double>(before + values[at]) <= target)
    before += values[at++];
  return at;
}

/// A row drawn with probability proportional to its weight. sums: as KMeansWorker::add_center
std::int64_t draw_row(KMeansTask const& task, std::vector<std::uint64_t> const& sums, double draw,
                      KMeansWorker& worker) {
  auto const total = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  double const target = draw * static_cast<double>(total);
  std::uint64_t before = 0;
  auto const piece = place_beyond(sums, target, before);
  if (piece == sums.size()) return task.rows.count - 1;  // all rows are centers already
  auto const first = static_cast<std::int64_t>(piece) * KMeansWorker::kPiece;
  return first + static_cast<std::int64_t>(place_beyond(
                     worker.weights(static_cast<std::int64_t>(piece)), target, before));
}

/// KMeansWorker by threads of the host.
class HostWorker final : public KMeansWorker {
 public:
  HostWorker(KMeansTask const& task, int threads)
      : task_(task),
        threads_(threads),
        weight_(static_cast<std::size_t>(task.rows.count),
                std::numeric_limits<std::uint64_t>::max()),
        distance_(weight_.size()),
        cluster_(weight_.size(), 0) {}

  std::vector<std::uint64_t> add_center(std::int64_t row) override {
    std::vector<std::uint64_t> sums(
        static_cast<std::size_t>((task_.rows.count + kPiece - 1) / kPiece));
    for_parts(threads_for(1), [&](int, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        auto& weight = weight_[static_cast<std::size_t>(i)];
        weight = std::min(weight, row_weight(task_, i, row));
        sums[static_cast<std::size_t>(i / kPiece)] += weight;
      }
    });
    return sums;
  }

  std::vector<std::uint64_t> weights(std::int64_t piece) override {
    auto const first = weight_.begin() + piece * kPiece;
    return {first, first + std::min(kPiece, weight_.end() - first)};
  }

  bool assign(std::vector<double> const& centers, ClusterSums& sums) override {
    int const threads = threads_for(task_.clusters);
    std::vector<ClusterSums> part(static_cast<std::size_t>(threads), sums);
    std::vector<std::uint8_t> changed(part.size(), 0);
    for_parts(threads, [&](int thread, std::int64_t first, std::int64_t last) {
      auto const at = static_cast<std::size_t>(thread);
      changed[at] = assign_part(centers, first, last, part[at]) ? 1 : 0;
    });
    std::fill(sums.codes.begin(), sums.codes.end(), 0);
    std::fill(sums.rows.begin(), sums.rows.end(), 0);
    for (auto const& p : part) {
      for (std::size_t i = 0; i < sums.codes.size(); ++i) sums.codes[i] += p.codes[i];
      for (std::size_t i = 0; i < sums.rows.size(); ++i) sums.rows[i] += p.rows[i];
    }
    return std::find(changed.begin(), changed.end(), 1) != changed.end();
  }

  std::int64_t take_farthest() override {
    auto const at = std::max_element(distance_.begin(), distance_.end());
    *at = 0.0;
    return at - distance_.begin();
  }

  std::vector<std::int32_t> assignment() override { return cluster_; }

 private:
  /// Threads worth waking to measure every row's distance to that many centers.
  int threads_for(int centers) const {
    constexpr std::int64_t kWorthAThread =
        1 << 18;  // squares; with fewer, waking it takes longer than it saves
    std::int64_t const squares = task_.rows.count * task_.rows.attributes * centers;
    return static_cast<int>(std::clamp<std::int64_t>(squares / kWorthAThread, 1, threads_));
  }

  /// Calls work(thread, first row, end) for parts of the rows, whole pieces each, one on every
  /// thread.
  template <class Work>
  void for_parts(int threads, Work const& work) {
    std::int64_t const pieces = (task_.rows.count + kPiece - 1) / kPiece;
    pool_.split(threads, pieces, [&](int thread, std::int64_t begin, std::int64_t end) {
      work(thread, begin * kPiece, std::min(end * kPiece, task_.rows.count));
    });
  }

  bool assign_part(std::vector<double> const& centers, std::int64_t first, std::int64_t last,
                   ClusterSums& sums) {
    auto const width = static_cast<std::size_t>(task_.rows.attributes);
    std::fill(sums.codes.begin(), sums.codes.end(), 0);
    std::fill(sums.rows.begin(), sums.rows.end(), 0);
    bool changed = false;
    for (std::int64_t i = first; i < last; ++i) {
      auto const nearest = nearest_center(task_, i, centers.data());
      auto const at = static_cast<std::size_t>(i);
      changed = changed || cluster_[at] != nearest.cluster;
      cluster_[at] = nearest.cluster;
      distance_[at] = nearest.distance;
      auto const c = static_cast<std::size_t>(nearest.cluster);
      ++sums.rows[c];
      for (std::size_t a = 0; a < width; ++a) sums.codes[c * width + a] += task_.rows.row(i)[a];
    }
    return changed;
  }

  KMeansTask task_;
  int threads_;  // at most
  ThreadPool pool_;
  std::vector<std::uint64_t> weight_;
  std::vector<double> distance_;
  std::vector<std::int32_t> cluster_;
};

}  // namespace

KMeansTask make_k_means_task(RowTable const& rows, int clusters) {
  KMeansTask task{rows, static_cast<int>(std::min<std::int64_t>(clusters, rows.count)), 0};
  double most = 0.0;  // weight that a row can have
  for (int a = 0; a < rows.attributes && rows.count > 0; ++a) {
    std::int32_t low = rows.codes[a];
    std::int32_t high = low;
    for (std::int64_t i = 1; i < rows.count; ++i) {
      low = std::min(low, rows.row(i)[a]);
      high = std::max(high, rows.row(i)[a]);
    }
    double const range = static_cast<double>(high) - low;
    most += range * range;
  }
  constexpr double kRoom = 0x1p63;
  for (double sum = most * static_cast<double>(rows.count); sum >= kRoom; sum /= 2.0)
    ++task.weight_shift;
  return task;
}

std::vector<std::int32_t> k_means(KMeansTask const& task, std::uint64_t seed,
                                  KMeansWorker& worker) {
  auto const width = static_cast<std::size_t>(task.rows.attributes);
  auto const k = static_cast<std::size_t>(task.clusters);
  std::vector<double> centers(k * width);
  auto const set_center = [&](std::size_t c, std::int64_t row) {
    std::copy_n(task.rows.row(row), width,
                centers.begin() + static_cast<std::ptrdiff_t>(c * width));
  };

  // k-means++: each next center is a row drawn with probability proportional to its squared
  // distance.
  std::vector<std::uint64_t> sums_of_weights;
  for (std::size_t c = 0; c < k; ++c) {
    double const draw = unit_draw(static_cast<std::uint32_t>(c), seed);
    std::int64_t const row =
        c == 0 ? static_cast<std::int64_t>(draw * static_cast<double>(task.rows.count))
               : draw_row(task, sums_of_weights, draw, worker);
    set_center(c, row);
    if (c + 1 < k) sums_of_weights = worker.add_center(row);
  }

  ClusterSums sums{std::vector<std::int64_t>(k * width), std::vector<std::int64_t>(k)};
  for (int round = 0; round < kMaxRounds; ++round) {
    if (!worker.assign(centers, sums) && round > 0) break;
    for (std::size_t c = 0; c < k; ++c) {
      if (sums.rows[c] == 0) {
        set_center(c, worker.take_farthest());
        continue;
      }
      for (std::size_t a = 0; a < width; ++a) {
        centers[c * width + a] =
            static_cast<double>(sums.codes[c * width + a]) / static_cast<double>(sums.rows[c]);
      }
    }
  }
  return worker.assignment();
}

std::vector<std::int32_t> k_means(RowTable const& rows, int clusters, std::uint64_t seed,
                                  int threads) {
  KMeansTask const task = make_k_means_task(rows, clusters);
  HostWorker worker(task, threads);
  return k_means(task, seed, worker);
}

}  // namespace fairlane
