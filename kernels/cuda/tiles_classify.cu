// Labels of whole groups.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(ClassifyTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
