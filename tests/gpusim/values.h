// Values of operands, lane by lane.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// What a GPU returns for any NaN, and everything else as it is.
template <class T>
T canonical(T x) {
  if constexpr (std::is_same_v<T, float>) {
    if (x != x) {
      std::uint32_t const bits = 0x7FFFFFFF;
      std::memcpy(&x, &bits, sizeof x);
    }
  }
  return x;
}

/// to[lane] = work(lane) for the lanes of a set.
template <class D, class Work>
void put(D* to, std::uint32_t lanes, Work const& work) {
  if (lanes == kAllLanes) {
    D all[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) all[lane] = work(lane);
    std::memcpy(to, all, sizeof all);
    return;
  }
  each_lane(lanes, [&](int lane) { to[lane] = work(lane); });
}

inline std::uint64_t load_bytes(void const* from, int size) {
  std::uint64_t x = 0;
  switch (size) {
    case 4:
      std::memcpy(&x, from, 4);
      break;
    case 8:
      std::memcpy(&x, from, 8);
      break;
    case 1:
      std::memcpy(&x, from, 1);
      break;
    case 2:
      std::memcpy(&x, from, 2);
      break;
    default:
      break;
  }
  return x;
}

inline void store_bytes(void* to, std::uint64_t x, int size) {
  switch (size) {
    case 4:
      std::memcpy(to, &x, 4);
      break;
    case 8:
      std::memcpy(to, &x, 8);
      break;
    case 1:
      std::memcpy(to, &x, 1);
      break;
    case 2:
      std::memcpy(to, &x, 2);
      break;
    default:
      break;
  }
}

/// The low `size` bytes, extended by sign or with zeros.
inline std::uint64_t extended(std::uint64_t x, int size, bool sign) {
  if (size >= 8) return x;
  int const shift = 64 - 8 * size;
  return sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(x << shift) >> shift)
              : (x << shift) >> shift;
}

/// An operand's value in a lane: its low `size` bytes, extended.
inline std::uint64_t get(Warp& w, Operand const& o, int lane, int size, bool sign = false) {
  int const bytes = std::min<int>(size, o.width);
  std::uint64_t const x = load_bytes(w.row<std::uint8_t>(o) + lane * o.width, bytes);
  return sign ? extended(x, bytes, true) : x;
}

inline void set(Warp& w, Operand const& o, int lane, std::uint64_t x) {
  store_bytes(w.row<std::uint8_t>(o) + lane * o.width, x, o.width);
}

}  // namespace fairlane::gpusim
