// Partners by lot, where labels are not kept.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

template cudaError_t launch_tiles(DrawPartnerTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
