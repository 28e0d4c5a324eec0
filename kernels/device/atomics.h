// Atomic operations on words in device memory, the same on host and device. Relaxed unless the name
// says otherwise.
#pragma once

#include <cstdint>

#include "kernels/core/pack.h"

namespace fairlane {

/// Writes `wanted` where the word is `expected`; returns what it was.
FL_HD std::uint64_t atomic_claim(std::uint64_t* word, std::uint64_t expected,
                                 std::uint64_t wanted) {
#ifdef __CUDA_ARCH__
  return atomicCAS(reinterpret_cast<unsigned long long*>(word), expected, wanted);
#else
  __atomic_compare_exchange_n(word, &expected, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
#endif
}

FL_HD std::uint64_t load_relaxed(std::uint64_t const* word) {
#ifdef __CUDA_ARCH__
  return *static_cast<std::uint64_t const volatile*>(word);
#else
  return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

/// Two words that lie at a multiple of their size, read together but not as one.
FL_HD void load_relaxed_pair(std::uint64_t const* words, std::uint64_t& first,
                             std::uint64_t& second) {
#ifdef __CUDA_ARCH__
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(first), "=l"(second)
               : "l"(__cvta_generic_to_global(words)));
#else
  first = load_relaxed(words);
  second = load_relaxed(words + 1);
#endif
}

/// Raises the word to `value` at least.
FL_HD void atomic_raise(std::uint64_t* word, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<unsigned long long*>(word), value);
#else
  std::uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
#endif
}

/// Adds and returns the value before.
FL_HD std::uint64_t atomic_count(std::uint64_t* word, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  return atomicAdd(reinterpret_cast<unsigned long long*>(word), value);
#else
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
#endif
}

/// Sets bits of the word.
FL_HD void atomic_set(std::uint64_t* word, std::uint64_t bits) {
#ifdef __CUDA_ARCH__
  atomicOr(reinterpret_cast<unsigned long long*>(word), bits);
#else
  __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

/// What was written before the store_release whose value this is can be read afterwards, by
/// whichever thread of the device.
FL_HD std::uint64_t load_acquire(std::uint64_t const* word) {
#ifdef __CUDA_ARCH__
  return __nv_atomic_load_n(const_cast<std::uint64_t*>(word), __NV_ATOMIC_ACQUIRE,
                            __NV_THREAD_SCOPE_DEVICE);
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

FL_HD void store_release(std::uint64_t* word, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  __nv_atomic_store_n(word, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

}  // namespace fairlane
