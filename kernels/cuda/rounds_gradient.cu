// Rounds of the local search with gradients by backpropagation.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(WeightedRounds<GradientTiles> const&, RoundPlan const&, int,
                                   cudaStream_t);

}  // namespace fairlane
