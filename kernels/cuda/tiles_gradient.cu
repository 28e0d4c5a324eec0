// Gradients by backpropagation.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(GradientTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
