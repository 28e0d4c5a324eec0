// Tile kernels by the stand-in, with packs that fill as many lanes as on a GPU.
#include "tests/kernels/device/stand_in_device.h"

#include "tests/kernels/core/vector_pack.h"

namespace fairlane {

void StandInDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  call();
  if (tile_runs_ != nullptr) ++(*tile_runs_)[plan.packs];
  switch (plan.packs) {
    case 4:
      return run_tiles<VectorPack, 4>(kernel, plan, range);
    case 2:
      return run_tiles<VectorPack, 2>(kernel, plan, range);
    default:
      return run_tiles<VectorPack, 1>(kernel, plan, range);
  }
}

void StandInDevice::run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  call();
  switch (plan.members) {
    case 4:
      return run_windows<VectorPack, 4>(kernel, plan, lanes);
    case 2:
      return run_windows<VectorPack, 2>(kernel, plan, lanes);
    case kSpreadMembers:
      return run_windows<VectorPack, kSpreadMembers>(kernel, plan, lanes);
    default:
      return run_windows<VectorPack, 1>(kernel, plan, lanes);
  }
}

}  // namespace fairlane
