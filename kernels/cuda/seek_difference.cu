// The global phase by gradients from differences.
#include "kernels/cuda/launch_rounds.cuh"

namespace fairlane {

template cudaError_t launch_rounds(SeekBySigns<DifferenceTiles> const&, RoundPlan const&, int,
                                   cudaStream_t);

}  // namespace fairlane
