// Random numbers of a search in a box.
#pragma once

#include <cstdint>

#include "kernels/core/philox.h"

namespace fairlane {

inline constexpr int kFirstSteps = 32;  // of the search in a cell

/// A number below `size` for a box's draw.
inline std::int32_t draw_below(std::uint64_t id, std::uint32_t draw, std::int32_t size) {
  auto const words =
      philox<ScalarPack>(static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(Phase::kSample),
                         draw, 0, id >> 32);
  return static_cast<std::int32_t>(words.w[0] % static_cast<std::uint32_t>(size));
}

}  // namespace fairlane
