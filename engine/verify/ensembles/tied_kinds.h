// Combinations of kinds of axes that rules tie together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/verify/ensembles/box_kinds.h"

namespace fairlane {

/// Axes of a box that rules which are open in it tie together, and those combinations of their kinds
/// of which somebody exists.
/// axes     [width]
/// kinds    [combinations][width]
/// groups   [combinations] combinations of entries
/// members  [combinations] kinds of variants that exist, a bit each
struct TiedKinds {
  std::vector<std::size_t> axes;
  std::vector<std::int32_t> kinds;
  std::vector<double> groups;
  std::vector<std::uint64_t> members;
};

/// All of a box's, at most one of which depends on variants; of at most 64 kinds of those. Returns
/// false where there are too many combinations.
bool find_tied_kinds(BoxKinds const& kinds, std::vector<TiedKinds>& tied);

}  // namespace fairlane
