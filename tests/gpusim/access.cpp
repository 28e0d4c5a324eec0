#include "tests/gpusim/access.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

namespace {

Place in_shared(Instruction const& i, Warp& w, int lane, std::uint64_t address,
                std::uint64_t size) {
  Block& b = *w.block;
  if (address < kSharedStart || address + size > kSharedStart + b.shared.size()) {
    char text[100];
    std::snprintf(text, sizeof text, "shared address %#lx, the block has %zu bytes from %#lx",
                  address, b.shared.size(), kSharedStart);
    fault(i, w, lane, text);
  }
  if (address % size != 0) fault(i, w, lane, "misaligned shared address");
  std::uint64_t const at = address - kSharedStart;
  return {b.shared.data() + at, b.written.empty() ? nullptr : b.written.data() + at,
          b.cells.empty() ? nullptr : b.cells.data() + at / 4};
}

/// Whether an address is one of the launch's parameters, which can be read through pointers too.
bool is_parameter(Kernel const& k, std::uint64_t address, std::uint64_t size) {
  auto const base = reinterpret_cast<std::uint64_t>(k.parameter_memory.get());
  return address >= base && address + size <= base + k.parameter_bytes;
}

[[noreturn]] void fault_in_global(Instruction const& i, Warp& w, int lane, std::uint64_t address,
                                  std::uint64_t size, Allocation const* a, bool write) {
  char const* const doing = write ? "write" : "read";
  char text[200];
  if (a == nullptr) {
    std::snprintf(text, sizeof text, "global address %#lx lies in no allocation (%s)", address,
                  doing);
  } else {
    std::snprintf(text, sizeof text,
                  "%lu bytes at %#lx run over the end of an allocation of %lu bytes at %#lx (%s)",
                  size, address, a->size, a->base, doing);
  }
  fault(i, w, lane, text);
}

Place in_global(Instruction const& i, Warp& w, int lane, std::uint64_t address, std::uint64_t size,
                bool write) {
  DeviceMemory const& memory = w.machine->memory;
  Allocation const* a = i.last_generation == memory.generation() ? i.last : nullptr;
  if (a == nullptr || address < a->base || address + size > a->base + a->size) {
    Place const unwatched{reinterpret_cast<std::uint8_t*>(address), nullptr, nullptr};
    if (!write && is_parameter(*w.kernel, address, size)) return unwatched;
    a = memory.find(address);
    if (a == nullptr && w.machine->options.host) return unwatched;
    if (a == nullptr || address + size > a->base + a->size) {
      fault_in_global(i, w, lane, address, size, a, write);
    }
    i.last = a;
    i.last_generation = memory.generation();
  }
  if (address % size != 0) fault(i, w, lane, "misaligned global address");
  std::uint64_t const at = address - a->base;
  return {reinterpret_cast<std::uint8_t*>(address),
          a->written == nullptr ? nullptr : a->written + at,
          a->cells == nullptr ? nullptr : a->cells + at / 4};
}

}  // namespace

std::uint64_t window_of(Space space) {
  if (space == Space::kShared) return kSharedWindow;
  return space == Space::kLocal ? kLocalWindow : 0;
}

Place resolve(Instruction const& i, Warp& w, int lane, Space space, std::uint64_t address,
              std::uint64_t size, bool write) {
  if (space == Space::kGeneric) {
    std::uint64_t const window = address >> kWindowShift << kWindowShift;
    space = window == kSharedWindow  ? Space::kShared
            : window == kLocalWindow ? Space::kLocal
                                     : Space::kGlobal;
    address -= window_of(space);
  }
  switch (space) {
    case Space::kShared:
      return in_shared(i, w, lane, address, size);
    case Space::kLocal:
    case Space::kSlot: {
      std::uint32_t const bytes = w.kernel->local_bytes;
      if (address + size > bytes) fault(i, w, lane, "local address " + std::to_string(address));
      return {w.local + static_cast<std::uint64_t>(lane) * bytes + address, nullptr, nullptr};
    }
    case Space::kParam:
      if (!is_parameter(*w.kernel, address, size)) {
        fault(i, w, lane, "parameter address out of range");
      }
      return {reinterpret_cast<std::uint8_t*>(address), nullptr, nullptr};
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      break;
  }
  return in_global(i, w, lane, address, size, write);
}

std::uint64_t address_of(Instruction const& i, Warp& w, int lane) {
  Operand const& o = i.operand[kAddress];
  std::uint64_t const base =
      o.width == 8 ? w.row<std::uint64_t>(o)[lane] : w.row<std::uint32_t>(o)[lane];
  return base + static_cast<std::uint64_t>(i.immediate);
}

void check_written(Instruction const& i, Warp& w, int lane, Place const& place, int size) {
  if (place.written == nullptr) return;
  if (size == 4) {
    std::uint32_t all;
    std::memcpy(&all, place.written, sizeof all);
    if (all == 0x01010101U) return;
  }
  std::uint8_t const* const end = place.written + size;
  std::uint8_t const* const first = std::find<std::uint8_t const*>(place.written, end, 0);
  if (first == end) return;
  char text[80];
  std::snprintf(text, sizeof text, "%p + %d of %d bytes", static_cast<void*>(place.at),
                static_cast<int>(first - place.written), size);
  w.machine->complaints.add(i, w, lane, "read of what nobody wrote", text);
}

}  // namespace fairlane::gpusim
