// Short strided arrays of one lane, whose reads a GPU's thread begins some at a time: it would
// otherwise wait for memory at every one.
#pragma once

#include "kernels/core/dense.h"

namespace fairlane {

inline constexpr int kReadsAhead = 12;  // as many as most tables have columns

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
      if (j < count - first) use(first + j, value[j]);
    }
  }
#else
  for (int i = 0; i < count; ++i) use(i, read(i));
#endif
}

namespace detail {

#ifdef __CUDA_ARCH__
/// p, which lies in global memory and whose parts the compiler does not see any more: it then adds
/// an offset of 32 bits in one instruction, instead of adding offset, lane and array anew.
template <class T>
__device__ __forceinline__ T* as_base(T* p) {
  asm("" : "+l"(p));
  __builtin_assume(__isGlobal(p));
  return p;
}
#endif

template <Pack P>
FL_HD typename P::F load_pack(float const* p) {
  return P::load(p);
}
template <Pack P>
FL_HD typename P::I load_pack(std::int32_t const* p) {
  return P::load_i(p);
}

/// Where `kReadsAhead` elements of a strided array lie, the last one again behind the end, and
/// where the next begin. Offsets have 32 bits, which are cheaper: no array has 2^32 elements.
struct OffsetsAhead {
  std::uint32_t at[kReadsAhead];

  FL_HD OffsetsAhead(int left, std::uint32_t stride, std::uint32_t& next) {
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      at[j] = next;
      next += j + 1 < left ? stride : 0U;
    }
  }
};

}  // namespace detail

/// Calls use(i, x) for the floats or codes x of a pack at from + i * stride, i in [0, count)
/// ascending.
template <Pack P, class T, class Use>
FL_HD void read_strided(T const* from, int count, long stride, Use const& use) {
#ifdef __CUDA_ARCH__
  from = detail::as_base(from);
  std::uint32_t next = 0;
  for (int first = 0; first < count; first += kReadsAhead) {
    detail::OffsetsAhead const offsets(count - first, static_cast<std::uint32_t>(stride), next);
    decltype(detail::load_pack<P>(from)) value[kReadsAhead];
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) value[j] = detail::load_pack<P>(from + offsets.at[j]);
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      if (j < count - first) use(first + j, value[j]);
    }
  }
#else
  for (int i = 0; i < count; ++i) use(i, detail::load_pack<P>(from + i * stride));
#endif
}

/// to[i * stride] = from[i * stride] for i in [0, count); they do not overlap.
template <class T>
FL_HD void copy_strided(T const* from, T* to, int count, long stride) {
#ifdef __CUDA_ARCH__
  from = detail::as_base(from);
  to = detail::as_base(to);
  std::uint32_t next = 0;
  for (int first = 0; first < count; first += kReadsAhead) {
    detail::OffsetsAhead const offsets(count - first, static_cast<std::uint32_t>(stride), next);
    T value[kReadsAhead];
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) value[j] = from[offsets.at[j]];
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) to[offsets.at[j]] = value[j];
  }
#else
  for (int i = 0; i < count; ++i) to[i * stride] = from[i * stride];
#endif
}

/// Two such copies that wait together.
template <class A, class B>
FL_HD void copy_both_strided(A const* from, A* to, B const* other_from, B* other_to, int count,
                             long stride) {
#ifdef __CUDA_ARCH__
  from = detail::as_base(from);
  to = detail::as_base(to);
  other_from = detail::as_base(other_from);
  other_to = detail::as_base(other_to);
  std::uint32_t next = 0;
  for (int first = 0; first < count; first += kReadsAhead) {
    detail::OffsetsAhead const offsets(count - first, static_cast<std::uint32_t>(stride), next);
    A value[kReadsAhead];
    B other[kReadsAhead];
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      value[j] = from[offsets.at[j]];
      other[j] = other_from[offsets.at[j]];
    }
    FL_UNROLL
    for (int j = 0; j < kReadsAhead; ++j) {
      to[offsets.at[j]] = value[j];
      other_to[offsets.at[j]] = other[j];
    }
  }
#else
  copy_strided(from, to, count, stride);
  copy_strided(other_from, other_to, count, stride);
#endif
}

}  // namespace fairlane
