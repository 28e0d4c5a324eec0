// The kernels of a walk.
#include "kernels/cuda/launch.cuh"

namespace fairlane {

/// A warp's threads tally their pack together: each sees all its lanes' words.
struct WarpTally {
  static __device__ __forceinline__ bool takes(int i) { return i % kWarpLanes == warp_lane(); }
  static __device__ __forceinline__ std::uint64_t lanes(std::uint64_t word) {
    return word & (1ULL << warp_lane());
  }
  static __device__ __forceinline__ void add(std::uint64_t* counter, std::uint64_t count) {
    if (count > 0) atomicAdd(reinterpret_cast<unsigned long long*>(counter), count);
  }
  static __device__ __forceinline__ void merge(std::uint64_t* word, std::uint64_t bits) {
    atomicOr(reinterpret_cast<unsigned long long*>(word), bits);
  }
  static __device__ __forceinline__ void settle() { __syncwarp(); }
};

template <bool kOnChip>
struct TallyTeam<WarpPack<kOnChip>> {
  using Own = WarpTally;
};

template cudaError_t launch_lanes(LoadWalkHeads const&, Range, int, cudaStream_t);
template cudaError_t launch_lanes(CopyMembers const&, Range, int, cudaStream_t);
template cudaError_t launch_tiles(MemberTiles const&, TilePlan const&, Range, cudaStream_t);
template cudaError_t launch_tiles(TallyTiles const&, TilePlan const&, Range, cudaStream_t);

}  // namespace fairlane
