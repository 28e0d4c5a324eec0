#include "engine/search/cut.h"

#include <algorithm>

namespace fairlane {

std::vector<StepLimit> step_limits(std::span<std::uint8_t const> done,
                                   std::span<std::uint32_t const> steps) {
  std::vector<StepLimit> limits;
  bool grows = false;  // no item behind the last one would be ended by its limit
  for (std::size_t i = 0; i < done.size(); ++i) {
    std::int64_t const taken = steps[i];
    if (done[i] != 0) {
      grows = grows && taken <= limits.back().steps;
      continue;
    }
    auto const item = static_cast<std::int64_t>(i);
    if (grows && limits.back().steps == taken) {
      limits.back().count = item - limits.back().first + 1;
    } else {
      limits.push_back({item, 1, taken});
      grows = true;
    }
  }
  return limits;
}

StepLimit common_limit(std::span<StepLimit const> limits, std::int64_t first, std::int64_t end,
                       std::int64_t most) {
  auto const at = std::partition_point(limits.begin(), limits.end(), [&](StepLimit const& limit) {
    return limit.first + limit.count <= first;
  });
  if (at == limits.end() || at->first >= end) return {first, end - first, most};
  if (at->first > first) return {first, at->first - first, most};
  return {first, std::min(end, at->first + at->count) - first, std::min(most, at->steps)};
}

}  // namespace fairlane
