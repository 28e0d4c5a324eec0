// However much memory a device has: a job ends with the CPU's results, or with the one line that
// says that memory is short, and with nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "engine/count/region.h"
#include "kernels/device/device_backend.h"
#include "kernels/device/less_memory.h"
#include "kernels/device/record/device_table.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

/// How many sizes of memory a job was tried with, and in how many it came to its end.
struct Swept {
  int tried = 0;
  int done = 0;
};

/// Where a job runs. on_chip: bytes of shared memory of a block; little of it sends scratch to
/// device memory
struct Place {
  char const* route;
  int devices;
  int on_chip;
};
constexpr Place kPlaces[] = {
    {"fused", 1, 64 << 10}, {"fused", 1, 2 << 10}, {"fused", 2, 64 << 10}, {"wide", 1, 64 << 10}};

std::vector<std::unique_ptr<Device>> devices_of(Place const& place, std::uint64_t memory) {
  DeviceLimits limits = small_limits();
  limits.shared_per_block = place.on_chip;
  DeviceFaults faults;
  faults.memory = memory;
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < place.devices; ++i)
    devices.push_back(std::make_unique<TestDevice>(limits, faults));
  return devices;
}

/// Runs job(memory) with ever more memory, which throws where that is not enough.
template <class Job>
Swept sweep(std::uint64_t least, std::uint64_t most, Job const& job) {
  double const factor = unless_simulated(1.4, 2.2);
  Swept swept;
  for (auto memory = static_cast<double>(least); memory < static_cast<double>(most);
       memory *= factor) {
    auto const bytes = static_cast<std::uint64_t>(memory);
    SCOPED_TRACE(std::to_string(bytes) + " bytes");
    ++swept.tried;
    try {
      job(bytes);
      ++swept.done;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kMemory) << error.what();
      EXPECT_THAT(std::string(error.what()), ::testing::Not(::testing::HasSubstr("\n")));
    }
    if (testing::Test::HasFailure()) break;
  }
  return swept;
}

class DeviceMemory : public ::testing::TestWithParam<Place> {
 protected:
  static constexpr std::uint64_t kLeast = 48 << 10;
  static constexpr std::uint64_t kMost = 24 << 20;

  /// record: bytes of it, 0: chosen
  static Finished search_with(RunConfig const& config, TestSubject const& subject,
                              std::uint64_t memory, std::uint64_t record) {
    return run_search_on(config, subject, [&](VisitSink overflow) {
      DeviceOptions options;
      options.seed = config.seed;
      options.route = GetParam().route;
      options.memory_limit = record;
      options.overflow = std::move(overflow);
      return make_device_backend(subject.view(), devices_of(GetParam(), memory), options);
    });
  }
  TemporaryFolder const folder_;
};

TEST_P(DeviceMemory, SearchesEndAsTheCpuDoesOrSaySo) {
  RunConfig config = overflowing_config(folder_, "one output");
  for (char const* method : {"eidig", "themis"}) {
    config.method = method;
    bool const draws = config.method == "themis";
    config.global.num = unless_simulated(draws ? 8000 : 120, 20);
    config.local.num = unless_simulated(150, 5);
    TestSubject const subject(config);
    Finished const expected = run_search(config, subject, {});
    for (bool const small_record : {false, true}) {
      if (draws && small_record) continue;  // it draws no input twice, and so must know them all
      SCOPED_TRACE(std::string(method) + (small_record ? ", the least record" : ""));
      bool overflows = false;
      Swept const swept = sweep(kLeast, kMost, [&](std::uint64_t memory) {
        Finished const found = search_with(config, subject, memory, small_record ? 1 : 0);
        expect_same(found, expected);
        overflows = overflows || found.overflowed > 0;
      });
      EXPECT_GT(swept.done, 0);
      EXPECT_LT(swept.done, swept.tried);
      EXPECT_TRUE(overflows || !small_record || devices_are_simulated());
    }
  }
}

TEST_P(DeviceMemory, WalksEndAsTheCpuDoesOrSaySo) {
  RunConfig const config = small_config(folder_, shape_of("several outputs"));
  TestSubject const subject(config);
  auto const lists = region_lists(subject, {});
  Walked const expected = walk_all(*make_cpu_backend(subject.view(), {})->make_walker(lists));
  Swept const swept = sweep(kLeast, kMost, [&](std::uint64_t memory) {
    DeviceOptions options;
    options.route = GetParam().route;
    auto const backend =
        make_device_backend(subject.view(), devices_of(GetParam(), memory), options);
    expect_same(walk_all(*backend->make_walker(lists)), expected);
  });
  EXPECT_GT(swept.done, 0);
  EXPECT_LT(swept.done, swept.tried);
}

INSTANTIATE_TEST_SUITE_P(Places, DeviceMemory, ::testing::ValuesIn(kPlaces), [](auto const& test) {
  return std::string(test.param.route) + "_on_" + std::to_string(test.param.devices) + "_with_" +
         std::to_string(test.param.on_chip >> 10) + "_KiB_on_chip";
});

