// Walks on the stand-in device count what the CPU counts.
#include <gtest/gtest.h>

#include "engine/count/region.h"
#include "kernels/device/device_backend.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

struct DeviceCase {
  char const* route;
  int devices;
  std::uint64_t memory;
};

class DeviceWalks : public ::testing::TestWithParam<char const*> {};

TEST_P(DeviceWalks, CountWhatTheCpuCounts) {
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  shape.flagged = {2};
  RunConfig const config = small_config(folder, shape);
  TestSubject const subject(config);
  auto const lists = region_lists(subject, {});
  auto const cpu = make_cpu_backend(subject.view(), {});
  Walked const expected = walk_all(*cpu->make_walker(lists));
  ASSERT_GT(expected.mixed.size(), 0U);
  constexpr std::uint64_t kRoomy = std::uint64_t{1} << 32;
  constexpr std::uint64_t kTight = std::uint64_t{1} << 21;
  for (DeviceCase const& c : {DeviceCase{"fused", 1, kRoomy}, DeviceCase{"fused", 3, kRoomy},
                              DeviceCase{"fused", 1, kTight}, DeviceCase{"wide", 1, kRoomy},
                              DeviceCase{"wide", 2, kTight}}) {
    SCOPED_TRACE(std::string(c.route) + " on " + std::to_string(c.devices) + " with " +
                 std::to_string(c.memory));
    std::vector<std::unique_ptr<Device>> devices;
    DeviceFaults faults;
    faults.memory = c.memory;
    for (int i = 0; i < c.devices; ++i)
      devices.push_back(std::make_unique<TestDevice>(small_limits(), faults));
    DeviceOptions options;
    options.route = c.route;
    options.workspace = 1 << 17;
    options.memory_limit = 1 << 18;
    auto const backend = make_device_backend(subject.view(), std::move(devices), options);
    auto const walker = backend->make_walker(lists);
    // On chip a head has many groups, unless each is large already; layer by layer it is one.
    bool const on_chip = std::string(c.route) == "fused";
    if (!on_chip || std::string(GetParam()) == "one output") {
      EXPECT_EQ(walker->plan().get().groups > 1, on_chip);
    }
    expect_same(walk_all(*walker), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, DeviceWalks,
                         ::testing::Values("one output", "several outputs", "tanh", "gelu",
                                           "many variants", "undefined members", "constrained",
                                           "many undefined", "many constrained"),
                         name_of_kind);

}  // namespace
}  // namespace fairlane
