// Seeds that are drawn uniformly from the domain.
#pragma once

#include "kernels/core/philox.h"

namespace fairlane {

/// The draws of one seed's row: four attributes share a block of random words.
class SeedDraw {
 public:
  FL_HD SeedDraw(std::uint64_t number, std::uint64_t run_seed)
      : number_(number), run_seed_(run_seed) {}

  /// Which of `count` codes dataset attribute `a` takes. Cheapest where `a` ascends.
  FL_HD std::uint32_t code(std::uint32_t a, std::uint32_t count) {
    constexpr std::uint32_t kWords = 4;
    if (a / kWords != block_) {
      block_ = a / kWords;
      words_ = philox<ScalarPack>(static_cast<std::uint32_t>(number_),
                                  static_cast<std::uint32_t>(Phase::kSeeding),
                                  static_cast<std::uint32_t>(number_ >> 32), block_, run_seed_);
    }
    return below<ScalarPack>(words_.w[a % kWords], count);
  }

 private:
  std::uint64_t number_;
  std::uint64_t run_seed_;
  std::uint32_t block_ = ~0U;
  RandomWords<ScalarPack> words_{};
};

}  // namespace fairlane
