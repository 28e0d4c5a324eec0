// A share of a region's inputs, sampled until it is known well enough.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/count/binomial_interval.h"
#include "engine/count/sampler.h"

namespace fairlane {

inline constexpr std::int64_t kFirstLook = 1 << 10;  // samples before the first look

/// first       samples until the first look at the interval
/// most        where sampling ends in any case: every look comes after twice as many samples
/// confidence  of the intervals
/// several     looks: each interval is wide enough that all hold together, wherever sampling ends
/// exact       the samples are all inputs that there are
struct SamplePlan {
  std::int64_t first = kFirstLook;
  std::int64_t most = kFirstLook;
  double confidence = 0.95;
  bool several = true;
  bool exact = false;
};

/// Samples after which a share is known to +-error, whatever it is, or the most that are taken;
/// about.
double expected_samples(double error, std::int64_t most);

/// What is known of the shares.
/// look        that comes next, from 1 on, after `end` samples
/// confidence  of the intervals; none: all inputs were evaluated
struct ShareEstimate {
  Samples samples;
  int look = 1;
  std::int64_t end = 0;
  std::optional<double> confidence;

  /// The share among the samples, a range where outputs are undefined.
  ShareInterval share(SampledHits const& sampled) const {
    return interval_of(sampled.hits, sampled.of, std::nullopt);
  }
  ShareInterval interval(SampledHits const& sampled) const {
    return interval_of(sampled.hits, sampled.of, confidence);
  }
};

/// kEnough  the share is known well enough
/// kMost    it is not, but no more samples are allowed
/// kMore    neither; the next look comes after more samples
/// kPaused  samples are missing until this look
enum class LookResult { kEnough, kMost, kMore, kPaused };

/// Takes the samples that are missing until the next look, and looks. The interval holds also where
/// it has paused. Throws Error.
/// enough  says whether the share among the samples, with that interval, is known well enough
using IsEnough = std::function<bool(ShareInterval const& share, ShareInterval const& interval)>;
LookResult take_look(Sampler& sampler, SamplePlan const& plan, IsEnough const& enough,
                     Sampler::Pauses const& pauses, Sampler::Take const& take,
                     ShareEstimate& estimate);

/// A share and where it lies.
struct KnownShare {
  double share = 0.0;
  ShareInterval interval;
};

/// THEMIS's group score: the largest difference of a positive rate between two protected
/// combinations.
KnownShare group_score(ShareEstimate const& estimate);

}  // namespace fairlane
