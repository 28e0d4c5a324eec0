#include "kernels/boxes/box_batch.h"

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

}  // namespace fairlane
