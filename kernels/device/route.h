// Which route evaluates a model on a device.
#pragma once

#include <string>

#include "kernels/layout/tile_plan.h"

namespace fairlane {

enum class Route : std::uint8_t {
  kFused,   // a warp takes a tile of lanes through the whole network, its activations on chip
  kScored,  // no network: a scorer gives all rows' scores, which are used as by the wide route
  kWide,    // all rows together pass one layer after the other, their activations in device memory
};

/// The better route, from shapes and limits alone. subject: on the host, for its shapes.
Route make_route(Subject const& subject, DeviceLimits const& limits);

/// The route of that name, "fused" or "wide"; empty: make_route's. Throws Error(kUsage).
Route find_route(std::string const& name, Subject const& subject, DeviceLimits const& limits);

}  // namespace fairlane
