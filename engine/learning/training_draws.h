// Random numbers of training: pure functions of the run's seed and of what they are drawn for.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlane {

/// What is drawn.
enum class TrainingDraw : std::uint32_t {
  kSplit = 1,  // which rows are held out
  kWeights,    // the weights to begin with
  kOrder,      // the order of the rows in an epoch
  kPairRow,    // the row of a pair
  kInput,      // a random input of the domain
  kSample,     // which instances are added
  kShare,      // how many
};

/// Random words for item `number` of a thing, in `round` of it.
struct TrainingWords {
  std::uint32_t w[4];
};
TrainingWords training_words(TrainingDraw draw, std::uint32_t number, std::uint32_t round,
                             std::uint64_t seed);

/// A uniform integer in [0, count) from one word.
std::uint32_t below_count(std::uint32_t word, std::uint32_t count);
/// A uniform number in [0, 1) from one word.
double unit_number(std::uint32_t word);

/// 0 .. count-1 in random order.
std::vector<std::uint32_t> shuffled(std::uint32_t count, TrainingDraw draw, std::uint32_t round,
                                    std::uint64_t seed);

}  // namespace fairlane
