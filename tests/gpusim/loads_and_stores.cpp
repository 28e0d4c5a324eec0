// ld, st, cp.async, prefetch, and conversions of addresses.
#include "tests/gpusim/access.h"
#include "tests/gpusim/machine.h"
#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

int bytes_of(Instruction const& i) { return size_of(i.type) * i.vec; }

void mark_written(Place const& place, int size) {
  if (place.written != nullptr) std::memset(place.written, 1, static_cast<std::size_t>(size));
}

/// Reads a place into the lanes' destinations.
void load(Instruction const& i, Warp& w, std::uint32_t lanes, Place const& place) {
  int const size = size_of(i.type);
  for (int v = 0; v < i.vec; ++v) {
    Operand const& to = i.operand[v];
    if (to.off < 0) continue;
    std::uint64_t const x =
        extended(load_bytes(place.at + v * size, size), size, is_signed(i.type));
    if (to.width == 4) {
      put(w.row<std::uint32_t>(to), lanes, [&](int) { return static_cast<std::uint32_t>(x); });
    } else {
      each_lane(lanes, [&](int lane) { set(w, to, lane, x); });
    }
  }
}

/// Whether all lanes read the same address, and nobody wants to know of each by itself.
bool is_broadcast(Instruction const& i, Warp& w, std::uint32_t lanes) {
  if (w.machine->options.race || i.space == Space::kLocal || i.space == Space::kSlot) return false;
  std::uint64_t const address = address_of(i, w, __builtin_ctz(lanes));
  bool same = address >> kWindowShift << kWindowShift != kLocalWindow;
  for (std::uint32_t rest = lanes & (lanes - 1); same && rest != 0; rest &= rest - 1) {
    same = address_of(i, w, __builtin_ctz(rest)) == address;
  }
  return same;
}

void ld(Instruction const& i, Warp& w, std::uint32_t lanes) {
  int const bytes = bytes_of(i);
  auto const size = static_cast<std::uint64_t>(bytes);
  if (is_broadcast(i, w, lanes)) {
    int const first = __builtin_ctz(lanes);
    Place const place = resolve(i, w, first, i.space, address_of(i, w, first), size, false);
    check_written(i, w, first, place, bytes);
    load(i, w, lanes, place);
    return;
  }
  each_lane(lanes, [&](int lane) {
    std::uint64_t const address = address_of(i, w, lane);
    Place const place = resolve(i, w, lane, i.space, address, size, false);
    check_written(i, w, lane, place, bytes);
    if (place.cell != nullptr) {
      watch(i, w, lane, place, bytes, {.write = false, .read = true});
      if (i.strong) note_acquire(w, lane, address);
    }
    load(i, w, 1U << lane, place);
  });
  if (i.acquire) fence(i, w, lanes);
}

constexpr int kMostBytes = 32;  // of one access

void st(Instruction const& i, Warp& w, std::uint32_t lanes) {
  ++w.block->launch->execution;
  if (i.release) fence(i, w, lanes);
  int const size = size_of(i.type);
  int const bytes = bytes_of(i);
  each_lane(lanes, [&](int lane) {
    std::uint64_t const address = address_of(i, w, lane);
    Place const place =
        resolve(i, w, lane, i.space, address, static_cast<std::uint64_t>(bytes), true);
    std::uint8_t value[kMostBytes];
    for (int v = 0; v < i.vec; ++v) {
      store_bytes(value + v * size, get(w, i.operand[v], lane, size), size);
    }
    auto const count = static_cast<std::size_t>(bytes);
    if (place.cell != nullptr) {
      bool const same = std::memcmp(place.at, value, count) == 0;
      watch(i, w, lane, place, bytes, {.write = true, .read = false, .same = same});
      if (i.strong) note_release(w, lane, address, false);
    }
    std::memcpy(place.at, value, count);
    mark_written(place, bytes);
  });
}

// Operands of cp.async beside its two addresses: how many bytes to write, and of them how many to
// read, the rest being zeros.
constexpr int kCopyBytes = 0;
constexpr int kCopyRead = 1;

