#include "engine/plausibility/selection.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace fairlane {
namespace {

/// 1 - r / n of each candidate.
std::vector<double> rank_weights(std::vector<std::size_t> const& candidates,
                                 std::span<double const> severity) {
  std::vector<double> descending;
  for (auto const i : candidates) descending.push_back(severity[i]);
  std::sort(descending.begin(), descending.end(), std::greater<>());
  std::vector<double> weights;
  for (auto const i : candidates) {
    auto const equal =
        std::lower_bound(descending.begin(), descending.end(), severity[i], std::greater<>());
    weights.push_back(1.0 - static_cast<double>(equal - descending.begin()) /
                                static_cast<double>(candidates.size()));
  }
  return weights;
}

}  // namespace

std::vector<std::size_t> choose_different(PlausibilityModel const& model,
                                          std::span<std::int32_t const> rows,
                                          std::span<double const> severity,
                                          std::span<Plausibility const> plausibility,
                                          std::size_t count, double at_most) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < plausibility.size(); ++i)
    if (plausibility[i].implausibility() <= at_most) candidates.push_back(i);
  if (candidates.size() < count) {
    candidates.resize(plausibility.size());
    std::iota(candidates.begin(), candidates.end(), std::size_t{0});
  }
  std::vector<std::size_t> chosen;
  if (candidates.empty() || count == 0) return chosen;

  auto const weights = rank_weights(candidates, severity);
  auto const row = [&](std::size_t i) { return rows.data() + i * model.attributes(); };
  // The first that is weighted highest is the first of the most severe.
  auto best =
      static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  std::vector<double> least(candidates.size(), std::numeric_limits<double>::infinity());
  while (true) {
    chosen.push_back(candidates[best]);
    if (chosen.size() == count) return chosen;
    double most = 0.0;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      least[c] = std::min(least[c], model.distance(row(candidates[c]), row(chosen.back())));
      if (weights[c] * least[c] <= most) continue;
      most = weights[c] * least[c];
      best = c;
    }
    if (most == 0.0) return chosen;
  }
}

}  // namespace fairlane
