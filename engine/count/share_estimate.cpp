#include "engine/count/share_estimate.h"

#include <algorithm>
#include <numbers>
#include <vector>

namespace fairlane {
namespace {

/// Confidence of the k-th look, from 1 on: all looks together miss the share no more often than one
/// with `confidence` would, so sampling may end at any of them. (The sum of 1/k^2 is pi^2/6.)
double confidence_of_look(double confidence, int look) {
  constexpr double kSum = std::numbers::pi * std::numbers::pi / 6.0;
  return 1.0 - (1.0 - confidence) / (kSum * look * look);
}

}  // namespace

LookResult take_look(Sampler& sampler, SamplePlan const& plan, IsEnough const& enough,
                     Sampler::Pauses const& pauses, Sampler::Take const& take,
                     ShareEstimate& estimate) {
  Samples& samples = estimate.samples;
  if (estimate.end == 0) estimate.end = plan.first;
  samples.add(sampler.draw(samples.sampled, estimate.end, pauses, take));
  bool const paused = samples.sampled < estimate.end;
  estimate.confidence =
      plan.several ? confidence_of_look(plan.confidence, estimate.look) : plan.confidence;
  if (paused) return LookResult::kPaused;
  if (plan.exact) estimate.confidence.reset();
  Hits const hits = samples.inputs();
  if (enough(estimate.share(hits), estimate.interval(hits))) return LookResult::kEnough;
  if (estimate.end >= plan.most) return LookResult::kMost;
  ++estimate.look;
  estimate.end = std::min(2 * estimate.end, plan.most);
  return LookResult::kMore;
}

double expected_samples(double error, std::int64_t most) {
  // Two deviations of a share of one half; a share near 0 or 1 takes fewer, several looks more.
  return std::min(1.0 / (error * error), static_cast<double>(most));
}

KnownShare group_score(ShareEstimate const& estimate) {
  CountLayout const& layout = estimate.samples.layout;
  auto const& counts = estimate.samples.counts;
  auto const count = [&](int counter) {
    return static_cast<std::int64_t>(counts.counters[static_cast<std::size_t>(counter)]);
  };
  std::vector<Hits> positive;
  for (int v = 0; v < layout.variants; ++v) {
    auto const known = count(layout.positive(v));
    positive.push_back({known, known + count(layout.undefined(v))});
  }
  if (positive.empty()) return {};
  auto const [least, most] = std::ranges::minmax(positive, {}, &Hits::known);
  std::int64_t const n = counts.groups;
  double const score = share_of(most.known - least.known, n);
  if (!estimate.confidence && counts.undefined(layout) == 0) return {score, {score, score}};
  // Every variant's rate lies within its interval at once.
  std::optional<double> each;
  if (estimate.confidence) each = 1.0 - (1.0 - *estimate.confidence) / layout.variants;
  KnownShare known{score, {0.0, 0.0}};
  std::vector<ShareInterval> intervals;
  for (Hits const& hits : positive) intervals.push_back(interval_of(hits, n, each));
  for (auto const& a : intervals) {
    for (auto const& b : intervals) {
      known.interval.low = std::max(known.interval.low, a.low - b.high);
      known.interval.high = std::max(known.interval.high, a.high - b.low);
    }
  }
  return known;
}

}  // namespace fairlane
