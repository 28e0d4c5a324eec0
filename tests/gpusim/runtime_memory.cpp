// Calls for memory.
#include <cstring>

#include "tests/gpusim/runtime.h"

namespace fairlane::gpusim {

namespace {

std::uint64_t free_bytes(Machine const& machine) {
  std::uint64_t const all = machine.options.memory;
  std::uint64_t const used = machine.memory.used();
  return all > used ? all - used : 0;
}

cudaError_t copy(void* to, void const* from, std::size_t bytes, cudaStream_t stream, bool wait) {
  Runtime& runtime = Runtime::get();
  std::lock_guard const held(runtime.mutex);
  if (wait) runtime.finish_all();
  return runtime.copy(to, from, bytes, stream, wait);
}

}  // namespace

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* all) {
  Call const call("cudaMemGetInfo", 'I');
  *all = call.runtime.machine.options.memory;
  *available = free_bytes(call.runtime.machine);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  Call const call("cudaMalloc", 'A', bytes);
  *to = nullptr;
  if (bytes > free_bytes(call.runtime.machine)) return failed(cudaErrorMemoryAllocation);
  *to = reinterpret_cast<void*>(call.runtime.machine.memory.allocate(bytes));
  return cudaSuccess;
}

cudaError_t cudaFree(void* at) {
  Call const call("cudaFree", 'F');
  if (at == nullptr) return cudaSuccess;
  call.runtime.finish_all();
  bool const freed = call.runtime.machine.memory.free(reinterpret_cast<std::uint64_t>(at));
  return freed ? cudaSuccess : failed(cudaErrorInvalidValue);
}

cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned) {
  Call const call("cudaHostAlloc", 'P', bytes);
  *to = call.runtime.allocate_pinned(bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* at) {
  Call const call("cudaFreeHost", 'Q');
  call.runtime.free_pinned(at);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return copy(to, from, bytes, stream, false);
}

cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes, nullptr, true);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  Call const call("cudaMemsetAsync", 'Z', bytes);
  return call.runtime.fill(to, value, bytes, stream);
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  Call const call("cudaMemset", 'Z', bytes);
  return call.runtime.fill(to, value, bytes, nullptr);
}

cudaError_t cudaGetSymbolAddress(void** to, void const* symbol) {
  Call const call("cudaGetSymbolAddress");
  *to = reinterpret_cast<void*>(call.runtime.variable_of(symbol));
  return *to != nullptr ? cudaSuccess : failed(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyToSymbolAsync(void const* symbol, void const* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind, cudaStream_t stream) {
  void* to = nullptr;
  cudaError_t const error = cudaGetSymbolAddress(&to, symbol);
  if (error != cudaSuccess) return error;
  return copy(static_cast<std::byte*>(to) + offset, from, bytes, stream, false);
}

cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  cudaError_t const error = cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
  cudaDeviceSynchronize();
  return error;
}

}  // extern "C"

}  // namespace fairlane::gpusim
