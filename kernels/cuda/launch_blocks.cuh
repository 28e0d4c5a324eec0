// The third shape of kernel: blocks whose threads work together.
#pragma once

#include "kernels/cuda/launch.h"

namespace fairlane {

/// Threads of a multiprocessor that run_blocks asks registers for: 128 for each.
inline constexpr int kTeamThreads = 512;

/// The threads of a block, each for itself; see DenseBlocks.
template <class K>
class DeviceTeam {
 public:
  __device__ explicit DeviceTeam(float* shared) : shared_(shared) {}
  __device__ __forceinline__ float* shared() const { return shared_; }
  template <class Work>
  __device__ __forceinline__ void for_each_thread(Work const& work) {
    work(static_cast<int>(threadIdx.x), registers_);
    __syncthreads();
  }

 private:
  float* shared_;
  typename K::Registers registers_;
};

template <class K>
__global__ void __launch_bounds__(K::kThreads, kTeamThreads / K::kThreads)
    run_blocks(__grid_constant__ K const kernel) {
  __shared__ uint4 shared[K::kSharedFloats * sizeof(float) / sizeof(uint4)];
  DeviceTeam<K> team(reinterpret_cast<float*>(shared));
  kernel(team, static_cast<int>(blockIdx.x));
}

template <class K>
cudaError_t launch_blocks(K const& kernel, cudaStream_t stream) {
  if (kernel.blocks() <= 0) return cudaSuccess;
  run_blocks<K><<<static_cast<unsigned>(kernel.blocks()), K::kThreads, 0, stream>>>(kernel);
  return cudaGetLastError();
}

}  // namespace fairlane
