// The calls that nvcc writes into a program, and launches.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpusim/runtime.h"

namespace fairlane::gpusim {

namespace {

/// What <<<...>>> has pushed.
struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  cudaStream_t stream;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> all;
  return all;
}

template <class T>
T read_at(std::uint8_t const* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// The PTX of a fat binary: a header {magic, version:16, its size:16, size:64} and, in that size,
/// parts {kind:16, version:16, header's size:32, size:64, ...}. The last PTX counts.
std::string ptx_of(std::uint8_t const* binary) {
  constexpr std::uint16_t kPtx = 1;
  std::uint8_t const* at = binary + read_at<std::uint16_t>(binary + 6);
  std::uint8_t const* const end = at + read_at<std::uint64_t>(binary + 8);
  std::string text;
  while (at < end) {
    std::size_t const header = read_at<std::uint32_t>(at + 4);
    std::size_t const size = read_at<std::uint64_t>(at + 8);
    if (read_at<std::uint16_t>(at) == kPtx) {
      text.assign(reinterpret_cast<char const*>(at + header), size);
    }
    at += header + size;
  }
  if (text.empty()) {
    std::fprintf(stderr, "gpusim: a translation unit without PTX; compile for NN-virtual\n");
  } else if (text.find(".version") == std::string::npos) {
    std::fprintf(stderr, "gpusim: compressed PTX; compile with --compress-mode=none\n");
    std::abort();
  }
  return text;
}

/// The architecture in ".target sm_90".
int target_of(std::string const& text) {
  std::string const words = ".target sm_";
  std::size_t const at = text.find(words);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + words.size());
}

cudaError_t launch(void const* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                   cudaStream_t stream, bool together) {
  Runtime& runtime = Runtime::get();
  std::lock_guard const held(runtime.mutex);
  return runtime.launch(runtime.kernel_of(host), grid, block, arguments, shared, stream, together);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic;
    int version;
    std::uint8_t const* data;
    void* file;
  };
  Call const call;
  Module* const module = call.runtime.add_module();
  module->text = ptx_of(static_cast<Wrapper const*>(wrapper)->data);
  module->target = target_of(module->text);
  return reinterpret_cast<void**>(module);
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterVar(void** module, char* host, char*, char const* name, int, std::size_t, int,
                       int) {
  Call const call;
  call.runtime.add_variable(host, reinterpret_cast<Module*>(module), name);
}

void __cudaRegisterFunction(void** module, char const* host, char*, char const* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  Call const call;
  call.runtime.add_kernel(host, reinterpret_cast<Module*>(module), name);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  Configuration const last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* host) {
  Runtime& runtime = Runtime::get();
  std::lock_guard const held(runtime.mutex);
  Kernel* const found = runtime.kernel_of(host);
  if (found == nullptr) return failed(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  Runtime& runtime = Runtime::get();
  std::lock_guard const held(runtime.mutex);
  return runtime.launch(reinterpret_cast<Kernel*>(kernel), grid, block, arguments, shared, stream,
                        false);
}

cudaError_t cudaLaunchKernel(void const* host, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  return launch(host, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(void const* host, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return launch(host, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* host,
                                void** arguments) {
  bool together = false;
  for (unsigned n = 0; n < config->numAttrs; ++n) {
    cudaLaunchAttribute const& attribute = config->attrs[n];
    together = together ||
               (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0);
  }
  return launch(host, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                config->stream, together);
}

cudaError_t cudaFuncSetAttribute(void const* host, cudaFuncAttribute which, int value) {
  Call const call("cudaFuncSetAttribute");
  Kernel* const k = call.runtime.kernel_of(host);
  if (k == nullptr) return failed(cudaErrorInvalidDeviceFunction);
  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value + static_cast<int>(k->static_shared) > call.runtime.machine.options.shared) {
    return failed(cudaErrorInvalidValue);
  }
  k->dynamic_limit = value;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* host) {
  Call const call("cudaFuncGetAttributes");
  Kernel const* const k = call.runtime.kernel_of(host);
  if (k == nullptr) return failed(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->maxThreadsPerBlock = k->max_threads;
  attributes->sharedSizeBytes = k->static_shared;
  attributes->localSizeBytes = k->local_bytes;
  attributes->maxDynamicSharedSizeBytes = k->dynamic_limit;
  attributes->ptxVersion = k->module->target;
  attributes->binaryVersion = k->module->target;
  return cudaSuccess;
}

/// By threads, blocks and shared memory; registers are ptxas's to choose.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void const* host,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  constexpr int kMostThreadsOfMultiprocessor = 2048;
  constexpr int kMostBlocks = 32;
  constexpr int kReserved = 1024;  // bytes of shared memory that every block takes beside its own
  Call const call("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  Kernel const* const k = call.runtime.kernel_of(host);
  if (k == nullptr) return failed(cudaErrorInvalidDeviceFunction);
  if (threads <= 0) return failed(cudaErrorInvalidValue);
  int const of_block = static_cast<int>(k->static_shared + shared);
  int const all = call.runtime.machine.options.shared + kReserved;
  int const rounded = (threads + kLanes - 1) / kLanes * kLanes;
  *blocks =
      std::min({kMostBlocks, kMostThreadsOfMultiprocessor / rounded, all / (of_block + kReserved)});
  if (threads > k->max_threads || shared > static_cast<std::size_t>(k->dynamic_limit)) *blocks = 0;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void const* host,
                                                          int threads, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

}  // extern "C"

}  // namespace fairlane::gpusim
