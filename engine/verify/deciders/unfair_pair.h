// An example of unfair treatment.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

/// Two people who are compared and have different labels.
/// entries  [axes] of the one with the higher label, and `other` of the one with the lower: the
///          same where no axis is relaxed
struct UnfairPair {
  std::vector<std::int32_t> entries;
  std::vector<std::int32_t> other;
  VariantPair pair;
};

}  // namespace fairlane
