#include "engine/record/record_sorter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "tests/models/temporary.h"

namespace fairlane {
namespace {

using Key = std::vector<std::uint64_t>;

std::map<Key, std::uint64_t> contents(RecordSorter const& sorter, std::size_t words, bool payload) {
  std::map<Key, std::uint64_t> all;
  Key last;
  sorter.for_each([&](std::uint64_t const* record, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, record += sorter.stride()) {
      Key key(record, record + words);
      EXPECT_TRUE(last.empty() || last < key) << "not ascending";
      last = key;
      all.emplace(key, payload ? record[words] : 0);
    }
    return true;
  });
  return all;
}

// Random records, sorted with one memory limit, against std::map.
void check_sorter(int words, bool payload, std::uint64_t limit, std::size_t count,
                  std::uint64_t keys, bool expect_spill, int threads = 1) {
  TemporaryFolder const folder;
  auto const w = static_cast<std::size_t>(words);
  {
    RecordSorter sorter({words, payload, folder.file("spill"), "part", limit, threads});
    std::mt19937_64 random(count + w);
    std::map<Key, std::uint64_t> expected;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t* record = sorter.append(1);
      Key key;
      for (std::size_t k = 0; k < w; ++k) {
        std::uint64_t const draw = random() % keys;
        key.push_back(k == 0 ? draw << (draw % 3 * 20) : draw);  // low and high bits in use
      }
      std::uint64_t const value = random();
      std::copy(key.begin(), key.end(), record);
      if (payload) record[w] = value;
      sorter.commit(1);
      auto const [at, is_new] = expected.emplace(key, payload ? value : 0);
      if (!is_new && payload) at->second = std::min(at->second, value);
    }
    sorter.finish();
    EXPECT_EQ(sorter.spilled() > 0, expect_spill);
    EXPECT_EQ(contents(sorter, w, payload), expected);
    EXPECT_EQ(contents(sorter, w, payload), expected) << "for_each is not repeatable";
  }
  if (expect_spill) {
    EXPECT_TRUE(std::filesystem::is_empty(folder.file("spill"))) << "temporary files left";
  }
}

constexpr std::uint64_t kPlenty = 1ULL << 30;

TEST(RecordSorter, SortsInMemory) {
  check_sorter(1, true, kPlenty, 50000, 1ULL << 40, false);
  check_sorter(1, true, kPlenty, 50000, 1000, false);
  check_sorter(1, false, kPlenty, 50000, 1ULL << 33, false);
  check_sorter(2, true, kPlenty, 5000, 50, false);
  check_sorter(3, false, kPlenty, 5000, 10, false);
}

TEST(RecordSorter, SortsByThreads) {
  check_sorter(1, true, kPlenty, 200000, 1ULL << 40, false, 3);
  check_sorter(1, true, kPlenty, 200000, 3, false, 3);
  check_sorter(1, false, kPlenty, 200000, 100000, false, 2);
}

TEST(RecordSorter, TakesNothingAndLittle) {
  check_sorter(1, true, kPlenty, 0, 10, false);
  check_sorter(2, true, kPlenty, 0, 10, false);
  check_sorter(1, true, kPlenty, 1, 10, false);
}

TEST(RecordSorter, SpillsAndMerges) {
  check_sorter(1, true, 1 << 14, 20000, 1ULL << 40, true);
  check_sorter(1, true, 1 << 14, 20000, 3000, true);
  check_sorter(1, false, 1 << 14, 20000, 1ULL << 20, true);
  check_sorter(2, true, 1 << 14, 10000, 60, true);
}

TEST(RecordSorter, MergesMoreFilesThanItOpensAtOnce) {
  check_sorter(1, true, 1 << 10, 10000, 5000, true);
}

TEST(RecordSorter, StopsWhenAsked) {
  for (std::uint64_t const limit : {kPlenty, std::uint64_t{1} << 12}) {
    TemporaryFolder const folder;
    RecordSorter sorter({1, true, folder.file("spill"), "part", limit});
    for (std::uint64_t i = 0; i < 100000; ++i) {
      std::uint64_t* record = sorter.append(1);
      record[0] = i;
      record[1] = i;
      sorter.commit(1);
    }
    sorter.finish();
    int calls = 0;
    sorter.for_each([&](std::uint64_t const*, std::size_t) { return ++calls < 1; });
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace fairlane
