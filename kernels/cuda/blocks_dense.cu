// The wide route's matrix products.
#include "kernels/cuda/launch_blocks.cuh"

namespace fairlane {

template cudaError_t launch_blocks(LargeDense const&, cudaStream_t);
template cudaError_t launch_blocks(SmallDense const&, cudaStream_t);
template cudaError_t launch_blocks(NarrowDense const&, cudaStream_t);

}  // namespace fairlane
