// What only a GPU can show: the backend on it finds what the CPU finds. Skipped, with the reason, where there is none.
#include <gtest/gtest.h>

#include "kernels/core/error.h"
#include "tests/engine/golden_subject.h"
#include "tests/engine/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

#define FL_NEED_GPU() \
  if (std::string const problem = cuda_problem(); !problem.empty()) GTEST_SKIP() << problem

constexpr char const* kMethods[] = {"themis", "adf", "eidig", "maft", "margin"};

struct GpuHow {
  std::int64_t lanes = 0;
  std::uint64_t memory = 1ULL << 28;
  std::vector<int> devices = {0};
  std::string route = {};  // empty: the better one
  std::uint64_t workspace = 0;
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
    options.overflow = std::move(overflow);
    return make_cuda_backend(subject.view(), options);
  });
}

class GpuSearch : public testing::TestWithParam<char const*> {};

TEST_P(GpuSearch, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 200;
  config.local.num = 40;
  for (char const* method : kMethods) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    for (std::int64_t const lanes : {1, 33, 4096}) {
      SCOPED_TRACE(lanes);
      for (char const* route : {"fused", "wide"}) {
        SCOPED_TRACE(route);
        expect_same(cpu, run_on_gpu(config, subject, {lanes, 1ULL << 28, {0}, route}));
        if (HasFailure()) return;
      }
    }
    constexpr std::uint64_t kTight = 1 << 14;  // bytes of workspace: many chunks
    expect_same(cpu, run_on_gpu(config, subject, {4096, 1ULL << 28, {0}, "wide", kTight}));
    expect_same(cpu, run_on_gpu(config, subject, {64, 1ULL << 28, {0, 0}}));  // as if two
  }
}

TEST_P(GpuSearch, MemoryLimitsDoNotShow) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  for (auto& range : shape.ranges) range += 6;
  for (std::int32_t const s : shape.selected) shape.ranges[static_cast<std::size_t>(s)] -= 6;
  constexpr int kRows = 600;
  RunConfig config = small_config(folder, shape, kRows);
  config.global.num = kRows;
  config.local.num = 500;
  TestSubject const subject(config);
  Finished const gpu = run_on_gpu(config, subject, {0, 1, {0}});
  EXPECT_GT(gpu.overflowed, 0U);
  expect_same(run_search(config, subject, How{}), gpu);
}

INSTANTIATE_TEST_SUITE_P(Subjects, GpuSearch,
                         testing::Values("one output", "several outputs", "tanh", "wide domain",
                                         "many variants", "undefined members", "many undefined"),
                         [](auto const& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(GpuSearchOnWideNetworks, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  TemporaryFolder const folder;
  for (auto const activation : {Activation::kRelu, Activation::kTanh}) {
    SmallShape shape = shape_of("several outputs");
    shape.activation = activation;
    shape.widths = {700, 300, 40, 3};  // tiles of every size
    RunConfig config = small_config(folder, shape);
    config.global.num = 200;
    config.local.num = 20;
    for (char const* method : kMethods) {
      SCOPED_TRACE(method);
      config.method = method;
      TestSubject const subject(config);
      Finished const cpu = run_search(config, subject, How{});
      for (char const* route : {"", "wide", "fused"}) {
        SCOPED_TRACE(route);
        expect_same(cpu, run_on_gpu(config, subject, {0, 1ULL << 28, {0}, route}));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(GpuSearchOnBenchmarks, FindsWhatTheCpuFinds) {
  FL_NEED_GPU();
  FL_NEED_BENCHMARKS(benchmarks);
  for (auto const& golden : kGoldenCases) {
    for (char const* method : kMethods) {
      SCOPED_TRACE(name_of(golden) + " " + method);
      RunConfig config = golden_config(benchmarks, golden, method);
      config.local.num = 20;
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
