// The global phase by gradients from backpropagation.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(SeekBySigns<GradientTiles> const&, RoundPlan const&, int,
                                   cudaStream_t);

}  // namespace fairlane
