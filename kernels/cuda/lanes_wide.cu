// Kernels over lanes of the wide route.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

#define FL_LAUNCH(K) template cudaError_t launch_lanes(K const&, Range, int, cudaStream_t)
FL_LAUNCH(LoadMembers);
FL_LAUNCH(LoadRows);
FL_LAUNCH(StoreScores);
FL_LAUNCH(DropInfeasible);
FL_LAUNCH(ProbeStored);
FL_LAUNCH(ClassifyStored);
FL_LAUNCH(ClassifySomeStored);
FL_LAUNCH(MarginStored);
FL_LAUNCH(PairMarginStored);
FL_LAUNCH(TryPartnerStored);
FL_LAUNCH(CountPartnerStored);
FL_LAUNCH(DifferenceStored);
FL_LAUNCH(StepGradients);
FL_LAUNCH(LogitGradients);
FL_LAUNCH(FinishDense);
FL_LAUNCH(ActivateSums);
FL_LAUNCH(MarkSuspects);
FL_LAUNCH(ForgetLabels);
#undef FL_LAUNCH

}  // namespace fairlane
