// What threads do together: votes, barriers, atomics, fences.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "tests/gpusim/selftest/cases.h"

namespace fairlane::gpusim {

namespace {

constexpr unsigned kAll = ~0U;

__global__ void vote_all(unsigned* out) {
  unsigned const lane = threadIdx.x;
  unsigned* const mine = out + 8 * lane;
  mine[0] = __ballot_sync(kAll, lane % 3 == 0);
  mine[1] = static_cast<unsigned>(__any_sync(kAll, lane == 31) + 2 * __all_sync(kAll, lane < 31));
  mine[2] = __match_any_sync(kAll, lane % 4);
  int all = 0;
  mine[3] = __match_all_sync(kAll, 7U, &all) / kAll + 2 * static_cast<unsigned>(all);
  mine[4] = __reduce_add_sync(kAll, lane) + __reduce_max_sync(kAll, lane);
  mine[5] = static_cast<unsigned>(__reduce_min_sync(kAll, -static_cast<int>(lane)));
  mine[6] = __reduce_or_sync(kAll, lane) ^ __reduce_and_sync(kAll, lane | 64);
  mine[7] = __shfl_xor_sync(kAll, lane, 5) + 100 * __shfl_up_sync(kAll, lane, 3);
}

bool votes() {
  OnDevice<unsigned> out(std::size_t{8} * 32);
  vote_all<<<1, 32>>>(out.data());
  std::vector<unsigned> const found = out.values();
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned const* const mine = found.data() + 8 * lane;
    bool const right = mine[0] == 0x49249249U && mine[1] == 1 &&
                       mine[2] == 0x11111111U << lane % 4 && mine[3] == 3 && mine[4] == 496 + 31 &&
                       static_cast<int>(mine[5]) == -31 && mine[6] == (31 ^ 64) &&
                       mine[7] == (lane ^ 5) + 100 * (lane < 3 ? lane : lane - 3);
    if (!right) return false;
  }
  return true;
}

__global__ void count_block(int* out, unsigned long long* clock) {
  auto const t = static_cast<int>(threadIdx.x);
  unsigned multiprocessors = 0;
  asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
  long long const begin = clock64();
  int* const mine = out + 4 * t;
  mine[0] = __syncthreads_count(t % 3 == 0);
  mine[1] = __syncthreads_or(t == 70);
  mine[2] = __syncthreads_and(t != 70);
  mine[3] = __syncthreads_and(t >= 0) + static_cast<int>(multiprocessors > 0);
  clock[t] = static_cast<unsigned long long>(clock64() - begin);
}

bool barriers() {
  OnDevice<int> out(std::size_t{4} * 96);
  OnDevice<unsigned long long> clock(96);
  count_block<<<1, 96>>>(out.data(), clock.data());
  std::vector<int> const found = out.values();
  std::vector<unsigned long long> const times = clock.values();
  for (std::size_t t = 0; t < 96; ++t) {
    int const* const mine = found.data() + 4 * t;
    if (mine[0] != 32 || mine[1] == 0 || mine[2] != 0 || mine[3] != 2 || times[t] == 0)
      return false;
  }
  return true;
}

__device__ void meet(unsigned number, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

/// Teams of two warps, which take turns: the first one asks, both answer.
__global__ void work_in_teams(int* out) {
  __shared__ int question[2];
  __shared__ int answer[128];
  unsigned const team = threadIdx.y;
  unsigned const me = team * 64 + threadIdx.x;
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x == 0) question[team] = 10 * round + static_cast<int>(team);
    meet(team + 1, 64);
    answer[me] = question[team] + static_cast<int>(threadIdx.x);
    meet(team + 1, 64);
    if (threadIdx.x < 32) out[(round * 2 + team) * 32 + threadIdx.x] = answer[me] + answer[me + 32];
  }
}

bool teams() {
  OnDevice<int> out(std::size_t{5} * 2 * 32);
  work_in_teams<<<1, dim3(64, 2)>>>(out.data());
  std::vector<int> const found = out.values();
  for (int i = 0; i < 320; ++i) {
    if (found[static_cast<std::size_t>(i)] != 2 * (10 * (i / 64) + i / 32 % 2 + i % 32) + 32)
      return false;
  }
  return true;
}

