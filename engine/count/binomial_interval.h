// What a sample tells about a share.
#pragma once

#include <cstdint>
#include <optional>

namespace fairlane {

/// Where a share lies.
struct ShareInterval {
  double low = 0.0;
  double high = 1.0;
};

/// The exact two-sided interval of a binomial share, each side missing it with probability at most
/// (1 - confidence) / 2. No sample: [0, 1].
/// Source: Clopper and Pearson, Biometrika 26 (1934).
ShareInterval clopper_pearson(std::int64_t successes, std::int64_t samples, double confidence);

/// Of what is looked for: how many there are, and how many there may be where outputs are
/// undefined.
struct Hits {
  std::int64_t known = 0;
  std::int64_t possible = 0;
};

double share_of(std::int64_t part, std::int64_t whole);

/// Where the share of hits lies: with that confidence by samples, or without one the share among
/// them, which is a range where outputs are undefined.
ShareInterval interval_of(Hits const& hits, std::int64_t samples, std::optional<double> confidence);

/// Half width of the normal interval of a mean: z * deviation / sqrt(count).
double normal_half_width(double deviation, std::int64_t count, double confidence);

}  // namespace fairlane
