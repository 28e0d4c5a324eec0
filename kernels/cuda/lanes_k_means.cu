// Kernels over rows: k-means.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

#define FL_LAUNCH(K) template cudaError_t launch_lanes(K const&, Range, int, cudaStream_t)
FL_LAUNCH(LowerWeights);
FL_LAUNCH(AssignRows);
FL_LAUNCH(RaiseFarthest);
FL_LAUNCH(NameFarthest);
#undef FL_LAUNCH

}  // namespace fairlane