__global__ void count_shared(unsigned* out) {
  __shared__ unsigned word[5];
  __shared__ unsigned long long wide;
  if (threadIdx.x < 5) word[threadIdx.x] = threadIdx.x == 1 ? 1000 : 0;
  if (threadIdx.x == 0) wide = 0;
  __syncthreads();
  atomicAdd(&word[0], 1U);
  atomicMin(&word[1], threadIdx.x + 7);
  atomicMax(&word[2], threadIdx.x);
  atomicOr(&word[3], 1U << threadIdx.x % 32);
  if (atomicCAS(&word[4], 0U, threadIdx.x + 1) == 0) atomicExch(&word[4], 99U);
  atomicAdd(&wide, 1ULL << 33);
  __syncthreads();
  if (threadIdx.x < 5) out[threadIdx.x] = word[threadIdx.x];
  if (threadIdx.x == 5) out[5] = static_cast<unsigned>(wide >> 33);
}

bool shared_atomics() {
  OnDevice<unsigned> out(6);
  count_shared<<<1, 128>>>(out.data());
  return out.values() == std::vector<unsigned>{128, 7, 127, kAll, 99, 128};
}

/// Thread 0 of block 0 hands a value over; all others, some of them of its warp, wait for it.
/// kHow  0: with fences; 1: without; 2: by cuda::atomic_ref with acquire and release
template <int kHow>
__global__ void hand_over(int* value, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> const shown(*flag);
  auto* const watched = static_cast<int volatile*>(flag);
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *value = 42;
    if (kHow == 0) __threadfence();
    if (kHow == 2) {
      shown.store(1, cuda::memory_order_release);
    } else {
      *watched = 1;
    }
  } else {
    while ((kHow == 2 ? shown.load(cuda::memory_order_acquire) : *watched) == 0) {
    }
    if (kHow == 0) __threadfence();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *value;
  }
}

template <int kHow>
bool handed_over() {
  OnDevice<int> value(1);
  OnDevice<int> flag(1);
  OnDevice<int> out(192);
  flag.zero();
  out.zero();
  hand_over<kHow><<<3, 64>>>(value.data(), flag.data(), out.data());
  std::vector<int> const found = out.values();
  for (std::size_t t = 1; t < found.size(); ++t) {
    if (found[t] != 42) return false;
  }
  return true;
}

__global__ void add_up(unsigned* words) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> const device(words[0]);
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> const block(words[1 + blockIdx.x]);
  device.fetch_add(1, cuda::memory_order_acq_rel);
  block.fetch_max(threadIdx.x, cuda::memory_order_relaxed);
}

bool scoped_atomics() {
  OnDevice<unsigned> words(3);
  words.zero();
  add_up<<<2, 64>>>(words.data());
  return words.values() == std::vector<unsigned>{128, 63, 63};
}

/// More blocks than are under way at once where nothing holds them together.
__global__ void rotate(int* from, int* to) {
  auto const grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) from[blockIdx.x] = static_cast<int>(blockIdx.x);
  grid.sync();
  if (threadIdx.x == 0) to[blockIdx.x] = from[(blockIdx.x + 1) % gridDim.x];
}

bool grids() {
  constexpr unsigned kBlocks = 20;
  OnDevice<int> from(kBlocks);
  OnDevice<int> to(kBlocks);
  int* arrays[] = {from.data(), to.data()};
  void* arguments[] = {&arrays[0], &arrays[1]};
  check(cudaLaunchCooperativeKernel(rotate, dim3(kBlocks), dim3(32), arguments, 0, nullptr),
        "cudaLaunchCooperativeKernel");
  std::vector<int> const found = to.values();
  for (std::size_t b = 0; b < kBlocks; ++b) {
    if (found[b] != static_cast<int>((b + 1) % kBlocks)) return false;
  }
  return true;
}

}  // namespace

std::vector<Case> warp_cases() {
  return {{"votes", votes},
          {"barriers", barriers},
          {"teams", teams},
          {"shared_atomics", shared_atomics},
          {"fenced", handed_over<0>},
          {"unfenced", handed_over<1>},
          {"acquired", handed_over<2>},
          {"scoped_atomics", scoped_atomics},
          {"grids", grids}};
}

}  // namespace fairlane::gpusim
