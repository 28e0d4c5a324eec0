// The kernels of a walk.
#include "kernels/cuda/launch_walk.cuh"

namespace fairlane {

/// A tally whose pack's heads share words of 64 bits with other warps'.
struct WarpTally : WarpShare {
  using Word = std::uint64_t;
  using Counter = std::uint64_t;
  using Mixed = std::uint64_t;
  static __device__ __forceinline__ Word lanes(Word word) { return word & (1ULL << warp_lane()); }
  static __device__ __forceinline__ void add(Counter* counter, std::uint64_t count) {
    if (count > 0) atomicAdd(reinterpret_cast<unsigned long long*>(counter), count);
  }
  static __device__ __forceinline__ void merge(Mixed* word, int bit, Word bits) {
    if (bits != 0) atomicOr(reinterpret_cast<unsigned long long*>(word), bits << bit);
  }
};

template <bool kOnChip>
struct TallyTeam<WarpPack<kOnChip>> {
  using Own = WarpTally;
};

template cudaError_t launch_lanes(LoadWalkHeads const&, Range, int, cudaStream_t);
template cudaError_t launch_lanes(CopyMembers const&, Range, int, cudaStream_t);
template cudaError_t launch_tiles(MemberTiles const&, TilePlan const&, Range, cudaStream_t);
template cudaError_t launch_walk(WalkGroups const&, WalkShape const&, cudaStream_t);
template cudaError_t launch_tiles(TallyTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
