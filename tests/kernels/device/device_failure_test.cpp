// What the device backend does when memory is short or the device fails.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/device/device_backend.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

class DeviceFailure : public ::testing::Test {
 protected:
  DeviceFailure() : config_(small_config(folder_, shape_of("one output"))) {
    config_.global.num = 30;
    config_.local.num = 12;
  }

  Finished run(TestSubject const& subject, DeviceFaults const& faults, std::int64_t lanes) {
    return run_search_on(config_, subject, [&](VisitSink overflow) {
      DeviceOptions options;
      options.seed = config_.seed;
      options.lanes = lanes;
      options.overflow = std::move(overflow);
      options.notice = [this](std::string const& line) { notices_.push_back(line); };
      auto device = std::make_unique<TestDevice>(small_limits(), faults);
      std::vector<std::unique_ptr<Device>> devices;
      devices.push_back(std::move(device));
      return make_device_backend(subject.view(), std::move(devices), options);
    });
  }

  TemporaryFolder const folder_;
  RunConfig config_;
  std::vector<std::string> notices_;
};

TEST_F(DeviceFailure, ShrinksTheBatchWhereMemoryIsShort) {
  TestSubject const subject(config_);
  Finished const cpu = run_search(config_, subject, How{});
  DeviceFaults faults;
  faults.memory = 4 << 20;
  Finished const device = run(subject, faults, 1 << 20);
  expect_same(cpu, device);
  ASSERT_FALSE(notices_.empty());
  EXPECT_THAT(notices_[0], ::testing::HasSubstr("instead of 1048576; the results are the same"));
}

TEST_F(DeviceFailure, SaysSoWhereNothingFits) {
  TestSubject const subject(config_);
  DeviceFaults faults;
  faults.memory = 100 << 10;
  try {
    run(subject, faults, 0);
    FAIL() << "expected an error";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kMemory);
  }
}

// With several devices the others do not work to the end of the phase when one has failed.
TEST_F(DeviceFailure, OfOneDeviceEndsTheOthersToo) {
  config_.global.num = 60;
  TestSubject const subject(config_);
  // Without room for rounds on chip every stage of a round is a call, so that there are many.
  DeviceLimits limits = small_limits();
  limits.shared_per_block = 2 << 10;
  auto const run_two = [&](std::optional<std::int64_t> failing_call) {
    auto const calls = std::make_shared<std::int64_t>(0);  // of the device that does not fail
    auto const make = [&](VisitSink overflow) {
      std::vector<std::unique_ptr<Device>> devices;
      DeviceFaults faults;
      faults.calls = calls;
      devices.push_back(std::make_unique<TestDevice>(limits, faults));
      devices.push_back(
          std::make_unique<TestDevice>(limits, DeviceFaults{faults.memory, failing_call, {}}));
      DeviceOptions options;
      options.lanes = 8;
      options.overflow = std::move(overflow);
      return make_device_backend(subject.view(), std::move(devices), options);
    };
    std::string message;
    try {
      run_search_on(config_, subject, make);
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kStopped);
      message = error.what();
    }
    return std::pair(*calls, message);
  };
  config_.local.num = unless_simulated(2000, 200);
  auto const [all, no_message] = run_two({});
  EXPECT_EQ(no_message, "");
  constexpr std::int64_t kEarly = 10;  // in the global phase
  auto const [some, message] = run_two(kEarly);
  EXPECT_EQ(message, kFailure);
  EXPECT_LT(some, all / 2) << some << " of " << all;
}

// Whichever call is the one that fails, the run ends with that error and nothing is asked of the
// device afterwards.
TEST_F(DeviceFailure, EndsTheRunAtTheFirstFailure) {
  config_.global.num = 8;
  config_.local.num = 3;
  for (char const* method : {"eidig", "margin", "themis"}) {
    SCOPED_TRACE(method);
    config_.method = method;
    TestSubject const subject(config_);
    std::int64_t stopped = 0;
    std::int64_t last = -1;
    for (std::int64_t call = 0;; ++call) {
      DeviceFaults faults;
      faults.failing_call = call;
      try {
        run(subject, faults, 0);
        last = call;
        break;
      } catch (Error const& error) {
        EXPECT_EQ(error.code(), ExitCode::kStopped);
        ++stopped;
      }
    }
    EXPECT_EQ(stopped, last);
    EXPECT_GT(stopped, 10);
  }
}

}  // namespace
}  // namespace fairlane
