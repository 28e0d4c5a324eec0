// k-means: what it finds, by a plain reference, whoever goes over the rows.
#include "kernels/k_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/core/philox.h"
#include "kernels/device/device_backend.h"
#include "kernels/device/device_k_means.h"
#include "tests/engine/search/small_subject.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

constexpr std::uint64_t kRunSeed = 42;

/// Rows of a kind that k-means could get wrong.
struct Rows {
  char const* name;
  int count;
  int attributes;
  std::int32_t low;
  std::int32_t high;
  int repeats = 1;  // of each row
};

// The last two have more pieces than one; the weights of the last add up to just below 2^53.
constexpr Rows kRows[] = {
    {"one row", 1, 3, 0, 9},
    {"few values, so that many rows are as near to two centers", 300, 2, -1, 1},
    {"equal rows", 40, 3, 7, 7},
    {"every row five times", 200, 4, -5, 5, 5},
    {"one attribute", 500, 1, 0, 100},
    {"several pieces", 5000, 5, -20, 90},
    {"enough for threads", 70000, 4, 0, 3},
    {"wide", 4000, 6, -(1 << 17), 1 << 17}};

std::vector<std::int32_t> codes_of(Rows const& rows, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::int32_t> code(rows.low, rows.high);
  std::vector<std::int32_t> codes;
  while (codes.size() <
         static_cast<std::size_t>(rows.count) * static_cast<std::size_t>(rows.attributes)) {
    std::vector<std::int32_t> row(static_cast<std::size_t>(rows.attributes));
    for (auto& c : row) c = code(random);
    for (int i = 0; i < rows.repeats; ++i) codes.insert(codes.end(), row.begin(), row.end());
  }
  return codes;
}

/// The definition, all of it in double and one row after the other; exact where the sums of squares
/// are below 2^53.
std::vector<std::int32_t> plain_k_means(RowTable const& rows, int clusters, std::uint64_t seed) {
  auto const n = static_cast<std::size_t>(rows.count);
  auto const width = static_cast<std::size_t>(rows.attributes);
  auto const k = std::min(static_cast<std::size_t>(clusters), n);
  auto const draw = [&](std::size_t c) {
    auto const words = philox<ScalarPack>(
        static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(Phase::kClustering), 0, 0, seed);
    return static_cast<double>(((std::uint64_t{words.w[0]} << 21) ^ (words.w[1] >> 11)) &
                               ((1ULL << 53) - 1)) /
           0x1p53;
  };
  using Center = std::vector<double>;
  auto const point = [&](std::size_t i) {
    auto const* const row = rows.codes + i * width;
    return Center(row, row + width);
  };
  auto const distance = [&](std::size_t i, Center const& center) {
    double sum = 0.0;
    for (std::size_t a = 0; a < width; ++a)
      sum += (rows.codes[i * width + a] - center[a]) * (rows.codes[i * width + a] - center[a]);
    return sum;
  };
  std::vector<Center> centers{point(static_cast<std::size_t>(draw(0) * static_cast<double>(n)))};
  std::vector<double> nearest(n, std::numeric_limits<double>::max());
  while (centers.size() < k) {
    for (std::size_t i = 0; i < n; ++i)
      nearest[i] = std::min(nearest[i], distance(i, centers.back()));
    double const target =
        draw(centers.size()) * std::accumulate(nearest.begin(), nearest.end(), 0.0);
    std::size_t pick = 0;
    for (double sum = nearest[0]; sum <= target && pick + 1 < n; sum += nearest[pick]) ++pick;
    centers.push_back(point(pick));
  }
  std::vector<std::int32_t> cluster(n, 0);
  for (int round = 0; round < 100; ++round) {
    auto const before = cluster;
    for (std::size_t i = 0; i < n; ++i) {
      nearest[i] = std::numeric_limits<double>::max();
      for (std::size_t c = 0; c < k; ++c) {
        double const d = distance(i, centers[c]);
        if (d >= nearest[i]) continue;
        nearest[i] = d;
        cluster[i] = static_cast<std::int32_t>(c);
      }
    }
    if (cluster == before && round > 0) break;
    for (std::size_t c = 0; c < k; ++c) {
      Center sum(width, 0.0);
      double size = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        if (cluster[i] != static_cast<std::int32_t>(c)) continue;
        size += 1.0;
        for (std::size_t a = 0; a < width; ++a) sum[a] += rows.codes[i * width + a];
      }
      if (size > 0.0) {
        for (std::size_t a = 0; a < width; ++a) centers[c][a] = sum[a] / size;
        continue;
      }
      auto const far = std::max_element(nearest.begin(), nearest.end());
      centers[c] = point(static_cast<std::size_t>(far - nearest.begin()));
      *far = 0.0;
    }
  }
  return cluster;
}

