// The findings that a device counts, sorts and hands out are those of a map on the host.

#include "kernels/device/record/device_findings.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "kernels/device/record/device_table.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

/// words     of a group's key, and of a row's
/// at_once   findings that are sorted together
struct FindingsShape {
  int words;
  int variants;
  int parts;
  std::uint64_t at_once;
};

constexpr std::uint32_t kFoundGroups = 700;

class DeviceFindingsOf : public ::testing::TestWithParam<FindingsShape> {
 protected:
  DeviceFindingsOf() : words_(static_cast<std::size_t>(GetParam().words)) {
    auto const variants = static_cast<std::uint64_t>(GetParam().variants);
    keys_.words = GetParam().words;
    keys_.narrow_groups = keys_.words == 1 ? kFoundGroups : 0;
    for (std::size_t w = 0; w < words_; ++w) {  // each word of a row's key is one of the group's
      runs_.push_back({static_cast<int>(words_ - 1 - w), 1, 0, variants});
      first_.push_back(static_cast<int>(w));
      bits_.push_back(w == 0 && words_ > 1 ? 3 : 24);
    }
    first_.push_back(static_cast<int>(words_));
    variant_.resize(variants * words_);
    for (std::uint64_t v = 0; v < variants; ++v) variant_[v * words_ + words_ - 1] = v;
    row_keys_ = {GetParam().words, GetParam().variants, runs_.data(),
                 first_.data(),    variant_.data(),     bits_.data()};
  }

  /// Group number as a key, whose last word takes few values.
  std::vector<std::uint64_t> group(std::uint32_t number) const {
    std::vector<std::uint64_t> key(words_, number);
    if (words_ > 1) key.back() = number % 2;
    return key;
  }

  std::size_t words_;
  KeyLayout keys_;
  std::vector<RowKeyRun> runs_;
  std::vector<int> first_;
  std::vector<int> bits_;
  std::vector<std::uint64_t> variant_;
  RowKeys row_keys_;
};

TEST_P(DeviceFindingsOf, ARecordAreThoseOfAMap) {
  auto const& shape = GetParam();
  constexpr std::uint64_t kCut = 900;
  struct Known {
    std::uint64_t finder;
    std::uint32_t flags;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Known> visits;
  std::mt19937_64 random(3);
  std::uint32_t const flags[] = {
      0, kHitFlag, kHitFlag, kUndefinedFlag, kHitFlag | kUndefinedFlag, kIrregularFlag};
  for (int i = 0; i < 4000; ++i) {
    visits[{static_cast<std::uint32_t>(random() % kFoundGroups),
            static_cast<std::uint32_t>(random() % static_cast<unsigned>(shape.variants))}] = {
        random() % 1000, flags[random() % std::size(flags)]};
  }
  FindingCounts expected;
  std::set<std::uint32_t> groups;
  std::map<std::vector<std::uint64_t>, std::uint64_t> idis;
  for (auto const& [input, known] : visits) {
    if (known.finder >= kCut) continue;
    ++expected.unique_generated;
    VisitKind const kind = visit_kind(visit_state(known.flags));
    expected.undefined += kind == VisitKind::kUndefined ? 1 : 0;
    expected.undefined_similar += kind == VisitKind::kUncertain ? 1 : 0;
    if (kind != VisitKind::kIdi) continue;
    ++expected.unique_instances;
    groups.insert(input.first);
    std::vector<std::uint64_t> key(words_);
    auto const from = group(input.first);
    for (std::size_t w = 0; w < words_; ++w)
      key[w] = row_keys_.word(from.data(), input.second, static_cast<int>(w));
    idis[key] = known.finder;
  }
  expected.unique_groups = static_cast<std::int64_t>(groups.size());
  ASSERT_GT(groups.size(), 100U);

  FindingCounts counted;
  std::map<std::vector<std::uint64_t>, std::uint64_t> found;
  for (int part = 0; part < shape.parts; ++part) {
    TestDevice device;
    DeviceTable table(device, keys_, shape.variants, 0, 1 << 24);
    ASSERT_TRUE(table.make_room(visits.size()));
    for (auto const& [input, known] : visits) {
      auto const key = group(input.first);
      table.set().insert({key.data(), 1}, input.second, 0, known.flags, known.finder);
    }
    DeviceFindings findings(device, {table.set(), part, shape.parts, kCut}, row_keys_,
                            shape.at_once);
    counted.add(findings.counts());
    std::vector<std::uint64_t> last;
    findings.collect([&](std::uint64_t const* records, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i, records += words_ + 1) {
        std::vector<std::uint64_t> const key(records, records + words_);
        EXPECT_LT(last, key);
        last = key;
        EXPECT_TRUE(found.insert({key, records[words_]}).second);
      }
    });
  }
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(found, idis);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceFindingsOf,
                         ::testing::Values(FindingsShape{1, 4, 1, 1 << 20},
                                           FindingsShape{1, 40, 1, 100},
                                           FindingsShape{1, 20, 3, 50}, FindingsShape{2, 9, 2, 200},
                                           FindingsShape{3, 3, 1, 1}),
                         [](auto const& test) {
                           auto const& s = test.param;
                           return std::to_string(s.words) + "_words_" + std::to_string(s.variants) +
                                  "_variants_" + std::to_string(s.parts) + "_parts";
                         });

// Where no memory is left it says so before anything is handed out.
TEST(DeviceFindingsMemory, IsTakenFirst) {
  DeviceFaults faults;
  faults.memory = 1 << 19;
  TestDevice device(small_limits(), faults);
  KeyLayout keys;
  keys.narrow_groups = kFoundGroups;
  DeviceTable const table(device, keys, 1, 0, 1 << 16);
  void* const rest = device.allocate((1 << 19) - table.bytes() - (16 << 10));
  RowKeyRun const run;
  int const first[] = {0, 1};
  std::uint64_t const variant = 0;
  int const bits = 10;
  RowKeys const row_keys{1, 1, &run, first, &variant, &bits};
  EXPECT_THROW(DeviceFindings(device, {table.set(), 0, 1, 1}, row_keys), Error);
  device.release(rest);
}

}  // namespace
}  // namespace fairlane
