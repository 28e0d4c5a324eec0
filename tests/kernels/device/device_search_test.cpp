// The device backend, its kernels run by a device for tests: the CPU backend's findings,
// however it is executed.

#include <gtest/gtest.h>

#include "kernels/device/device_backend.h"
#include "tests/engine/search/golden_subject.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

/// How the device is: none of it may show in the findings.
struct DeviceHow {
  std::int64_t lanes = 0;
  int shared = 64 << 10;  // bytes of a block
  std::uint64_t memory = unless_simulated(1ULL << 28, 1ULL << 22);
  std::string route = "fused";
  std::uint64_t workspace = 1 << 20;  // bytes of the wide route's
  int devices = 1;
};

/// Runs of each kind of kernel; see TestDevice.
struct KernelRuns {
  std::map<int, int> tiles;
  std::map<std::size_t, int> blocks;
};

Finished run_on_device(RunConfig const& config, TestSubject const& subject, DeviceHow const& how,
                       KernelRuns* runs = nullptr) {
  auto const make = [&](VisitSink overflow) {
    DeviceLimits limits = small_limits();
    limits.shared_per_block = how.shared;
    DeviceOptions options;
    options.lanes = how.lanes;
    options.seed = config.seed;
    options.memory_limit = how.memory;
    options.overflow = std::move(overflow);
    options.route = how.route;
    options.workspace = how.workspace;
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < how.devices; ++i) {
      auto host = std::make_unique<TestDevice>(limits);
      host->count_into(runs == nullptr ? nullptr : &runs->tiles,
                       runs == nullptr ? nullptr : &runs->blocks);
      devices.push_back(std::move(host));
    }
    return make_device_backend(subject.view(), std::move(devices), options);
  };
  return run_search_on(config, subject, make);
}

class DeviceSearch : public ::testing::TestWithParam<char const*> {};
/// What the record, its budgets and its division are for, which no activation and no second kind
/// of constraints changes.
class DeviceRecord : public ::testing::TestWithParam<char const*> {};

