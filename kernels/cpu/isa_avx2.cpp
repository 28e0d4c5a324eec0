// Lane kernels for AVX2 and FMA; compiled with -march=haswell.
#if defined(__AVX2__) && defined(__FMA__)
#define FL_ISA isa_avx2
#include "kernels/cpu/find_visits_hwy.h"
// (after the pack)
#include "kernels/boxes/box_lanes.h"
#include "kernels/cpu/box_pack_hwy.h"
#include "kernels/cpu/lane_kernels_inl.h"

namespace fairlane {

LaneKernels const* kernels_avx2() {
  constexpr int kPacks = 2;  // 2 packs x 5 outputs + operands fill the 16 registers
  constexpr int kOutputs = 5;
  return isa_avx2::Kernels<isa_avx2::SimdPack, kPacks, kOutputs>::table("avx2");
}

BoxKernels const* box_kernels_avx2() { return BoxTiles<isa_avx2::SimdBoxPack>::table(); }

}  // namespace fairlane
#else
#error "isa_avx2.cpp needs -mavx2 -mfma"
#endif
