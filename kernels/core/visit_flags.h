// What a record of visited inputs keeps beside a key.
#pragma once

#include "kernels/core/pack.h"

namespace fairlane {

/// Bits that a visit table keeps with an input.
enum VisitFlag : std::uint32_t {
  kOccupiedFlag = 1,
  kHitFlag = 2,        // the input is an IDI
  kUndefinedFlag = 4,  // its own output is not finite
  kIrregularFlag = 8,  // some member of its group may be undefined: siblings tell nothing
};
inline constexpr int kVisitFlagBits = 4;

/// Flags of an evaluated input. undefined: its own output is not finite; irregular: some member's
/// is not
FL_HD std::uint32_t visit_flags(bool hit, bool undefined, bool irregular) {
  return (hit ? kHitFlag : 0U) | (undefined ? kUndefinedFlag : 0U) |
         (irregular ? kIrregularFlag : 0U);
}

}  // namespace fairlane
