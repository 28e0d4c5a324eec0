// The memory of the simulated device: pages of this process, and what is known about their bytes.
#pragma once

#include <cstdint>
#include <map>

#include "tests/gpusim/options.h"

namespace fairlane::gpusim {

struct Cell;

/// written  [size] whether a byte was written; null where nobody asks
/// cells    [size / 4] who used a word last; null where nobody looks for races
/// mapped   bytes of its pages
struct Allocation {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  std::uint8_t* written = nullptr;
  Cell* cells = nullptr;
  std::uint64_t mapped = 0;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(Options const& options) : options_(options) {}
  DeviceMemory(DeviceMemory const&) = delete;
  DeviceMemory& operator=(DeviceMemory const&) = delete;

  std::uint64_t allocate(std::uint64_t bytes);
  /// Whether there was an allocation at this address.
  bool free(std::uint64_t base);
  /// The allocation that holds an address; null where none does.
  Allocation const* find(std::uint64_t address) const;
  /// The same, for as many bytes, which end the process where they run over its end.
  Allocation const* find(void const* at, std::uint64_t bytes, char const* doing) const;
  /// Notes that somebody wrote there, where that is device memory.
  void mark_written(void const* at, std::uint64_t bytes) const;
  /// Complains about bytes that nobody wrote, where that is device memory.
  void check_written(void const* at, std::uint64_t bytes);

  std::uint64_t used() const { return used_; }
  /// Changes whenever an allocation goes.
  std::uint64_t generation() const { return generation_; }

 private:
  Options const& options_;
  std::map<std::uint64_t, Allocation> allocations_;
  std::uint64_t used_ = 0;
  std::uint64_t generation_ = 1;
  int complaints_ = 0;
};

}  // namespace fairlane::gpusim
