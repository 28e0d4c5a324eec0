#include "kernels/device/route.h"

#include "base/error.h"
#include "kernels/device/tile_kernels.h"

namespace fairlane {

namespace {

/// Multiply-adds of the wide route per activation that it writes and reads. GPUs do about six
/// multiply-adds in the time of a byte of memory; below this the activations' way to memory and
/// back (eight bytes) would take the longer part.
constexpr std::int64_t kWideReuse = 64;

}  // namespace

Route make_route(Subject const& subject, DeviceLimits const& limits) {
  auto const& net = subject.network;
  std::int64_t multiply_adds = 0;
  for (int l = 0; l < net.layers; ++l) {
    auto const& layer = net.layer[l].forward;
    multiply_adds += static_cast<std::int64_t>(layer.inputs) * layer.outputs;
  }
  // With its activations on chip the fused route is better at any width.
  ArenaView arena;  // of which the plan sees the size: weights and their transposes
  arena.bytes = 2 * multiply_adds * static_cast<std::int64_t>(sizeof(float));
  if (make_tile_plan(subject, ProbeTiles::kNeeds, arena, limits).shared_scratch)
    return Route::kFused;
  return multiply_adds >= kWideReuse * net.sum_width ? Route::kWide : Route::kFused;
}

Route find_route(std::string const& name, Subject const& subject, DeviceLimits const& limits) {
  if (subject.network.layers == 0) return Route::kScored;
  if (name.empty()) return make_route(subject, limits);
  if (name == "fused") return Route::kFused;
  if (name == "wide") return Route::kWide;
  throw Error(ExitCode::kUsage, "route: '" + name + "', expected fused or wide");
}

}  // namespace fairlane
