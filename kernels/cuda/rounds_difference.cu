// Rounds of the local search with gradients by differences.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(WeightedRounds<DifferenceTiles> const&, RoundPlan const&, int,
                                   cudaStream_t);

}  // namespace fairlane
