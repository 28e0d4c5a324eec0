// What a run asks of the arithmetic.
#pragma once

#include <cstdint>

namespace fairlane {

/// How networks are evaluated. Findings are exact either way: fast ones are evaluated again.
enum class Arithmetic : std::uint8_t {
  kExact,  // the numerical contract: the same bits everywhere
  kFast,   // where a device has a faster way, sums in another order: other, perhaps fewer findings
};

}  // namespace fairlane
