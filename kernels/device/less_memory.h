// Memory whose size decides no result, only how much is done at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace fairlane {

/// What make(size) returns for the largest of size, size / 2, ..., `least` that memory can hold.
/// Throws what make(least) throws, and at once what is no Error(kMemory).
template <class Make>
auto with_less_memory(std::int64_t size, std::int64_t least, Make const& make) {
  for (;; size = std::max(size / 2, least)) {
    try {
      return make(size);
    } catch (Error const& error) {
      if (error.code() != ExitCode::kMemory || size <= least) throw;
    }
  }
}

}  // namespace fairlane
