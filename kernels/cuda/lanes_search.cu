// Kernels over lanes: gradient-guided and random searches, and the record of visits.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

#define FL_LAUNCH(K) template cudaError_t launch_lanes(K const&, Range, int, cudaStream_t)
FL_LAUNCH(PlaceLanes);
FL_LAUNCH(DrawLanes);
FL_LAUNCH(MoveLanes);
FL_LAUNCH(PackRows);
FL_LAUNCH(RecordProbed);
FL_LAUNCH(PairRows);
FL_LAUNCH(AdvanceLanes);
FL_LAUNCH(MarkOrigins);
FL_LAUNCH(WeighLanes);
FL_LAUNCH(MarkDue);
FL_LAUNCH(DrawPartners);
FL_LAUNCH(StepLanes);
FL_LAUNCH(FindLanes);
FL_LAUNCH(GatherRows);
FL_LAUNCH(KeepStage);
FL_LAUNCH(NextStage);
FL_LAUNCH(RecordClassified);
FL_LAUNCH(SettleLanes);
FL_LAUNCH(StepByOdds);
FL_LAUNCH(SettleByOdds);
FL_LAUNCH(RehashSlots);
FL_LAUNCH(MarkOwned);
FL_LAUNCH(GatherSlots);
FL_LAUNCH(MergeSlots);
FL_LAUNCH(CountVisits);
FL_LAUNCH(PickFindings);
FL_LAUNCH(TakeColumn);
FL_LAUNCH(PackRecords);
#undef FL_LAUNCH

cudaError_t probe_code() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, run_lanes<SettleLanes>);
}

}  // namespace fairlane
