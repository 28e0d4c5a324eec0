// Calls of the runtime.
#include <cstring>

#include "tests/gpusim/selftest/cases.h"

namespace fairlane::gpusim {

namespace {

__device__ int table[4] = {1, 2, 3, 4};
__constant__ float factor = 0.5F;

__global__ void read_table(float* out) {
  out[threadIdx.x] = static_cast<float>(table[threadIdx.x]) * factor;
}

bool symbols() {
  int const more[2] = {30, 40};
  check(cudaMemcpyToSymbol(table, more, sizeof more, 2 * sizeof(int)), "cudaMemcpyToSymbol");
  void* address = nullptr;
  check(cudaGetSymbolAddress(&address, table), "cudaGetSymbolAddress");
  OnDevice<float> out(4);
  read_table<<<1, 4>>>(out.data());
  return address != nullptr && out.values() == std::vector<float>{0.5F, 1.0F, 15.0F, 20.0F};
}

__global__ void write_number(int* out, int number) { *out = number; }

__global__ void read_number(int* out, int const* in) { *out = *in; }

bool streams() {
  OnDevice<int> first(1);
  OnDevice<int> second(1);
  cudaStream_t one = nullptr;
  cudaStream_t two = nullptr;
  cudaEvent_t written = nullptr;
  cudaEvent_t read = nullptr;
  check(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), "a stream");
  check(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking), "a stream");
  check(cudaEventCreateWithFlags(&written, cudaEventDisableTiming), "an event");
  check(cudaEventCreateWithFlags(&read, cudaEventDisableTiming), "an event");
  write_number<<<1, 1, 0, one>>>(first.data(), 5);
  check(cudaEventRecord(written, one), "cudaEventRecord");
  check(cudaStreamWaitEvent(two, written, 0), "cudaStreamWaitEvent");
  read_number<<<1, 1, 0, two>>>(second.data(), first.data());
  check(cudaEventRecord(read, two), "cudaEventRecord");
  while (cudaEventQuery(read) == cudaErrorNotReady) {
  }
  bool const right = second.values()[0] == 5 && cudaStreamQuery(one) == cudaSuccess;
  check(cudaEventDestroy(written), "cudaEventDestroy");
  check(cudaEventDestroy(read), "cudaEventDestroy");
  check(cudaStreamDestroy(one), "cudaStreamDestroy");
  check(cudaStreamDestroy(two), "cudaStreamDestroy");
  return right;
}

__global__ void __launch_bounds__(128) bounded(int* out) {
  extern __shared__ int shared[];
  __shared__ int own[64];
  own[threadIdx.x % 64] = static_cast<int>(threadIdx.x);
  shared[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x] + own[threadIdx.x % 64];
}

bool attributes() {
  cudaFuncAttributes found;
  check(cudaFuncGetAttributes(&found, bounded), "cudaFuncGetAttributes");
  constexpr int kShared = 64 << 10;
  check(cudaFuncSetAttribute(bounded, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
        "cudaFuncSetAttribute");
  int many = 0;
  int few = 0;
  int none = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, bounded, 128, 0), "occupancy");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, bounded, 128, kShared), "occupancy");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&none, bounded, 256, 0), "occupancy");
  return found.maxThreadsPerBlock == 128 && found.sharedSizeBytes == 256 && many == 16 &&
         few == 3 && none == 0;
}

/// A launch with more threads, or more shared memory, than the kernel may have.
bool refused() {
  OnDevice<int> out(256);
  bounded<<<1, 256>>>(out.data());
  bool const threads = cudaGetLastError() != cudaSuccess;
  bounded<<<1, 128, 200 << 10>>>(out.data());
  return threads && cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess;
}

/// What the host sees before it has waited.
bool waited() {
  OnDevice<int> out(1);
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, sizeof(int), 0), "cudaHostAlloc");
  auto const* const host = static_cast<int*>(memory);
  write_number<<<1, 1>>>(out.data(), 5);
  check(cudaMemcpyAsync(memory, out.data(), sizeof(int), cudaMemcpyDeviceToHost, nullptr),
        "a copy");
  bool const early = *host == 5;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  bool const late = *host == 5;
  check(cudaFreeHost(memory), "cudaFreeHost");
  return !early && late;
}

}  // namespace

std::vector<Case> runtime_cases() {
  return {{"symbols", symbols},
          {"streams", streams},
          {"attributes", attributes},
          {"refused", refused},
          {"waited", waited}};
}

}  // namespace fairlane::gpusim
