// Classification in stages.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(ClassifySomeTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
