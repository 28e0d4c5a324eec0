// Few people that stand for many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plausibility/plausibility.h"

namespace fairlane {

/// Chooses people that are severe, plausible and different from each other, among those whose
/// implausibility is `at_most`, or among all where these are fewer than `count`. The first has the
/// greatest severity; each next one maximises (1 - r / n) * d: n people to choose from, r of them
/// more severe than this one, d its least distance to those chosen. Ties go to the lowest index.
/// Nobody is chosen who is equal to one chosen before, so there may be fewer than `count`.
/// rows          [people][attributes] codes of the domain
/// severity      [people]
/// plausibility  [people] their scores
/// Returns indices in the order chosen.
std::vector<std::size_t> choose_different(PlausibilityModel const& model,
                                          std::span<std::int32_t const> rows,
                                          std::span<double const> severity,
                                          std::span<Plausibility const> plausibility,
                                          std::size_t count, double at_most = 99.0);

}  // namespace fairlane
