// What only a GPU can show: the backend on it finds what the CPU finds. Skipped, with the reason,
// where there is none.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "engine/count/region.h"
#include "kernels/devices.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

#define FL_NEED_GPU() \
  if (std::string const problem = cuda_problem(); !problem.empty()) GTEST_SKIP() << problem

constexpr char const* kMethods[] = {"themis", "adf", "eidig", "maft", "margin"};

struct GpuHow {
  std::int64_t lanes = 0;
  std::uint64_t memory = unless_simulated(1ULL << 28, 1ULL << 22);
  std::vector<int> devices = {0};
  std::string route = {};  // empty: the better one
  std::uint64_t workspace = 0;
  Arithmetic arithmetic = Arithmetic::kExact;
};

Finished run_on_gpu(RunConfig const& config, TestSubject const& subject, GpuHow const& how) {
  return run_search_on(config, subject, [&](VisitSink overflow) {
    DeviceOptions options;
    options.devices = how.devices;
    options.lanes = how.lanes;
    options.seed = config.seed;
    options.memory_limit = how.memory;
    options.route = how.route;
    options.workspace = how.workspace;
    options.arithmetic = how.arithmetic;
    options.overflow = std::move(overflow);
    return make_cuda_backend(subject.view(), options);
  });
}

/// A network with tiles of every size.
RunConfig wide_network_config(TemporaryFolder const& folder, Activation activation) {
  SmallShape shape = shape_of("several outputs");
  shape.activation = activation;
  shape.widths = unless_simulated<std::vector<int>>({700, 300, 40, 3}, {150, 70, 20, 3});
  RunConfig config = small_config(folder, shape);
  config.global.num = unless_simulated(200, 10);
  config.local.num = unless_simulated(20, 2);
  return config;
}

class GpuSearch : public testing::TestWithParam<char const*> {};

TEST_P(GpuSearch, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = unless_simulated(200, 30);
  config.local.num = unless_simulated(40, 6);
  std::vector<std::int64_t> const all_lanes =
      unless_simulated<std::vector<std::int64_t>>({1, 33, 4096}, {33});
  for (char const* method : kMethods) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    for (std::int64_t const lanes : all_lanes) {
      SCOPED_TRACE(lanes);
      for (char const* route : {"fused", "wide"}) {
        SCOPED_TRACE(route);
        expect_same(cpu, run_on_gpu(config, subject, {.lanes = lanes, .route = route}));
        if (HasFailure()) return;
      }
    }
    constexpr std::uint64_t kTight = 1 << 14;  // bytes of workspace: many chunks
    GpuHow const tight{.lanes = 4096, .route = "wide", .workspace = kTight};
    expect_same(cpu, run_on_gpu(config, subject, tight));
    expect_same(cpu, run_on_gpu(config, subject, {.lanes = 64, .devices = {0, 0}}));  // as if two
  }
}

TEST_P(GpuSearch, WalksCountWhatTheCpuCounts) {
  FL_NEED_GPU();
  if (std::string(GetParam()) == "wide domain") GTEST_SKIP() << "too many groups for a walk";
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  shape.flagged = {2};
  TestSubject const subject(small_config(folder, shape));
  auto const lists = region_lists(subject, {});
  Walked const expected = walk_all(*make_cpu_backend(subject.view(), {})->make_walker(lists));
  for (char const* route : {"fused", "wide"}) {
    SCOPED_TRACE(route);
    DeviceOptions options;
    options.route = route;
    auto const backend = make_cuda_backend(subject.view(), options);
    for (std::int64_t const step : {64, 1000, 1 << 20})
      expect_same(walk_all(*backend->make_walker(lists), step), expected);
  }
}

TEST_P(GpuSearch, MemoryLimitsDoNotShow) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  RunConfig const config = overflowing_config(folder, GetParam());
  TestSubject const subject(config);
  Finished const gpu = run_on_gpu(config, subject, {0, 1, {0}});
  EXPECT_GT(gpu.overflowed, 0U);
  expect_same(run_search(config, subject, How{}), gpu);
}

