#include "engine/verify/deciders/lane_bounds.h"

#include <limits>

namespace fairlane {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

LaneBounds::LaneBounds(BoxDomain const& domain, BoundNetwork const& network, Backend& backend)
    : domain_(domain),
      networks_(network),
      batch_(backend.make_box_batch(network)),
      inputs_(static_cast<std::size_t>(network.get().inputs)) {}

void LaneBounds::load_inputs(int lane, std::span<AxisRange const> box,
                             std::span<int const> variants) {
  domain_.enclose(box, inputs_.data());
  domain_.enclose_variants(variants, inputs_.data());
  BoxMemory& memory = batch_->memory();
  BoxLanes const& b = memory.get();
  for (int k = 0; k < network().inputs; ++k) {
    memory.at(b.low, k, lane) = inputs_[static_cast<std::size_t>(k)].low;
    memory.at(b.high, k, lane) = inputs_[static_cast<std::size_t>(k)].high;
  }
}

void LaneBounds::load(int lane, std::span<AxisRange const> box, std::span<int const> variants) {
  load_inputs(lane, box, variants);
  BoxMemory& memory = batch_->memory();
  BoxLanes const& b = memory.get();
  for (int u = 0; u < network().units; ++u) {
    memory.at(b.sum_low, u, lane) = -kInfinity;
    memory.at(b.sum_high, u, lane) = kInfinity;
  }
  memory.at(b.share, 0, lane) = 0.0;
}

void LaneBounds::ask_for_most(int lane, std::span<InputSpread const> spread, double level,
                              int halvings) {
  BoxMemory& memory = batch_->memory();
  BoxLanes const& b = memory.get();
  memory.ask_for_most(lane, spread, level, halvings);
  for (int const k : domain_.variant_inputs()) {
    memory.at(b.mean_low, k, lane) = memory.at(b.low, k, lane);
    memory.at(b.mean_high, k, lane) = memory.at(b.high, k, lane);
    memory.at(b.variance, k, lane) = 0.0;
    memory.at(b.breadth, k, lane) = 0.0;
  }
}

OutputLines LaneBounds::read(int lane) {
  BoxMemory& memory = batch_->memory();
  BoxLanes const& b = memory.get();
  auto const inputs = static_cast<std::size_t>(network().inputs);
  OutputLines bounds;
  bounds.least = memory.at(b.least, 0, lane);
  bounds.most = memory.at(b.most, 0, lane);
  bounds.below_constant = memory.at(b.below_constant, 0, lane);
  bounds.above_constant = memory.at(b.above_constant, 0, lane);
  bounds.below.resize(inputs);
  bounds.above.resize(inputs);
  for (std::size_t k = 0; k < inputs; ++k) {
    bounds.below[k] = memory.at(b.below, static_cast<int>(k), lane);
    bounds.above[k] = memory.at(b.above, static_cast<int>(k), lane);
  }
  for (int const input : domain_.variant_inputs()) {
    auto const k = static_cast<std::size_t>(input);
    double const low = memory.at(b.low, input, lane);
    double const high = memory.at(b.high, input, lane);
    bounds.below_constant += bounds.below[k] * (bounds.below[k] < 0.0 ? high : low);
    bounds.above_constant += bounds.above[k] * (bounds.above[k] < 0.0 ? low : high);
    bounds.below[k] = 0.0;
    bounds.above[k] = 0.0;
  }
  return bounds;
}

}  // namespace fairlane
