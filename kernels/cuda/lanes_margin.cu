// Kernels over lanes of the margin method.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

#define FL_LAUNCH(K) template cudaError_t launch_lanes(K const&, Range, int, cudaStream_t)
FL_LAUNCH(BeginMargin);
FL_LAUNCH(RecordMargin);
FL_LAUNCH(NewtonLanes);
FL_LAUNCH(MarkStale);
FL_LAUNCH(PairSides);
FL_LAUNCH(RenewMargin);
FL_LAUNCH(MoveMargin);
FL_LAUNCH(SettleMargin);
FL_LAUNCH(BeginLattice);
FL_LAUNCH(PlanLattice);
FL_LAUNCH(TryMove);
FL_LAUNCH(SettleTrial);
FL_LAUNCH(MarkTested);
#undef FL_LAUNCH

}  // namespace fairlane
