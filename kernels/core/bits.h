// Bits of a word, on host and device.
#pragma once

#include "kernels/core/pack.h"

namespace fairlane {

FL_HD std::uint64_t pop_count(std::uint64_t word) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint64_t>(__popcll(word));
#else
  return static_cast<std::uint64_t>(__builtin_popcountll(word));
#endif
}

FL_HD std::uint32_t pop_count(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(__builtin_popcount(word));
#endif
}

/// Number of the lowest bit that is set. word: not 0
FL_HD int lowest_bit(std::uint64_t word) {
#ifdef __CUDA_ARCH__
  return __ffsll(static_cast<long long>(word)) - 1;
#else
  return __builtin_ctzll(word);
#endif
}
FL_HD int lowest_bit(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(word)) - 1;
#else
  return __builtin_ctz(word);
#endif
}

/// Whether one bit is set, and no other; where the processor may lack an instruction that counts.
FL_HD bool is_one_bit(std::uint64_t word) { return word != 0 && (word & (word - 1)) == 0; }

/// Bits [0, count). count: at most 64
FL_HD std::uint64_t low_bits(int count) { return count >= 64 ? ~0ULL : (1ULL << count) - 1; }

/// Calls use(i) for every bit i of a word that is set, in ascending order; on the host.
template <class Use>
void each_bit(std::uint64_t word, Use const& use) {
  for (; word != 0; word &= word - 1) use(static_cast<std::size_t>(lowest_bit(word)));
}

}  // namespace fairlane
