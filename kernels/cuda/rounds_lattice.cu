// Tests of moves of several attributes from a wave's origins.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(LatticeRounds const&, RoundPlan const&, int, cudaStream_t);

}  // namespace fairlane