TEST_P(DeviceSearch, FindsWhatTheCpuFinds) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 30;
  config.local.num = unless_simulated(12, 5);
  config.aequitas.lanes = 5;
  std::vector<std::int64_t> const all_lanes =
      unless_simulated<std::vector<std::int64_t>>({1, 7, 4096}, {50});
  std::vector<int> all_shared = {200 << 10, 24 << 10, 8 << 10, 1 << 10};
  std::vector<std::uint64_t> all_workspaces = {1U << 20, 1U << 14, 1U};
  if (std::string(GetParam()) == "wide domain") {  // whose steps take the simulator minutes
    all_shared = unless_simulated(all_shared, {200 << 10, 1 << 10});
    all_workspaces = unless_simulated(all_workspaces, {1U << 14});
  }
  for (char const* method :
       {"themis", "adf", "eidig", "maft", "margin", "aequitas-fully", "grft"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    // From plenty of shared memory to none worth using: tiles of 4, 2 and 1 packs, weights and
    // scratch on chip or not.
    for (int const shared : all_shared) {
      SCOPED_TRACE(shared);
      for (std::int64_t const lanes : all_lanes) {
        SCOPED_TRACE(lanes);
        DeviceHow how;
        how.shared = shared;
        how.lanes = lanes;
        expect_same(cpu, run_on_device(config, subject, how));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
    // From room for every lane to the least there may be: all in one chunk, or four lanes and four
    // rows at a time.
    for (std::uint64_t const workspace : all_workspaces) {
      SCOPED_TRACE("wide, workspace " + std::to_string(workspace));
      for (std::int64_t const lanes : all_lanes) {
        SCOPED_TRACE(lanes);
        DeviceHow how;
        how.route = "wide";
        how.workspace = workspace;
        how.lanes = lanes;
        expect_same(cpu, run_on_device(config, subject, how));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

TEST_P(DeviceRecord, FindsTheSameOnSeveralDevices) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 60;
  config.local.num = 20;
  config.aequitas.lanes = 20;
  for (char const* method : {"themis", "eidig", "margin", "aequitas-fully"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    for (int const devices : {2, 3}) {
      SCOPED_TRACE(devices);
      DeviceHow how;
      how.devices = devices;
      how.route = devices == 2 ? "wide" : "fused";
      how.lanes = 8;
      expect_same(cpu, run_on_device(config, subject, how));
    }
  }
}

// Budgets look into the record between the waves of a phase.
TEST_P(DeviceRecord, EndsWhereABudgetEndsIt) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 60;
  config.local.num = 20;
  for (char const* method : {"themis", "eidig"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    config.budget.instances = run_search(config, subject, How{}).hits() / 2;
    Finished const cpu = run_search(config, subject, How{});
    for (int const devices : {1, 3}) {
      DeviceHow how;
      how.devices = devices;
      how.lanes = 4;
      expect_same(cpu, run_on_device(config, subject, how));
    }
    config.budget.instances.reset();
  }
}

// Populations of enough lanes that every device serves a worker of its own, in one block or in
// several.
TEST_P(DeviceRecord, SharesAPopulation) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 2000;
  config.local.num = unless_simulated(5, 2);
  config.aequitas.lanes = 150;
  config.method = "aequitas-fully";
  for (auto const acceptance : {Acceptance::kMetropolis, Acceptance::kAlways, Acceptance::kReset}) {
    SCOPED_TRACE(name_of(acceptance));
    config.aequitas.acceptance = acceptance;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.result.counts.global_unique, 64);
    for (std::int64_t const lanes : {0, 20}) {
      DeviceHow how;
      how.devices = 2;
      how.lanes = lanes;
      expect_same(cpu, run_on_device(config, subject, how));
    }
  }
}

TEST_P(DeviceRecord, MemoryLimitsDoNotShow) {
  TemporaryFolder const folder;
  RunConfig config = overflowing_config(folder, GetParam());
  config.local.num = 125;  // a device's least record holds fewer inputs than the CPU's
  TestSubject const subject(config);
  Finished const cpu = run_search(config, subject, How{});
  struct Way {
    char const* route;
    int devices;
  };
  for (auto const& way : {Way{"fused", 1}, Way{"fused", 2}, Way{"wide", 1}}) {
    SCOPED_TRACE(std::string(way.route) + ", " + std::to_string(way.devices) + " devices");
    DeviceHow little;
    little.memory = 1;
    little.route = way.route;
    little.devices = way.devices;
    Finished const device = run_on_device(config, subject, little);
    EXPECT_GT(device.overflowed, 0U);
    expect_same(cpu, device);
  }
}

TEST(DeviceSearchRoute, IsTheNamedOneOrTheBetter) {
  // 12-300-150-3: too much for small chips, in tiles of every size.
  constexpr int kLargeTiles = 0;
  constexpr int kNarrowTiles = 2;
  TemporaryFolder const folder;
  SmallShape shape = shape_of("several outputs");
  shape.widths = {300, 150, 3};
  RunConfig config = small_config(folder, shape);
  config.global.num = 40;
  config.local.num = 3;
  for (char const* method : {"eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    for (char const* route : {"", "wide", "fused"}) {
      SCOPED_TRACE(route);
      DeviceHow how;
      how.route = route;
      KernelRuns runs;
      expect_same(cpu, run_on_device(config, subject, how, &runs));
      bool const fused = how.route == "fused";
      EXPECT_EQ(runs.tiles.empty(), !fused);
      EXPECT_EQ(runs.blocks[kLargeTiles] > 0, !fused);
      EXPECT_EQ(runs.blocks[kNarrowTiles] > 0, !fused);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, DeviceSearch,
                         ::testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                           "wide domain", "many variants", "undefined members",
                                           "constrained", "many undefined", "many constrained",
                                           "plausible", "many plausible"),
                         name_of_kind);
INSTANTIATE_TEST_SUITE_P(Subjects, DeviceRecord,
                         ::testing::Values("one output", "several outputs", "wide domain",
                                           "many variants", "undefined members", "many constrained",
                                           "many plausible"),
                         name_of_kind);

TEST(DeviceSearchOnCensus, FindsWhatTheCpuFinds) {
  FL_NEED_BENCHMARKS(benchmarks);
  for (char const* method : {"adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    RunConfig config = golden_config(benchmarks, {"census", "age+gender"}, method);
    config.local.num = unless_simulated(10, 3);
    config.budget.seeds = unless_simulated(40, 20);
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    for (char const* route : {"fused", "wide"}) {
      SCOPED_TRACE(route);
      DeviceHow how;
      how.route = route;
      expect_same(cpu, run_on_device(config, subject, how));
    }
  }
}

}  // namespace
}  // namespace fairlane
