#include "tests/gpusim/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpusim/races.h"

namespace fairlane::gpusim {

namespace {

constexpr std::uint64_t kPage = 4096;
// Nobody may count on zeros; of more than this only what is used takes real memory.
constexpr std::uint64_t kMostFilled = std::uint64_t{8} << 20;
constexpr int kGarbage = 0xA5;
constexpr int kMostComplaints = 10;

template <class T>
T* map_pages(std::uint64_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    std::perror("gpusim: mmap");
    std::abort();
  }
  return static_cast<T*>(pages);
}

std::uint64_t bytes_of_cells(std::uint64_t bytes) { return (bytes / 4 + 2) * sizeof(Cell); }

}  // namespace

std::uint64_t DeviceMemory::allocate(std::uint64_t bytes) {
  Allocation a;
  // A page more than it takes, so that host code that runs past the end does not meet another.
  a.mapped = (bytes + 2 * kPage - 1) / kPage * kPage;
  auto* const pages = map_pages<std::uint8_t>(a.mapped);
  a.base = reinterpret_cast<std::uint64_t>(pages);
  a.size = bytes;
  if (bytes <= kMostFilled) std::memset(pages, kGarbage, bytes);
  if (options_.init) a.written = map_pages<std::uint8_t>(std::max<std::uint64_t>(bytes, 1));
  if (options_.race) a.cells = map_pages<Cell>(bytes_of_cells(bytes));
  allocations_[a.base] = a;
  used_ += bytes;
  return a.base;
}

bool DeviceMemory::free(std::uint64_t base) {
  auto const at = allocations_.find(base);
  if (at == allocations_.end()) return false;
  Allocation const& a = at->second;
  used_ -= a.size;
  munmap(reinterpret_cast<void*>(a.base), a.mapped);
  if (a.written != nullptr) munmap(a.written, std::max<std::uint64_t>(a.size, 1));
  if (a.cells != nullptr) munmap(a.cells, bytes_of_cells(a.size));
  allocations_.erase(at);
  ++generation_;
  return true;
}

Allocation const* DeviceMemory::find(std::uint64_t address) const {
  auto at = allocations_.upper_bound(address);
  if (at == allocations_.begin()) return nullptr;
  --at;
  return address < at->second.base + at->second.size ? &at->second : nullptr;
}

Allocation const* DeviceMemory::find(void const* at, std::uint64_t bytes, char const* doing) const {
  auto const address = reinterpret_cast<std::uint64_t>(at);
  Allocation const* const a = find(address);
  if (a != nullptr && address + bytes > a->base + a->size) {
    std::fprintf(stderr,
                 "gpusim: FAULT: %s of %lu bytes runs over the end of an allocation of %lu\n",
                 doing, bytes, a->size);
    std::abort();
  }
  return a;
}

void DeviceMemory::mark_written(void const* at, std::uint64_t bytes) const {
  auto const address = reinterpret_cast<std::uint64_t>(at);
  Allocation const* const a = find(address);
  if (a != nullptr && a->written != nullptr)
    std::memset(a->written + (address - a->base), 1, bytes);
}

void DeviceMemory::check_written(void const* at, std::uint64_t bytes) {
  auto const address = reinterpret_cast<std::uint64_t>(at);
  Allocation const* const a = find(address);
  if (a == nullptr || a->written == nullptr) return;
  std::uint8_t const* const written = a->written + (address - a->base);
  std::uint8_t const* const first = std::find(written, written + bytes, 0);
  if (first == written + bytes || complaints_++ >= kMostComplaints) return;
  std::fprintf(
      stderr,
      "gpusim: a copy to the host of %lu bytes has bytes that nobody wrote, the first at %ld\n",
      bytes, static_cast<long>(first - written));
}

}  // namespace fairlane::gpusim