/// cp.async, done at once: who forgets to wait for it is not noticed.
void copy_async(Instruction const& i, Warp& w, std::uint32_t lanes) {
  each_lane(lanes, [&](int lane) {
    auto const bytes = static_cast<int>(get(w, i.operand[kCopyBytes], lane, 4));
    int const taken = i.mode > 1 ? static_cast<int>(get(w, i.operand[kCopyRead], lane, 4)) : bytes;
    std::uint64_t const to =
        get(w, i.operand[kCopyTo], lane, 8) + static_cast<std::uint64_t>(i.target);
    auto const count = static_cast<std::uint64_t>(bytes);
    Place const target = resolve(i, w, lane, Space::kShared, to, count, true);
    if (target.cell != nullptr) watch(i, w, lane, target, bytes, {.write = true});
    std::memset(target.at, 0, count);
    mark_written(target, bytes);
    if (taken <= 0) return;
    std::uint64_t const from = address_of(i, w, lane);
    Place const source = resolve(i, w, lane, Space::kGlobal, from, count, false);
    check_written(i, w, lane, source, taken);
    if (source.cell != nullptr) watch(i, w, lane, source, taken, {.read = true});
    std::memcpy(target.at, source.at, static_cast<std::size_t>(taken));
  });
}

void cvta_from(Instruction const& i, Warp& w, std::uint32_t lanes) {
  each_lane(lanes, [&](int lane) {
    set(w, i.operand[0], lane, get(w, i.operand[1], lane, 8) + window_of(i.space));
  });
}

void cvta_to(Instruction const& i, Warp& w, std::uint32_t lanes) {
  std::uint64_t const window = window_of(i.space);
  each_lane(lanes, [&](int lane) {
    std::uint64_t const address = get(w, i.operand[1], lane, 8);
    // nvcc converts null pointers too, before it is known whether they are used: a use faults.
    if (address != 0 && address >> kWindowShift << kWindowShift != window) {
      w.machine->complaints.add(i, w, lane, "cvta.to of an address of another space",
                                std::to_string(address));
    }
    set(w, i.operand[0], lane, address - window);
  });
}

void isspacep(Instruction const& i, Warp& w, std::uint32_t lanes) {
  std::uint32_t out = 0;
  each_lane(lanes, [&](int lane) {
    std::uint64_t const address = get(w, i.operand[1], lane, 8);
    bool const in = address >> kWindowShift << kWindowShift == window_of(i.space);
    out |= static_cast<std::uint32_t>(in) << lane;
  });
  w.set_predicate(i.operand[0], out, lanes);
}

void nothing(Instruction const&, Warp&, std::uint32_t) {}

Space named_space(Opcode const& op) {
  if (op.has("shared") || op.has("shared::cta")) return Space::kShared;
  return op.has("local") ? Space::kLocal : Space::kGlobal;
}

bool ready_copy(Opcode const& op, Instruction& i) {
  if (!op.has("async") || op.has("bulk") || op.has("mbarrier")) return false;
  bool const waits = op.has("commit_group") || op.has("wait_group") || op.has("wait_all");
  i.handler = waits ? nothing : copy_async;
  i.mode = static_cast<std::uint8_t>(op.operands);
  return waits || op.operands == 1 || op.operands == 2;
}

}  // namespace

bool ready_access(Opcode const& op, Instruction& i) {
  bool const load = op.is("ld") || op.is("ldu");
  if (load || op.is("st")) {
    i.handler = load ? ld : st;
    return size_of(i.type) > 0 && bytes_of(i) <= kMostBytes;
  }
  if (op.is("cp")) return ready_copy(op, i);
  if (op.is("prefetch") || op.is("prefetchu")) {
    i.handler = nothing;
    return true;
  }
  if (op.is("membar") || op.is("fence")) {
    i.handler = fence;
    return true;
  }
  if (!op.is("cvta") && !op.is("isspacep")) return false;
  i.space = named_space(op);
  i.handler = op.is("isspacep") ? isspacep : op.has("to") ? cvta_to : cvta_from;
  return true;
}

}  // namespace fairlane::gpusim
