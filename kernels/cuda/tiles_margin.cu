// Margins within similar sets.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(MarginTiles const&, TilePlan const&, Range, cudaStream_t);
template cudaError_t launch_tiles(PairMarginTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
