// Full evaluation of similar sets.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(ProbeTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