class KMeansThreads : public ::testing::TestWithParam<Rows> {};

TEST_P(KMeansThreads, FindWhatTheDefinitionSays) {
  auto const& kind = GetParam();
  auto const codes = codes_of(kind, 1);
  RowTable const rows{codes.data(), kind.count, kind.attributes};
  for (int const clusters : {1, 2, 7, 60}) {
    SCOPED_TRACE(clusters);
    auto const expected = plain_k_means(rows, clusters, kRunSeed);
    for (int const threads : {1, 2, 5})
      EXPECT_EQ(k_means(rows, clusters, kRunSeed, threads), expected) << threads << " threads";
  }
}

TEST_P(KMeansThreads, FindWhatADeviceFinds) {
  auto const& kind = GetParam();
  std::vector<int> const all_clusters = unless_simulated<std::vector<int>>({1, 5, 60, 250}, {5});
  for (unsigned const seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    auto const codes = codes_of(kind, seed);
    RowTable const rows{codes.data(), kind.count, kind.attributes};
    for (int const clusters : all_clusters) {
      SCOPED_TRACE(clusters);
      TestDevice device;
      EXPECT_EQ(device_k_means(device, rows, clusters, seed), k_means(rows, clusters, seed, 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, KMeansThreads, ::testing::ValuesIn(kRows),
                         [](auto const& test) { return "kind" + std::to_string(test.index); });

TEST(KMeans, EmptyClustersTakeTheFarthestRows) {
  // Two distinct rows cannot fill three clusters; the third takes the farthest row, which is row 0,
  // and does not keep it.
  std::vector<std::int32_t> const codes{5, 9, 9, 5};
  auto const cluster = k_means({codes.data(), 4, 1}, 3, kRunSeed, 1);
  EXPECT_EQ(cluster[0], cluster[3]);
  EXPECT_EQ(cluster[1], cluster[2]);
  EXPECT_NE(cluster[0], cluster[1]);
}

TEST(KMeans, WeightsOfHugeTablesFit) {
  constexpr std::int32_t kFar = 1 << 24;
  std::vector<std::int32_t> const codes{-kFar, kFar};
  EXPECT_EQ(make_k_means_task({codes.data(), 2, 1}, 2).weight_shift, 0);
  // 2^14 rows, of 16 attributes each, up to 2^25 apart: their squares sum up to 2^68.
  std::vector<std::int32_t> many(std::size_t{1} << 18, -kFar);
  for (std::size_t i = 0; i < many.size() / 2; ++i) many[i] = kFar;
  KMeansTask const task = make_k_means_task({many.data(), 1 << 14, 16}, 2);
  EXPECT_EQ(task.weight_shift, 6);
  EXPECT_EQ(row_weight(task, 0, (1 << 14) - 1), std::uint64_t{1} << 48);
  TestDevice device;
  auto const cluster = k_means(task.rows, 2, kRunSeed, 2);
  EXPECT_EQ(device_k_means(device, task.rows, 2, kRunSeed), cluster);
  EXPECT_EQ(std::count(cluster.begin(), cluster.end(), cluster[0]), 1 << 13);
}

// Much work goes to the device, and back to the host where its memory is short.
TEST(KMeans, ABackendOnADeviceLeavesItLargeTables) {
  SmallSubject const subject({});
  constexpr int kClusters = 1 << 8;
  std::vector<std::int32_t> const codes = codes_of({"", 1 << 16, 4, 0, 1}, 1);  // 16 different rows
  struct Way {
    int count;
    std::uint64_t memory;
    bool on_device;
    std::size_t notices;
  };
  constexpr std::uint64_t kPlenty = 1 << 26;
  constexpr std::uint64_t kLittle = 1 << 20;
  for (auto const& way : {Way{1000, kPlenty, false, 0}, Way{1 << 16, kPlenty, true, 0},
                          Way{1 << 16, kLittle, false, 1}}) {
    DeviceFaults faults;
    faults.memory = way.memory;
    faults.calls = std::make_shared<std::int64_t>(0);
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<TestDevice>(small_limits(), faults));
    std::vector<std::string> notices;
    DeviceOptions options;
    options.memory_limit = 1;
    options.notice = [&](std::string const& line) { notices.push_back(line); };
    auto const backend = make_device_backend(subject.view, std::move(devices), options);
    std::int64_t const before = *faults.calls;
    RowTable const rows{codes.data(), way.count, 4};
    EXPECT_EQ(backend->k_means(rows, kClusters, kRunSeed), k_means(rows, kClusters, kRunSeed, 1));
    EXPECT_EQ(*faults.calls > before, way.on_device);
    EXPECT_EQ(notices.size(), way.notices);
  }
}

}  // namespace
}  // namespace fairlane
