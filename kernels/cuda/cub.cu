// The one file that names CUB.
#include "kernels/cuda/cub.h"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
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

cudaError_t sort_pairs(void* temporary, std::size_t& bytes, cub::DoubleBuffer<std::uint64_t>& words,
                       cub::DoubleBuffer<std::uint64_t>& with, std::int64_t n, int bits,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, words, with, n, 0, bits, stream);
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

cudaError_t sort_bytes(std::int64_t n, int bits, std::size_t& bytes) {
  cub::DoubleBuffer<std::uint64_t> none;
  bytes = 0;
  return sort_pairs(nullptr, bytes, none, none, n, bits, nullptr);
}

cudaError_t sort_words(void* temporary, std::size_t bytes, KeyedWords& sorted, KeyedWords& spare,
                       std::int64_t n, int bits, cudaStream_t stream) {
  cub::DoubleBuffer<std::uint64_t> words(sorted.words, spare.words);
  cub::DoubleBuffer<std::uint64_t> with(sorted.with, spare.with);
  cudaError_t const error = sort_pairs(temporary, bytes, words, with, n, bits, stream);
  sorted = {words.Current(), with.Current()};
  spare = {words.Alternate(), with.Alternate()};
  return error;
}

}  // namespace fairlane
