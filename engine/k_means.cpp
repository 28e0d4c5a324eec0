// k-means on raw integer codes. All sums are of integers or in a fixed order, so the result depends on nothing else.

#include <algorithm>
#include <limits>

#include "engine/seeds.h"
#include "kernels/core/philox.h"

namespace fairlane {

namespace {

constexpr int kMaxRounds = 100;

double squared_distance(std::int32_t const* row, double const* center, int attributes) {
  double sum = 0.0;
  for (int a = 0; a < attributes; ++a) {
    double const d = row[a] - center[a];
    sum += d * d;
  }
  return sum;
}

/// Uniform double in [0, 1) with 53 bits.
double unit_draw(std::uint32_t index, std::uint64_t seed) {
  auto const words =
      philox<ScalarPack>(index, static_cast<std::uint32_t>(Phase::kClustering), 0, 0, seed);
  std::uint64_t const bits = (static_cast<std::uint64_t>(words.w[0]) << 21) ^ (words.w[1] >> 11);
  return static_cast<double>(bits & ((1ULL << 53) - 1)) * 0x1p-53;
}

}  // namespace

std::vector<int> k_means(std::int32_t const* rows, std::int64_t count, int attributes, int clusters,
                         std::uint64_t seed) {
  auto const n = static_cast<std::size_t>(count);
  auto const width = static_cast<std::size_t>(attributes);
  auto const k = static_cast<std::size_t>(std::min<std::int64_t>(clusters, count));
  std::vector<double> centers(k * width);
  std::vector<double> nearest(n, std::numeric_limits<double>::max());
  std::vector<int> cluster(n, 0);
  auto const row = [&](std::size_t i) { return rows + i * width; };

  // k-means++: each next center is a row drawn with probability proportional to its squared distance.
  std::size_t pick = static_cast<std::size_t>(unit_draw(0, seed) * static_cast<double>(n));
  for (std::size_t c = 0; c < k; ++c) {
    if (c > 0) {
      double total = 0.0;
      for (double d : nearest) total += d;
      double const target = unit_draw(static_cast<std::uint32_t>(c), seed) * total;
      double sum = 0.0;
      pick = n - 1;
      for (std::size_t i = 0; i < n; ++i) {
        sum += nearest[i];
        if (sum > target) {
          pick = i;
          break;
        }
      }
    }
    std::copy_n(row(pick), width, centers.begin() + static_cast<std::ptrdiff_t>(c * width));
    for (std::size_t i = 0; i < n; ++i) {
      nearest[i] = std::min(nearest[i], squared_distance(row(i), &centers[c * width], attributes));
    }
  }

  std::vector<std::int64_t> sums(k * width);
  std::vector<std::int64_t> sizes(k);
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = round == 0;
    for (std::size_t i = 0; i < n; ++i) {
      int best = 0;
      double best_distance = std::numeric_limits<double>::max();
      for (std::size_t c = 0; c < k; ++c) {
        double const d = squared_distance(row(i), &centers[c * width], attributes);
        if (d < best_distance) {
          best_distance = d;
          best = static_cast<int>(c);
        }
      }
      nearest[i] = best_distance;
      changed = changed || cluster[i] != best;
      cluster[i] = best;
    }
    if (!changed) break;
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(sizes.begin(), sizes.end(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      auto const c = static_cast<std::size_t>(cluster[i]);
      ++sizes[c];
      for (std::size_t a = 0; a < width; ++a) sums[c * width + a] += row(i)[a];
    }
    for (std::size_t c = 0; c < k; ++c) {
      if (sizes[c] == 0) {
        auto const far = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) -
                                                  nearest.begin());
        std::copy_n(row(far), width, centers.begin() + static_cast<std::ptrdiff_t>(c * width));
        nearest[far] = 0.0;
        continue;
      }
      for (std::size_t a = 0; a < width; ++a) {
        centers[c * width + a] =
            static_cast<double>(sums[c * width + a]) / static_cast<double>(sizes[c]);
      }
    }
  }
  return cluster;
}

}  // namespace fairlane
