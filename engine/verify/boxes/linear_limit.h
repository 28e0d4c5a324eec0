// Limits of sums of attributes: who belongs to a region.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// The sum of every attribute times its coefficient is at most `most`.
/// coefficients  [attributes], in dataset order
struct LinearLimit {
  std::vector<std::int64_t> coefficients;
  std::int64_t most = 0;
};

/// Reads "2 * age - hours <= 10", with <=, >= or =, sums on both sides and whole numbers up to 10^6;
/// "=" makes two limits.
/// tested  attributes under test, which no limit may name
/// Throws Error(kUsage) with the place in the text.
std::vector<LinearLimit> parse_limit(std::string const& text, Domain const& domain,
                                     std::vector<std::int32_t> const& tested);

}  // namespace fairlane
