#include "engine/search/lockstep/step_adaptation.h"

#include <algorithm>
#include <utility>

namespace fairlane {
namespace {

constexpr double kAttributeChange = 0.001;  // of an attribute's probability, by one step
constexpr std::int64_t kDirectionChange =
    1;                                     // of a direction's, in parts of kDirectionOdds, per code
constexpr std::uint64_t kStepsAtOnce = 8;  // between two normalisations: they change little

/// Steps along attribute i with this direction and outcome.
std::int64_t count(std::span<std::uint64_t const> events, std::size_t i, bool up, bool hit) {
  std::int32_t const choice = 2 * static_cast<std::int32_t>(i) + (up ? 1 : 0);
  return static_cast<std::int64_t>(events[static_cast<std::size_t>(event_of(choice, hit))]);
}

}  // namespace

StepAdaptation::StepAdaptation(MethodSpec const& method, int movable, std::int32_t step)
    : adapts_directions_(method.adapts_directions),
      adapts_attributes_(method.adapts_attributes),
      step_(step),
      down_(static_cast<std::size_t>(movable), kDirectionOdds / 2),
      share_(static_cast<std::size_t>(movable), 1.0 / movable) {
  cumulate();
}

void StepAdaptation::learn(std::span<std::uint64_t const> events) {
  if (adapts_directions_) learn_directions(events);
  if (adapts_attributes_) learn_attributes(events);
}

void StepAdaptation::learn_directions(std::span<std::uint64_t const> events) {
  for (std::size_t i = 0; i < down_.size(); ++i) {
    std::int64_t const for_down = count(events, i, false, true) + count(events, i, true, false);
    std::int64_t const for_up = count(events, i, true, true) + count(events, i, false, false);
    std::int64_t const change = (for_down - for_up) * step_ * kDirectionChange;
    down_[i] =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(down_[i] + change, 0, kDirectionOdds));
  }
}

void StepAdaptation::learn_attributes(std::span<std::uint64_t const> events) {
  std::uint64_t steps = 0;
  for (std::uint64_t const n : events) steps += n;
  std::uint64_t const parts = (steps + kStepsAtOnce - 1) / kStepsAtOnce;
  std::vector<double> change(share_.size());
  for (std::size_t i = 0; i < share_.size(); ++i) {
    std::int64_t const hits = count(events, i, false, true) + count(events, i, true, true);
    std::int64_t const misses = count(events, i, false, false) + count(events, i, true, false);
    change[i] = kAttributeChange * (static_cast<double>(hits - misses) /
                                    static_cast<double>(std::max<std::uint64_t>(parts, 1)));
  }
  for (std::uint64_t part = 0; part < parts; ++part) {
    double sum = 0.0;
    for (std::size_t i = 0; i < share_.size(); ++i) {
      share_[i] = std::max(share_[i] + change[i], 0.0);
      sum += share_[i];
    }
    for (double& share : share_) share /= sum;
  }
  cumulate();
}

void StepAdaptation::restore(std::vector<std::int32_t> down, std::vector<double> share) {
  down_ = std::move(down);
  share_ = std::move(share);
  cumulate();
}

void StepAdaptation::cumulate() {
  up_to_.clear();
  double sum = 0.0;
  for (double const share : share_) {
    sum += share;
    // Rounded, so that an attribute without a share is never drawn, not even the last one.
    up_to_.push_back(static_cast<std::int32_t>(std::min(sum, 1.0) * kAttributeOdds + 0.5));
  }
  up_to_.back() = kAttributeOdds;
}

}  // namespace fairlane
