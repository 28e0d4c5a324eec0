#include "engine/verify/deciders/line_gaps.h"

#include <cmath>

namespace fairlane {

std::vector<double> find_gaps(BoxNetwork const& network, BoxMemory const& memory, int lane) {
  BoxLanes const& b = memory.get();
  auto const units = static_cast<std::size_t>(network.units);
  std::vector<double> effects(units);  // of a unit's sum on the output
  std::vector<double> gaps(units);     // of the output, for each unit of its sum's range
  effects[units - 1] = 1.0;
  for (int l = network.layers - 2; l >= 0; --l) {
    BoxLayer const& layer = network.layer[l];
    BoxLayer const& next = network.layer[l + 1];
    double* const effect = &effects[static_cast<std::size_t>(layer.first_unit)];
    double* const gap = &gaps[static_cast<std::size_t>(layer.first_unit)];
    for (int o = 0; o < next.outputs; ++o) {
      auto const behind = static_cast<std::size_t>(next.first_unit + o);
      double const* const weights = next.transposed + static_cast<long>(o) * next.inputs;
      for (int u = 0; u < next.inputs; ++u) {
        effect[u] += std::abs(weights[u]) * effects[behind];
        gap[u] += std::abs(weights[u]) * gaps[behind];
      }
    }
    for (int u = 0; u < layer.outputs; ++u) {
      double const low = memory.at(b.sum_low, layer.first_unit + u, lane);
      double const high = memory.at(b.sum_high, layer.first_unit + u, lane);
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
      gap[u] = slope * gap[u] + bend * effect[u];
      effect[u] *= slope;
    }
  }
  BoxLayer const& first = network.layer[0];
  std::vector<double> of_inputs;
  for (int k = 0; k < first.inputs; ++k) {
    double sum = 0.0;
    for (int u = 0; u < first.outputs; ++u) {
      sum += std::abs(first.weights[static_cast<long>(k) * first.outputs + u]) *
             gaps[static_cast<std::size_t>(u)];
    }
    of_inputs.push_back(sum);
  }
  return of_inputs;
}

}  // namespace fairlane
