#include "engine/verify/deciders/most_groups.h"

#include <algorithm>
#include <cmath>

namespace fairlane {
namespace {

constexpr int kHalvings = 6;       // of the share between the lines, to that of one tail
constexpr double kLeast = 1.0e-6;  // of such shares
constexpr double kWide = 2.5;      // deviations as wide as the output's density is high
constexpr double kFar = 3.0;       // deviations up to where it is
constexpr double kThin = 0.02;     // of the density: what it is beyond

}  // namespace

MostGroups::MostGroups(BoxDomain const& domain, VerifyQuery const& query)
    : domain_(domain), query_(query) {}

MostGroups::Between MostGroups::between(OutputLines const& lines,
                                        std::span<InputSpread const> spread, double closer) const {
  double below = lines.below_constant;
  double above = lines.above_constant;
  double variance = 0.0;
  for (std::size_t k = 0; k < spread.size(); ++k) {
    double const mean = (spread[k].mean_low + spread[k].mean_high) / 2.0;
    double const slope = (lines.below[k] + lines.above[k]) / 2.0;
    below += lines.below[k] * mean;
    above += lines.above[k] * mean;
    variance += slope * slope * spread[k].variance;
  }
  double const width = std::max(above - below - closer, 0.0);
  double const deviation = std::sqrt(variance);
  double const off =
      std::max(std::abs((below + above) / 2.0 - query_.threshold) - width / 2.0, 0.0);
  double const far = deviation > 0.0 ? off / (kFar * deviation) : 0.0;
  double const reach = width + kWide * deviation;
  if (!(reach > 0.0)) return {};
  double const density = std::max(1.0 - far * far, kThin) / reach;
  return {width * density, density};
}

void MostGroups::ask(LaneBounds& bounds, int lane, std::span<AxisRange const> box,
                     OutputLines const& lines, double closer) {
  asked_.resize(bounds.lanes());
  Asked& asked = asked_[static_cast<std::size_t>(lane)];
  asked.spread.resize(static_cast<std::size_t>(domain_.inputs()));
  domain_.spread(box, asked.spread.data());
  asked.between = between(lines, asked.spread, closer).share;
  int const halvings = kHalvings - std::ilogb(std::max(asked.between, kLeast));
  bounds.ask_for_most(lane, asked.spread, query_.threshold, halvings);
}

std::optional<MostLines> MostGroups::take(LaneBounds& bounds, int lane) const {
  Asked const& asked = asked_[static_cast<std::size_t>(lane)];
  BoxMemory const& memory = bounds.memory();
  BoxLanes const& b = memory.get();
  MostLines most{bounds.read(lane), memory.at(b.left_out, 0, lane)};
  most.lines.above_constant += memory.at(b.crossing, 0, lane);
  double const density = between(most.lines, asked.spread, 0.0).density;
  auto const move = [&](double spill, double direction, double& constant) {
    if (spill == 0.0) return;
    // What the line is moved by leaves more between the lines, and less out: together the least.
    double const by = std::sqrt(spill / density);
    constant += direction * by;
    most.left_out += spill / by;
  };
  move(memory.at(b.below_spill, 0, lane), -1.0, most.lines.below_constant);
  move(memory.at(b.above_spill, 0, lane), 1.0, most.lines.above_constant);
  double const left = between(most.lines, asked.spread, 0.0).share + most.left_out;
  if (!(left < asked.between)) return {};
  return most;
}

}  // namespace fairlane
