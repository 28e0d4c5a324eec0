// Short strided arrays of one lane, whose reads a GPU's thread begins some at a time: it would
// otherwise wait for memory at every one.
#pragma once

#include "kernels/core/dense.h"

namespace fairlane {

inline constexpr int kReadsAhead = 8;

/// Calls use(i, read(i)) for i in [0, count), ascending. read may be called with an index again.
template <class Read, class Use>
FL_HD void read_ahead(int count, Read const& read, Use const& use) {
#ifdef __CUDA_ARCH__
  for (int first = 0; first < count; first += kReadsAhead) {
    decltype(read(0)) value[kReadsAhead];
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j)
      value[j] = read(first + j < count ? first + j : count - 1);
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      if (first + j < count) use(first + j, value[j]);
    }
  }
#else
  for (int i = 0; i < count; ++i) use(i, read(i));
#endif
}

/// to[i * stride] = from[i * stride] for i in [0, count); they do not overlap.
template <class T>
FL_HD void copy_strided(T const* from, T* to, int count, long stride) {
#ifdef __CUDA_ARCH__
  for (int first = 0; first < count; first += kReadsAhead) {
    T value[kReadsAhead];
    int at[kReadsAhead];  // the last one again, instead of a branch at each
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      at[j] = first + j < count ? first + j : count - 1;
      value[j] = from[at[j] * stride];
    }
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) to[at[j] * stride] = value[j];
  }
#else
  for (int i = 0; i < count; ++i) to[i * stride] = from[i * stride];
#endif
}

}  // namespace fairlane
