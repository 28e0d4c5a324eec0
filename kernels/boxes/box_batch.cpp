#include "kernels/boxes/box_batch.h"

#include <cmath>
#include <cstdint>

namespace fairlane {

BoxMemory::BoxMemory(BoxNetwork const& network, int lanes, int block, bool work)
    : count_(lanes), of_block_(static_cast<long>(box_rows(network)) * block) {
  while (1 << shift_ < block) ++shift_;
  constexpr std::size_t kLine = 64;
  auto const values = static_cast<std::size_t>(lanes / block * of_block_);
  auto const working =
      work ? static_cast<std::size_t>(lanes) * static_cast<std::size_t>(box_work(network))
           : std::size_t{0};
  memory_.assign(values + working + kLine / sizeof(double), 0.0);
  auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
  double* const begin = memory_.data() + (kLine - address % kLine) % kLine / sizeof(double);
  lanes_ = lay_out_boxes(network, block, begin, work ? begin + values : nullptr);
}

void BoxMemory::ask_for_most(int lane, std::span<InputSpread const> spread, double level,
                             int halvings) const {
  constexpr double kLn2 = 0.6931471805599454;  // rounded up
  at(lanes_.share, 0, lane) = std::ldexp(1.0, -halvings);
  at(lanes_.rarity, 0, lane) = kLn2 * halvings;
  at(lanes_.level, 0, lane) = level;
  for (std::size_t k = 0; k < spread.size(); ++k) {
    int const input = static_cast<int>(k);
    at(lanes_.mean_low, input, lane) = spread[k].mean_low;
    at(lanes_.mean_high, input, lane) = spread[k].mean_high;
    at(lanes_.variance, input, lane) = spread[k].variance;
    at(lanes_.breadth, input, lane) = spread[k].breadth;
  }
}

}  // namespace fairlane
