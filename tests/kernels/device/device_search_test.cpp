// The device backend, its kernels run by a stand-in on the host: the CPU backend's findings, however it is executed.

#include <gtest/gtest.h>

#include "kernels/device/device_backend.h"
#include "tests/engine/golden_subject.h"
#include "tests/engine/run_search.h"
#include "tests/kernels/device/host_device.h"

namespace fairlane {
namespace {

/// How the device is: none of it may show in the findings.
struct DeviceHow {
  std::int64_t lanes = 0;
  int shared = 64 << 10;  // bytes of a block
  std::uint64_t memory = 1ULL << 28;
  int devices = 1;
};

Finished run_on_device(RunConfig const& config, TestSubject const& subject, DeviceHow const& how) {
  return run_search_on(config, subject, [&](VisitSink overflow) {
    DeviceLimits limits = HostDevice::small_limits();
    limits.shared_per_block = how.shared;
    DeviceOptions options;
    options.lanes = how.lanes;
    options.seed = config.seed;
    options.memory_limit = how.memory;
    options.overflow = std::move(overflow);
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < how.devices; ++i) devices.push_back(std::make_unique<HostDevice>(limits));
    return make_device_backend(subject.view(), std::move(devices), options);
  });
}

std::string name_of(::testing::TestParamInfo<char const*> const& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

class DeviceSearch : public ::testing::TestWithParam<char const*> {};

TEST_P(DeviceSearch, FindsWhatTheCpuFinds) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 30;
  config.local.num = 12;
  for (char const* method : {"themis", "adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    // From plenty of shared memory to none worth using: tiles of 4, 2 and 1 packs, weights and scratch on chip or not.
    for (int const shared : {200 << 10, 24 << 10, 8 << 10, 1 << 10}) {
      SCOPED_TRACE(shared);
      for (std::int64_t const lanes : {1, 7, 4096}) {
        SCOPED_TRACE(lanes);
        DeviceHow how;
        how.shared = shared;
        how.lanes = lanes;
        expect_same(cpu, run_on_device(config, subject, how));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

TEST_P(DeviceSearch, FindsTheSameOnSeveralDevices) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 60;
  config.local.num = 20;
  for (char const* method : {"themis", "eidig", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    for (int const devices : {2, 3}) {
      SCOPED_TRACE(devices);
      DeviceHow how;
      how.devices = devices;
      how.lanes = 8;
      expect_same(cpu, run_on_device(config, subject, how));
    }
  }
}

// Budgets look into the record between the waves of a phase.
TEST_P(DeviceSearch, EndsWhereABudgetEndsIt) {
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

TEST_P(DeviceSearch, MemoryLimitsDoNotShow) {
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  for (auto& range : shape.ranges) range += 6;
  for (std::int32_t const s : shape.selected) shape.ranges[static_cast<std::size_t>(s)] -= 6;
  constexpr int kRows = 600;
  RunConfig config = small_config(folder, shape, kRows);
  config.global.num = kRows;
  config.local.num = 500;
  TestSubject const subject(config);
  Finished const cpu = run_search(config, subject, How{});
  for (int const devices : {1, 2}) {
    DeviceHow little;
    little.memory = 1;
    little.devices = devices;
    Finished const device = run_on_device(config, subject, little);
    EXPECT_GT(device.overflowed, 0U);
    expect_same(cpu, device);
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, DeviceSearch,
                         ::testing::Values("one output", "several outputs", "tanh", "wide domain",
                                           "many variants", "undefined members", "many undefined"),
                         name_of);

TEST(DeviceSearchOnCensus, FindsWhatTheCpuFinds) {
  FL_NEED_BENCHMARKS(benchmarks);
  for (char const* method : {"adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    RunConfig config = golden_config(benchmarks, {"census", "age+gender"}, method);
    config.local.num = 10;
    config.budget.seeds = 40;
    TestSubject const subject(config);
    Finished const cpu = run_search(config, subject, How{});
    EXPECT_GT(cpu.hits(), 0);
    expect_same(cpu, run_on_device(config, subject, {}));
  }
}

}  // namespace
}  // namespace fairlane
