// Starts the kernels on a stream. Declared for the host compiler; each kernel is instantiated in
// one .cu file, so that one which none of them names is an undefined symbol of the linker.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/device/device.h"

namespace fairlane {

/// Warps of a block of tiles, whose threads share the registers.
inline constexpr int kMostTileWarps = 16;

/// Runs a kernel for every index of the range on a device with that many multiprocessors.
template <class K>
cudaError_t launch_lanes(K const& kernel, Range range, int multiprocessors, cudaStream_t stream);

/// Runs a kernel for every tile of lanes that holds an index of the range. plan.warps is at most
/// kMostTileWarps.
template <class K>
cudaError_t launch_tiles(K const& kernel, TilePlan const& plan, Range range, cudaStream_t stream);

/// Runs a kernel for every window of the lanes.
template <class K>
cudaError_t launch_rounds(K const& kernel, RoundPlan const& plan, int lanes, cudaStream_t stream);

/// Runs a kernel over a walk.
template <class K>
cudaError_t launch_walk(K const& kernel, WalkShape const& shape, cudaStream_t stream);

/// Runs every block of a kernel.
template <class K>
cudaError_t launch_blocks(K const& kernel, cudaStream_t stream);

/// Whether the current device can run what this build compiled: cudaSuccess, or why not.
cudaError_t probe_code();

}  // namespace fairlane
