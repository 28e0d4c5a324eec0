// What a record of visited inputs keeps beside a key.
#pragma once

#include <cstdint>

namespace fairlane {

/// Bits that a visit table keeps with an input.
enum VisitFlag : std::uint32_t {
  kOccupiedFlag = 1,
  kHitFlag = 2,        // the input is an IDI
  kUndefinedFlag = 4,  // its own output is not finite
  kIrregularFlag = 8,  // some member of its group is undefined: siblings tell nothing
};
inline constexpr int kVisitFlagBits = 4;

}  // namespace fairlane
