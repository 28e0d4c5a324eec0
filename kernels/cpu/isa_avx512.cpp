// Lane kernels for AVX-512 (F, BW, DQ, VL); compiled with -march=skylake-avx512.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define FL_ISA isa_avx512
#include "kernels/cpu/find_visits_hwy.h"
// (after the pack)
#include "kernels/boxes/box_lanes.h"
#include "kernels/cpu/box_pack_hwy.h"
#include "kernels/cpu/lane_kernels_inl.h"

namespace fairlane {

LaneKernels const* kernels_avx512() {
  constexpr int kPacks = 2;  // 2 packs x 8 outputs of the 32 registers
  constexpr int kOutputs = 8;
  return isa_avx512::Kernels<isa_avx512::SimdPack, kPacks, kOutputs>::table("avx512");
}

BoxKernels const* box_kernels_avx512() { return BoxTiles<isa_avx512::SimdBoxPack>::table(); }

}  // namespace fairlane
#else
#error "isa_avx512.cpp needs -march=skylake-avx512"
#endif
