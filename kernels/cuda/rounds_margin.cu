// Rounds of the margin method's local search.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(MarginRounds const&, RoundPlan const&, int, cudaStream_t);

}  // namespace fairlane