INSTANTIATE_TEST_SUITE_P(Subjects, GpuSearch,
                         testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                         "wide domain", "many variants", "undefined members",
                                         "constrained", "many undefined", "many constrained",
                                         "plausible", "many plausible"),
                         name_of_kind);

TEST(GpuSearchOnWideNetworks, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  for (auto const activation : {Activation::kRelu, Activation::kTanh, Activation::kGelu}) {
    RunConfig config = wide_network_config(folder, activation);
    for (char const* method : kMethods) {
      SCOPED_TRACE(method);
      config.method = method;
      TestSubject const subject(config);
      Finished const cpu = run_search(config, subject, How{});
      for (char const* route : {"", "wide", "fused"}) {
        SCOPED_TRACE(route);
        expect_same(cpu, run_on_gpu(config, subject, {.route = route}));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(GpuSearchOnWideNetworks, FastArithmeticFindsNothingThatIsNoIdi) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  RunConfig config = wide_network_config(folder, Activation::kRelu);
  for (char const* method : kMethods) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished fast;
    try {
      fast = run_on_gpu(config, subject, {.route = "wide", .arithmetic = Arithmetic::kFast});
    } catch (Error const& error) {
      if (error.code() != ExitCode::kUnavailable) throw;
      GTEST_SKIP() << error.what();
    }
    EXPECT_GT(fast.hits(), 0);
    auto const judge = make_cpu_backend(subject.view(), {});
    for (auto const& [row, entry] : fast.entries) {
      Description description;
      judge->describe(row.data(), 1, &description);
      ASSERT_TRUE((entry.state & kVisitHit) == 0 || description.pair_variant >= 0);
    }
  }
}

TEST(GpuClustering, IsTheCpus) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  TestSubject const subject(small_config(folder, {}));
  int const count = unless_simulated(200'000, 20'000);
  constexpr int kAttributes = 8;
  constexpr int kClusters = 60;
  std::mt19937 random(5);
  std::vector<std::int32_t> codes(static_cast<std::size_t>(count) * kAttributes);
  for (auto& code : codes) code = static_cast<std::int32_t>(random() % 40) - 3;
  RowTable const rows{codes.data(), count, kAttributes};
  auto const gpu = make_cuda_backend(subject.view(), {});
  auto const cpu = make_cpu_backend(subject.view(), {});
  EXPECT_EQ(gpu->k_means(rows, kClusters, 42), cpu->k_means(rows, kClusters, 42));
}

TEST(GpuSearchOnBenchmarks, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  FL_NEED_BENCHMARKS(benchmarks);
  for (auto const& golden : kGoldenCases) {
    for (char const* method : kMethods) {
      SCOPED_TRACE(name_of(golden) + " " + method);
      RunConfig config = golden_config(benchmarks, golden, method);
      config.local.num = unless_simulated(20, 3);
      TestSubject const subject(config);
      expect_same(run_search(config, subject, How{}), run_on_gpu(config, subject, GpuHow{}));
      if (HasFailure()) return;
    }
  }
}

TEST(GpuDevice, OneThatIsNotThereIsNamed) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  TestSubject const subject(small_config(folder, {}));
  DeviceOptions options;
  options.devices = {static_cast<int>(cuda_devices().size())};
  expect_error(ExitCode::kUnavailable, {"cuda:" + std::to_string(options.devices[0]), "GPU"},
               [&] { make_cuda_backend(subject.view(), options); });
}

TEST(GpuDevice, SaysWhatItIs) {
  FL_NEED_GPU();
  for (auto const& device : cuda_devices()) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(device.architecture, 50);
    EXPECT_GT(device.clock_ghz, 0.0);
    EXPECT_GE(device.memory, device.free_memory);
  }
}

TEST(CudaProblem, IsOneLine) {
  EXPECT_EQ(cuda_problem().find('\n'), std::string::npos);
  EXPECT_TRUE(!cuda_devices().empty() || !cuda_problem().empty());
}

}  // namespace
}  // namespace fairlane
