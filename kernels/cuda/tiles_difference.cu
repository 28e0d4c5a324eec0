// Gradients by finite differences.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(DifferenceTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
