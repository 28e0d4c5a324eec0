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

/// Of two known shares; as a fraction, so that it is rounded once where all are of equally many.
double difference(SampledHits const& more, SampledHits const& less) {
  if (more.of == less.of) return share_of(more.hits.known - less.hits.known, more.of);
  return share_of(more.hits.known, more.of) - share_of(less.hits.known, less.of);
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
  SampledHits const hits = samples.input_hits();
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
  if (layout.variants == 0) return {};
  auto const& counts = estimate.samples.counts;
  FeasibleCounts const existing = estimate.samples.feasible();
  std::vector<SampledHits> positive;  // of variants of which a member exists
  for (int v = 0; v < layout.variants; ++v) {
    auto const i = static_cast<std::size_t>(v);
    if (existing.members[i] == 0) continue;
    std::int64_t const known = counts.at(layout.positive(v));
    positive.push_back({{known, known + existing.undefined_members[i]}, existing.members[i]});
  }
  if (positive.empty()) return {};
  auto const [least, most] = std::ranges::minmax(
      positive, {}, [](SampledHits const& one) { return share_of(one.hits.known, one.of); });
  double const score = difference(most, least);
  if (!estimate.confidence && existing.undefined == 0) return {score, {score, score}};
  // Every variant's rate lies within its interval at once.
  std::optional<double> each;
  if (estimate.confidence) each = 1.0 - (1.0 - *estimate.confidence) / layout.variants;
  KnownShare known{score, {0.0, 0.0}};
  std::vector<ShareInterval> intervals;
  for (SampledHits const& one : positive) intervals.push_back(interval_of(one.hits, one.of, each));
  for (auto const& a : intervals) {
    for (auto const& b : intervals) {
      known.interval.low = std::max(known.interval.low, a.low - b.high);
      known.interval.high = std::max(known.interval.high, a.high - b.low);
    }
  }
  return known;
}

}  // namespace fairlane
