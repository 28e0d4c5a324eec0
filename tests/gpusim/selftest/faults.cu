// Kernels with one fault each.
#include "tests/gpusim/selftest/cases.h"

namespace fairlane::gpusim {

namespace {

constexpr unsigned kAll = ~0U;
constexpr int kCount = 512;

/// Ends the program where the simulator does not.
template <class Kernel, class... Arguments>
bool run(Kernel const& kernel, int blocks, int threads, Arguments... arguments) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads)>>>(arguments...);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return true;
}

__global__ void no_barrier_(int* out) {
  __shared__ int part[256];
  part[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = part[(threadIdx.x + 37) % 256];
}
bool no_barrier() { return run(no_barrier_, 1, 256, OnDevice<int>(kCount).data()); }

__global__ void one_place_(int* out) { *out = static_cast<int>(threadIdx.x + blockIdx.x); }
bool one_place() { return run(one_place_, 2, 64, OnDevice<int>(kCount).data()); }

/// Reads what another warp overwrites.
__global__ void read_first_(int* out) {
  int const x = out[(threadIdx.x + 32) % 64];
  out[threadIdx.x] = x + 1;
}
bool read_first() {
  OnDevice<int> out(kCount);
  out.zero();
  return run(read_first_, 1, 64, out.data());
}

/// Threads of a warp that no longer go together.
__global__ void no_warp_barrier_(int* out) {
  __shared__ int part[32];
  part[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = part[31 - threadIdx.x];
}
bool no_warp_barrier() { return run(no_warp_barrier_, 1, 32, OnDevice<int>(kCount).data()); }

__global__ void past_the_end_(int* out, int n) { out[n - 1 + static_cast<int>(threadIdx.x)] = 1; }
bool past_the_end() { return run(past_the_end_, 1, 2, OnDevice<int>(kCount).data(), kCount); }

__global__ void over_the_end_(int* out, int n) { *reinterpret_cast<long long*>(out + n - 1) = 1; }
bool over_the_end() {
  return run(over_the_end_, 1, 1, OnDevice<int>(kCount - 1).data(), kCount - 1);
}

__global__ void nowhere_(int* out) { out[threadIdx.x] = 1; }
bool nowhere() { return run(nowhere_, 1, 2, static_cast<int*>(nullptr)); }

bool freed() {
  int* const gone = OnDevice<int>(kCount).data();
  return run(nowhere_, 1, 2, gone);
}

__global__ void misaligned_(char* out) { *reinterpret_cast<int*>(out + 1 + threadIdx.x) = 1; }
bool misaligned() {
  return run(misaligned_, 1, 1, reinterpret_cast<char*>(OnDevice<int>(kCount).data()));
}

__global__ void past_shared_(int* out, int at) {
  __shared__ int part[64];
  part[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = part[static_cast<int>(threadIdx.x) + at];
}
bool past_shared() { return run(past_shared_, 1, 64, OnDevice<int>(kCount).data(), 1); }

__global__ void past_local_(int* out, int at) {
  int part[8];
  for (int i = 0; i < 8; ++i) part[i] = out[i] + i;
  for (int i = 0; i < 8; ++i) part[(i * at) % 9 + 100 * at] += i;
  out[threadIdx.x] = part[at % 8];
}
bool past_local() {
  OnDevice<int> out(kCount);
  out.zero();
  return run(past_local_, 1, 1, out.data(), 5);
}

__global__ void unwritten_(int const* in, int* out) { out[threadIdx.x] = in[threadIdx.x]; }
bool unwritten() {
  OnDevice<int> const in(kCount);
  return run(unwritten_, 1, 32, static_cast<int const*>(in.data()), OnDevice<int>(kCount).data());
}

__global__ void unwritten_shared_(int* out) {
  __shared__ int part[64];
  if (threadIdx.x < 32) part[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x];
}
bool unwritten_shared() { return run(unwritten_shared_, 1, 64, OnDevice<int>(kCount).data()); }

bool unwritten_copy() { return OnDevice<int>(kCount).values().size() == kCount; }

__global__ void half_a_warp_(int* out) {
  auto x = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) {
    x = __shfl_sync(kAll, x, 3);
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = x;
}
bool half_a_warp() { return run(half_a_warp_, 1, 32, OnDevice<int>(kCount).data()); }

__global__ void two_barriers_(int* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
}
bool two_barriers() { return run(two_barriers_, 1, 64, OnDevice<int>(kCount).data()); }

/// The third warp reads what the first two have met after.
__global__ void other_team_(int* out) {
  __shared__ int part[96];
  part[threadIdx.x] = static_cast<int>(threadIdx.x);
  unsigned const number = 1 + threadIdx.x / 64;
  unsigned const threads = threadIdx.x / 64 == 0 ? 64 : 32;
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
  out[threadIdx.x] = part[(threadIdx.x + 32) % 96];
}
bool other_team() { return run(other_team_, 1, 96, OnDevice<int>(kCount).data()); }

__global__ void half_of_a_team_(int* out) {
  if (threadIdx.x % 2 == 0) asm volatile("bar.sync 1, 32;" ::: "memory");
  out[threadIdx.x] = 1;
}
bool half_of_a_team() { return run(half_of_a_team_, 1, 64, OnDevice<int>(kCount).data()); }

__global__ void foreign_mask_(int* out) {
  if (threadIdx.x == 0 || threadIdx.x > 3) return;
  out[threadIdx.x] = __shfl_sync(6U, static_cast<int>(threadIdx.x), 1);
}
bool foreign_mask() { return run(foreign_mask_, 1, 32, OnDevice<int>(kCount).data()); }

__global__ void ended_lanes_(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_sync(kAll, static_cast<int>(threadIdx.x), 3);
}
bool ended_lanes() { return run(ended_lanes_, 1, 32, OnDevice<int>(kCount).data()); }

__global__ void from_outside_(int* out) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = __shfl_sync(0xFFFFU, static_cast<int>(threadIdx.x), 20);
}
bool from_outside() { return run(from_outside_, 1, 32, OnDevice<int>(kCount).data()); }

__global__ void trapped_() { __trap(); }
bool trapped() { return run(trapped_, 1, 1); }

__global__ void other_space_(int* out) {
  out[threadIdx.x] = static_cast<int>(__cvta_generic_to_shared(out));
}
bool other_space() { return run(other_space_, 1, 1, OnDevice<int>(kCount).data()); }

__global__ void unknown_(float* out) {
  float x = 0.0F;
  asm volatile("tanh.approx.f32 %0, %1;" : "=f"(x) : "f"(1.0F));
  *out = x;
}
bool unknown() { return run(unknown_, 1, 1, OnDevice<float>(1).data()); }

bool long_copy() {
  OnDevice<int> const out(kCount);
  std::vector<int> to(kCount + 1);
  return cudaMemcpy(to.data(), out.data(), to.size() * sizeof(int), cudaMemcpyDeviceToHost) ==
         cudaSuccess;
}

}  // namespace

std::vector<Case> faulty_cases() {
  return {{"no_barrier", no_barrier},
          {"one_place", one_place},
          {"read_first", read_first},
          {"no_warp_barrier", no_warp_barrier},
          {"past_the_end", past_the_end},
          {"over_the_end", over_the_end},
          {"nowhere", nowhere},
          {"freed", freed},
          {"misaligned", misaligned},
          {"past_shared", past_shared},
          {"past_local", past_local},
          {"unwritten", unwritten},
          {"unwritten_shared", unwritten_shared},
          {"unwritten_copy", unwritten_copy},
          {"half_a_warp", half_a_warp},
          {"two_barriers", two_barriers},
          {"other_team", other_team},
          {"half_of_a_team", half_of_a_team},
          {"foreign_mask", foreign_mask},
          {"ended_lanes", ended_lanes},
          {"from_outside", from_outside},
          {"trapped", trapped},
          {"other_space", other_space},
          {"unknown", unknown},
          {"long_copy", long_copy}};
}

}  // namespace fairlane::gpusim
