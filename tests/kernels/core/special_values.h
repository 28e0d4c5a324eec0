// Floats that are no finite numbers.
#pragma once

#include <limits>

namespace fairlane {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace fairlane
