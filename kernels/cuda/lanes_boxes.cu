// Kernels over boxes.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

#define FL_LAUNCH(K) template cudaError_t launch_lanes(K const&, Range, int, cudaStream_t)
FL_LAUNCH(BoundBoxes);
FL_LAUNCH(NarrowBoxes);
FL_LAUNCH(ProbeBoxes);
#undef FL_LAUNCH

}  // namespace fairlane
