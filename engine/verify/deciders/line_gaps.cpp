#include "engine/verify/deciders/line_gaps.h"

#include <algorithm>
#include <cmath>

namespace fairlane {

void LineGaps::find(BoxNetwork const& network, BoxMemory const& memory, int first) {
  BoxLanes const& b = memory.get();
  int const lanes = std::min(kLanes, memory.lanes() - first);
  auto const weigh = [&](BoxLayer const& layer, std::vector<Row>& to, int at) {
    kernels_.weigh(layer, units_[static_cast<std::size_t>(layer.first_unit)].effect, 2 * kLanes,
                   to[static_cast<std::size_t>(at)].effect);
  };
  units_.resize(static_cast<std::size_t>(network.units));
  inputs_.resize(static_cast<std::size_t>(network.inputs));
  units_.back() = {};
  std::ranges::fill(units_.back().effect, 1.0);
  for (int l = network.layers - 2; l >= 0; --l) {
    BoxLayer const& layer = network.layer[l];
    weigh(network.layer[l + 1], units_, layer.first_unit);
    for (int u = layer.first_unit; u < layer.first_unit + layer.outputs; ++u) {
      Row& row = units_[static_cast<std::size_t>(u)];
      for (int i = 0; i < lanes; ++i) {
        double const low = memory.at(b.sum_low, u, first + i);
        double const high = memory.at(b.sum_high, u, first + i);
        double slope = 1.0;
        double bend = layer.straight ? 1.0 - layer.slope : 1.0;
        if (layer.straight && low >= 0.0) {
          bend = 0.0;
        } else if (layer.straight && high <= 0.0) {
          bend = 0.0;
          slope = layer.slope;
        } else if (layer.straight && std::isfinite(high - low)) {
          slope = (high - layer.slope * low) / (high - low);
        }
        row.gap[i] = slope * row.gap[i] + bend * row.effect[i];
        row.effect[i] *= slope;
      }
    }
  }
  weigh(network.layer[0], inputs_, 0);
}

std::vector<double> LineGaps::of(int lane) const {
  std::vector<double> gaps;
  gaps.reserve(inputs_.size());
  for (Row const& row : inputs_) gaps.push_back(row.gap[lane]);
  return gaps;
}

}  // namespace fairlane
