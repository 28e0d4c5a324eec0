#include "engine/verify/evaluation_choice.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/verify/boxes/proof_tree.h"

namespace fairlane {
namespace {

constexpr double kLook = 0.7;               // what deciding a box costs on an average, as measured
constexpr std::int64_t kSizeMemory = 4096;  // boxes of a size after which older ones count half

/// The exponent of the greatest power of two that is not above.
std::size_t size_of(double groups) {
  return static_cast<std::size_t>(std::clamp(std::ilogb(groups), 0, 63));
}

}  // namespace

void EvaluationChoice::learn(double groups, bool decided) {
  std::size_t const size = size_of(groups);
  if (++boxes_[size] == kSizeMemory) {
    boxes_[size] /= 2;
    decided_[size] /= 2;
  }
  decided_[size] += decided ? 1 : 0;
}

void EvaluationChoice::weigh(MeasureCosts const& costs) {
  costs_ = costs;
  // Of sizes that nothing is known of, half of the boxes are hoped to be decided.
  double box = costs.evaluation(0.75);
  for (std::size_t size = 0; size < kSizes; ++size) {
    halves_[size] = 2.0 * box;
    double const open =
        1.0 - static_cast<double>(decided_[size] + 1) / static_cast<double>(boxes_[size] + 2);
    double const groups = std::ldexp(1.5, static_cast<int>(size));
    double const evaluated =
        groups <= kMostEvaluatedGroups ? costs.evaluation(groups) : halves_[size];
    box = kLook + open * std::min(evaluated, halves_[size]);
  }
}

bool EvaluationChoice::evaluates(double groups) const {
  return std::isfinite(costs_.group) && groups <= kMostEvaluatedGroups &&
         costs_.evaluation(groups) <= halves_[size_of(groups)];
}

void EvaluationChoice::write(CheckpointWriter& state) const {
  state.add("sizes_looked_at", std::vector<std::int64_t>(boxes_.begin(), boxes_.end()));
  state.add("sizes_decided", std::vector<std::int64_t>(decided_.begin(), decided_.end()));
}

void EvaluationChoice::read(CheckpointReader const& state) {
  auto const boxes = state.values<std::int64_t>("sizes_looked_at");
  auto const decided = state.values<std::int64_t>("sizes_decided");
  if (boxes.size() != kSizes || decided.size() != kSizes)
    throw std::out_of_range("saved sizes of boxes are cut off");
  std::ranges::copy(boxes, boxes_.begin());
  std::ranges::copy(decided, decided_.begin());
}

}  // namespace fairlane
