#include "engine/verify/counting/sum_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fairlane {
namespace {

TEST(SumCounter, CountsNoneTooFewShortSumsAndFewTooMany) {
  std::mt19937 random(3);
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  SumCounter counter(1024);
  double counted = 0.0;
  double true_count = 0.0;
  for (int i = 0; i < 300; ++i) {
    std::vector<SumList> lists(1 + static_cast<std::size_t>(below(4)));
    std::vector<std::pair<double, double>> all = {{0.0, 1.0}};  // sums and how many groups
    for (SumList& list : lists) {
      list.count = 1 + static_cast<std::size_t>(below(9));
      for (std::size_t k = 0; k < list.count; ++k) {
        list.sums.push_back(below(2000) / 100.0 - 10.0);
        list.groups.push_back(1.0 + below(50));
      }
      auto const [least, most] = std::ranges::minmax(list.sums);
      list.least = least;
      list.most = most;
      std::vector<std::pair<double, double>> longer;
      for (auto const& [sum, groups] : all) {
        for (std::size_t k = 0; k < list.count; ++k)
          longer.emplace_back(sum + list.sums[k] - least, groups * list.groups[k]);
      }
      all = std::move(longer);
    }
    double const need = 0.1 + below(400) / 10.0;
    double truly = 0.0;
    for (auto const& [sum, groups] : all) truly += sum <= need ? groups : 0.0;
    double const found = counter.count_short(lists, need);
    ASSERT_GE(found, truly) << "case " << i;
    counted += found;
    true_count += truly;
  }
  EXPECT_LT(counted, 1.01 * true_count);
}

}  // namespace
}  // namespace fairlane
