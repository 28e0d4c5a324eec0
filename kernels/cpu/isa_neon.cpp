// Lane kernels for AArch64 NEON, the baseline of that architecture.
#define FL_ISA isa_neon
#include "kernels/cpu/find_visits_hwy.h"
// (after the pack)
#include "kernels/boxes/box_lanes.h"
#include "kernels/cpu/box_pack_hwy.h"
#include "kernels/cpu/lane_kernels_inl.h"

namespace fairlane {

LaneKernels const* kernels_neon() {
  constexpr int kPacks = 2;  // 2 packs x 8 outputs of the 32 registers
  constexpr int kOutputs = 8;
  return isa_neon::Kernels<isa_neon::SimdPack, kPacks, kOutputs>::table("neon");
}

BoxKernels const* box_kernels_neon() { return BoxTiles<isa_neon::SimdBoxPack>::table(); }

}  // namespace fairlane
