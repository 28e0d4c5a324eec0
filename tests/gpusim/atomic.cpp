// atom, red and redux.
#include <map>

#include "tests/gpusim/access.h"
#include "tests/gpusim/machine.h"
#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

enum Update : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExch, kCas, kInc, kDec };
constexpr std::uint8_t kNoResult = 128;  // a flag beside the update

std::map<std::string, Update> const& updates() {
  static std::map<std::string, Update> const names = {
      {"add", kAdd}, {"min", kMin},   {"max", kMax}, {"and", kAnd}, {"or", kOr},
      {"xor", kXor}, {"exch", kExch}, {"cas", kCas}, {"inc", kInc}, {"dec", kDec}};
  return names;
}

template <class T>
std::uint64_t float_sum(std::uint64_t a, std::uint64_t b) {
  T x;
  T y;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  T const sum = canonical<T>(x + y);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &sum, sizeof sum);
  return bits;
}

/// What an update makes of a value; both are extended to 64 bits as their type says.
std::uint64_t updated(int update, Type type, std::uint64_t a, std::uint64_t b) {
  bool const less =
      is_signed(type) ? static_cast<std::int64_t>(b) < static_cast<std::int64_t>(a) : b < a;
  switch (update) {
    case kAdd:
      if (type == Type::kF32) return float_sum<float>(a, b);
      return type == Type::kF64 ? float_sum<double>(a, b) : a + b;
    case kMin:
      return less ? b : a;
    case kMax:
      return less ? a : b;
    case kAnd:
      return a & b;
    case kOr:
      return a | b;
    case kXor:
      return a ^ b;
    case kInc:
      return a >= b ? 0 : a + 1;
    case kDec:
      return a == 0 || a > b ? b : a - 1;
    default:
      return b;
  }
}

/// The lanes of a set in an order of their own: which comes first is not the program's to know.
int order_of(Warp& w, std::uint32_t lanes, int* order) {
  int count = 0;
  each_lane(lanes, [&](int lane) { order[count++] = lane; });
  if (!w.machine->options.random) return count;
  for (int n = count - 1; n > 0; --n) {
    std::swap(order[n], order[w.machine->random.below(static_cast<std::uint64_t>(n + 1))]);
  }
  return count;
}

void atom(Instruction const& i, Warp& w, std::uint32_t lanes) {
  int const size = size_of(i.type);
  auto const bytes = static_cast<std::size_t>(size);
  bool const sign = is_signed(i.type);
  bool const returns = (i.mode & kNoResult) == 0;
  int const update = i.mode & ~kNoResult;
  int const first = returns ? 1 : 0;
  if (i.release) fence(i, w, lanes);
  int order[kLanes];
  int const count = order_of(w, lanes, order);
  for (int n = 0; n < count; ++n) {
    int const lane = order[n];
    std::uint64_t const address = address_of(i, w, lane);
    Place const place = resolve(i, w, lane, i.space, address, bytes, true);
    check_written(i, w, lane, place, size);
    if (place.cell != nullptr) {
      watch(i, w, lane, place, size, {.write = true, .read = true});
      note_acquire(w, lane, address);
      note_release(w, lane, address, true);
    }
    std::uint64_t const old = extended(load_bytes(place.at, size), size, sign);
    std::uint64_t const operand = get(w, i.operand[first], lane, size, sign);
    std::uint64_t const next =
        update == kCas ? (old == operand ? get(w, i.operand[first + 1], lane, size, sign) : old)
                       : updated(update, i.type, old, operand);
    store_bytes(place.at, next, size);
    if (place.written != nullptr) std::memset(place.written, 1, bytes);
    if (returns && i.operand[0].off >= 0) set(w, i.operand[0], lane, old);
  }
  if (i.acquire) fence(i, w, lanes);
}

void redux(Instruction const& i, Warp& w, std::uint32_t lanes) {
  bool const sign = is_signed(i.type);
  int const first = __builtin_ctz(lanes);
  std::uint64_t all = get(w, i.operand[1], first, 4, sign);
  each_lane(lanes & (lanes - 1), [&](int lane) {
    all = updated(i.mode, i.type, all, get(w, i.operand[1], lane, 4, sign));
  });
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, all); });
}

}  // namespace

bool ready_atomic(Opcode const& op, Instruction& i) {
  bool const returns = op.is("atom");
  bool const memory = returns || op.is("red");
  if ((!memory && !op.is("redux")) || i.vec != 1) return false;
  auto const update = [&] {
    for (auto const& part : op.parts) {
      auto const found = updates().find(part);
      if (found != updates().end()) return static_cast<int>(found->second);
    }
    return -1;
  }();
  if (update < 0 || size_of(i.type) < 2 || op.has("async")) return false;
  if (is_float(i.type) && update != kAdd) return false;
  i.mode = static_cast<std::uint8_t>(update);
  if (memory) {
    i.strong = true;
    i.handler = atom;
    if (!returns) i.mode |= kNoResult;
    return true;
  }
  i.kind = Kind::kSync;
  i.handler = redux;
  i.target = 2;
  return size_of(i.type) == 4 && !is_float(i.type) && op.has("sync");
}

}  // namespace fairlane::gpusim
