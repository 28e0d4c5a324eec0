// Compaction by CUB.
#include "kernels/cuda/compact.h"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

namespace fairlane {

namespace {

/// Whether an index lies in the range and is marked.
struct Marked {
  std::uint8_t const* flags;
  Range range;

  __device__ __forceinline__ bool operator()(std::int32_t i) const {
    return (range.count == nullptr || i < *range.count) && flags[i] != 0;
  }
};

cudaError_t select(void* temporary, std::size_t& bytes, Marked marked, std::int32_t* list,
                   std::int32_t* count, cudaStream_t stream) {
  return cub::DeviceSelect::If(temporary, bytes, thrust::counting_iterator<std::int32_t>(0), list,
                               count, marked.range.most, marked, stream);
}

}  // namespace

cudaError_t compact_bytes(std::int64_t most, std::size_t& bytes) {
  bytes = 0;
  return select(nullptr, bytes, {nullptr, {most, nullptr}}, nullptr, nullptr, nullptr);
}

cudaError_t compact_flags(void* temporary, std::size_t bytes, std::uint8_t const* flags,
                          Range range, std::int32_t* list, std::int32_t* count,
                          cudaStream_t stream) {
  return select(temporary, bytes, {flags, range}, list, count, stream);
}

}  // namespace fairlane
