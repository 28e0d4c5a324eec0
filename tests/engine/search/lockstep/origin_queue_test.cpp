#include "engine/search/lockstep/origin_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace fairlane {
namespace {

constexpr std::size_t kRowWidth = 3;
constexpr std::size_t kLongest = 10'000;
using QueueRow = std::array<std::int32_t, kRowWidth>;

class OriginQueueOf : public ::testing::TestWithParam<int> {};

TEST_P(OriginQueueOf, TakesRowsAsAListDoes) {
  struct Origin {
    QueueRow row;
    OriginMark mark;
  };
  int const code_bytes = GetParam();
  std::int64_t const codes = std::int64_t{1} << (8 * code_bytes);
  std::mt19937 random(7);
  OriginQueue queue(kRowWidth, kLongest, code_bytes);
  std::vector<Origin> list;
  for (int round = 0; round < 40; ++round) {
    std::size_t const count = random() % std::min<std::size_t>(3000, kLongest - list.size() + 1);
    queue.extend(count);
    for (std::size_t i = 0; i < count; ++i) {
      Origin origin{{},
                    {static_cast<std::uint16_t>(random()), static_cast<std::uint32_t>(random())}};
      for (std::int32_t& code : origin.row)
        code = static_cast<std::int32_t>(random() % codes - codes / 2);
      queue.put(list.size(), origin.row.data(), origin.mark);
      list.push_back(origin);
    }
    ASSERT_EQ(queue.size(), list.size());
    std::vector<std::pair<std::uint32_t, QueueRow>> taken;
    for (std::size_t left = list.empty() ? 0 : random() % list.size(); left > 0; --left) {
      std::size_t const place = random() % list.size();
      ASSERT_EQ(queue.mark(place), list[place].mark);
      taken.emplace_back(queue.take(place), list[place].row);
      list[place] = list.back();
      list.pop_back();
    }
    QueueRow got{};
    for (auto const& [slot, row] : taken) {
      queue.get_taken(slot, got.data());
      ASSERT_EQ(got, row);
    }
    for (auto const& [slot, row] : taken) queue.release(slot);
    for (std::size_t place = 0; place < list.size(); ++place) {
      queue.get(place, got.data());
      ASSERT_EQ(got, list[place].row);
    }
  }
  queue.clear();
  EXPECT_EQ(queue.size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(CodeBytes, OriginQueueOf, ::testing::Values(1, 2, 4));

TEST(OriginQueue, StoresCodesInAsFewBytesAsTheyTake) {
  EXPECT_EQ(OriginQueue::bytes_for(-128, 127), 1);
  EXPECT_EQ(OriginQueue::bytes_for(-129, 127), 2);
  EXPECT_EQ(OriginQueue::bytes_for(0, 128), 2);
  EXPECT_EQ(OriginQueue::bytes_for(-32768, 32767), 2);
  EXPECT_EQ(OriginQueue::bytes_for(0, 32768), 4);
  EXPECT_EQ(OriginQueue::bytes_for(-32769, 0), 4);
}

}  // namespace
}  // namespace fairlane
