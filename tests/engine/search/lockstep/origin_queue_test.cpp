#include "engine/search/lockstep/origin_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace fairlane {
namespace {

constexpr std::size_t kRowWidth = 3;
constexpr std::size_t kLongest = 10'000;

TEST(OriginQueue, TakesRowsAsAListDoes) {
  struct Origin {
    std::int32_t first;
    std::uint16_t cell;
  };
  std::mt19937 random(7);
  OriginQueue queue(kRowWidth, kLongest);
  std::vector<Origin> list;
  std::int32_t next = 0;
  for (int round = 0; round < 40; ++round) {
    std::size_t const count = random() % std::min<std::size_t>(3000, kLongest - list.size() + 1);
    queue.extend(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto const cell = static_cast<std::uint16_t>(random());
      queue.cell(list.size()) = cell;
      for (std::size_t a = 0; a < kRowWidth; ++a)
        queue.row(list.size())[a] = next + static_cast<std::int32_t>(a);
      list.push_back({next++, cell});
    }
    ASSERT_EQ(queue.size(), list.size());
    std::vector<std::pair<std::uint32_t, std::int32_t>> taken;
    for (std::size_t left = list.empty() ? 0 : random() % list.size(); left > 0; --left) {
      std::size_t const place = random() % list.size();
      ASSERT_EQ(queue.cell(place), list[place].cell);
      taken.emplace_back(queue.take(place), list[place].first);
      list[place] = list.back();
      list.pop_back();
    }
    for (auto const& [slot, first] : taken) {
      ASSERT_EQ(queue.taken_row(slot)[0], first);
      ASSERT_EQ(queue.taken_row(slot)[kRowWidth - 1], first + 2);
    }
    for (auto const& [slot, first] : taken) queue.release(slot);
    for (std::size_t place = 0; place < list.size(); ++place)
      ASSERT_EQ(queue.row(place)[0], list[place].first);
  }
}

}  // namespace
}  // namespace fairlane
