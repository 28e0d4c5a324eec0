#include "engine/learning/training_draws.h"

#include <numeric>
#include <utility>

#include "kernels/core/philox.h"

namespace fairlane {

TrainingWords training_words(TrainingDraw draw, std::uint32_t number, std::uint32_t round,
                             std::uint64_t seed) {
  auto const words = philox<ScalarPack>(number, static_cast<std::uint32_t>(Phase::kData), round,
                                        static_cast<std::uint32_t>(draw), seed);
  return {{words.w[0], words.w[1], words.w[2], words.w[3]}};
}

std::uint32_t below_count(std::uint32_t word, std::uint32_t count) {
  return below<ScalarPack>(word, count);
}

double unit_number(std::uint32_t word) { return static_cast<double>(unit_float<ScalarPack>(word)); }

std::vector<std::uint32_t> shuffled(std::uint32_t count, TrainingDraw draw, std::uint32_t round,
                                    std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = count; i > 1; --i) {
    std::uint32_t const other = below_count(training_words(draw, i, round, seed).w[0], i);
    std::swap(order[i - 1], order[other]);
  }
  return order;
}

}  // namespace fairlane