/// A record that fills its device but for a few KiB.
class FullDevice : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kTable = 512 << 10;
  static constexpr std::uint64_t kLeft = 100 << 10;
  static constexpr std::uint64_t kInputs = 20'000;

  static KeyLayout keys() {
    KeyLayout keys;
    keys.narrow_groups = kInputs;
    return keys;
  }
  static DeviceFaults faults() {
    DeviceFaults faults;
    faults.memory = kTable + kLeft;
    return faults;
  }
  /// Inputs 0, step, 2 * step, ...
  static void fill(DeviceTable& table, std::uint64_t step) {
    table.reserve(kInputs);
    ASSERT_EQ(table.bytes(), kTable);
    ASSERT_TRUE(table.make_room(kInputs / step));
    for (std::uint64_t key = 0; key < kInputs; key += step)
      table.set().insert({&key, 1}, 0, 0, 0, key);
  }
  TestDevice device_{small_limits(), faults()};
};

TEST_F(FullDevice, HandsOutItsRecordInSmallerPieces) {
  DeviceTable table(device_, keys(), 1, 0, kTable);
  fill(table, 1);
  std::size_t pieces = 0;
  std::set<std::uint64_t> groups;
  table.collect([&](Visits const& visits) {
    ++pieces;
    groups.insert(visits.group, visits.group + visits.count);
  });
  EXPECT_GT(pieces, 4U);
  EXPECT_EQ(groups.size(), kInputs);
}

TEST_F(FullDevice, TellsAnotherInSmallerPieces) {
  TestDevice other_device(small_limits(), faults());
  DeviceTable table(device_, keys(), 1, 0, kTable, 0, 2);
  DeviceTable other(other_device, keys(), 1, 0, kTable, 1, 2);
  fill(table, 1);
  fill(other, 3);
  auto const full = [](Visits const& visits) { FAIL() << visits.count << " had no room"; };
  table.exchange(other, full);
  other.exchange(table, full);
  EXPECT_EQ(table.size() + other.size(), kInputs);
}

TEST(DeviceTable, TellsAnotherOnlyWhatIsNew) {
  constexpr std::uint64_t kInputs = 3'000;
  KeyLayout keys;
  keys.narrow_groups = 2 * kInputs;
  TestDevice device{small_limits()};
  DeviceTable table(device, keys, 1, 0, 1 << 20, 0, 2);
  DeviceTable other(device, keys, 1, 0, 1 << 20, 1, 2);
  auto const visit = [&](std::uint64_t key, std::uint64_t finder) {
    ASSERT_TRUE(table.make_room(1));
    table.set().insert({&key, 1}, 0, 0, 0, finder);
  };
  auto const tell = [&] { return table.exchange(other, [](Visits const&) { FAIL(); }); };
  std::map<std::uint64_t, std::uint64_t> expected;  // finder of a key that is the other's
  auto const is_there = [&] {
    std::map<std::uint64_t, std::uint64_t> found;
    other.collect([&](Visits const& visits) {
      for (std::size_t i = 0; i < visits.count; ++i) found[visits.group[i]] = visits.finder[i];
    });
    return found;
  };
  for (std::uint64_t key = 0; key < kInputs; ++key) visit(key, kInputs + key);
  std::uint64_t const first = tell();
  EXPECT_EQ(first, is_there().size());
  EXPECT_EQ(first + table.size(), kInputs);
  EXPECT_EQ(tell(), 0U);

  // Lower finders are news, higher ones are not, and a larger table remembers what was told.
  std::set<std::uint64_t> lowered;
  for (auto const& [key, finder] : is_there()) {
    expected[key] = key % 7 == 0 ? key : finder;
    if (key % 7 == 0) lowered.insert(key);
  }
  table.reserve(4 * kInputs);
  for (std::uint64_t key = 0; key < kInputs; ++key) visit(key, key % 7 == 0 ? key : 3 * kInputs);
  EXPECT_EQ(tell(), lowered.size());
  EXPECT_EQ(is_there(), expected);
  EXPECT_EQ(tell(), 0U);
}

TEST(LessMemory, HalvesUntilThereIsEnough) {
  std::vector<std::int64_t> tried;
  auto const fits = [&](std::int64_t most) {
    return [&tried, most](std::int64_t size) {
      tried.push_back(size);
      if (size > most) throw Error(ExitCode::kMemory, "no room");
      return size;
    };
  };
  EXPECT_EQ(with_less_memory(100, 30, fits(60)), 50);
  EXPECT_EQ(with_less_memory(100, 30, fits(30)), 30);
  EXPECT_EQ(with_less_memory(10, 30, fits(10)), 10);
  EXPECT_THAT(tried, ::testing::ElementsAre(100, 50, 100, 50, 30, 10));
  EXPECT_THROW(with_less_memory(100, 30, fits(29)), Error);
  tried.clear();
  auto const fails = [&](std::int64_t size) -> int {
    tried.push_back(size);
    throw Error(ExitCode::kStopped, "gone");
  };
  EXPECT_THROW(with_less_memory(100, 30, fails), Error);
  EXPECT_EQ(tried.size(), 1U);
}

}  // namespace
}  // namespace fairlane
