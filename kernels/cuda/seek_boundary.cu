// The global phase of the margin method.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(SeekBoundary const&, RoundPlan const&, int, cudaStream_t);

}  // namespace fairlane
