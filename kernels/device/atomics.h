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

/// The same of a word that mostly stands as high: then it is only read.
FL_HD void atomic_raise_seldom(std::uint64_t* word, std::uint64_t value) {
  if (load_relaxed(word) < value) atomic_raise(word, value);
}

/// Adds and returns the value before.
FL_HD std::uint64_t atomic_count(std::uint64_t* word, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  return atomicAdd(reinterpret_cast<unsigned long long*>(word), value);
#else
  return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
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
