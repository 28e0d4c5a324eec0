// Memory that random accesses find with few page tables.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace fairlane {

/// Asks for large pages for what lies in a piece of memory and was not touched yet, where the
/// system offers them.
inline void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  std::uintptr_t const first = (address + page - 1) / page * page;
  if (first < address + bytes)
    madvise(reinterpret_cast<void*>(first), address + bytes - first, MADV_HUGEPAGE);
#endif
}

}  // namespace fairlane
