// Sorting by CUB.
#include "kernels/cuda/sort.h"

#include <cub/device/device_radix_sort.cuh>

namespace fairlane {

namespace {

cudaError_t sort_pairs(void* temporary, std::size_t& bytes, cub::DoubleBuffer<std::uint64_t>& words,
                       cub::DoubleBuffer<std::uint64_t>& with, std::int64_t n, int bits,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, words, with, n, 0, bits, stream);
}

}  // namespace

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
