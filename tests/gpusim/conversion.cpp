// cvt and mov.
#include <cmath>
#include <map>

#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

/// To what a conversion rounds; those with a whole number round to one.
enum Rounding : std::uint8_t { kNone, kNearest, kWholeNearest, kWholeZero, kWholeDown, kWholeUp };
constexpr std::uint8_t kSaturate = 16;  // a flag beside the rounding

double float_value(std::uint64_t bits, Type type) {
  if (type == Type::kF32) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return static_cast<double>(x);
  }
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

std::uint64_t float_bits(double x, Type type) {
  std::uint64_t bits = 0;
  if (type == Type::kF32) {
    float const narrow = canonical(static_cast<float>(x));
    std::memcpy(&bits, &narrow, sizeof narrow);
  } else {
    std::memcpy(&bits, &x, sizeof x);
  }
  return bits;
}

std::uint64_t float_of_integer(std::uint64_t x, bool sign, Type to) {
  auto const whole = static_cast<std::int64_t>(x);
  std::uint64_t bits = 0;
  if (to == Type::kF32) {  // not by way of a double, which would round twice
    float const narrow = sign ? static_cast<float>(whole) : static_cast<float>(x);
    std::memcpy(&bits, &narrow, sizeof narrow);
  } else {
    double const wide = sign ? static_cast<double>(whole) : static_cast<double>(x);
    std::memcpy(&bits, &wide, sizeof wide);
  }
  return bits;
}

double rounded(double x, int rounding) {
  switch (rounding) {
    case kWholeNearest:
      return std::nearbyint(x);
    case kWholeZero:
      return std::trunc(x);
    case kWholeDown:
      return std::floor(x);
    case kWholeUp:
      return std::ceil(x);
    default:
      return x;
  }
}

/// What does not fit becomes the nearest that does; NaN is 0, and of 64 bits the lowest.
std::uint64_t integer_of_float(double x, Type to) {
  int const bits = 8 * size_of(to);
  if (x != x) return bits == 64 ? std::uint64_t{1} << 63 : 0;
  if (is_signed(to)) {
    double const top = std::ldexp(1.0, bits - 1);
    std::int64_t const most =
        bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
    if (x >= top) return static_cast<std::uint64_t>(most);
    return static_cast<std::uint64_t>(x < -top ? -most - 1 : static_cast<std::int64_t>(x));
  }
  if (x >= std::ldexp(1.0, bits)) return extended(~std::uint64_t{0}, bits / 8, false);
  return x < 0 ? 0 : static_cast<std::uint64_t>(x);
}

void cvt(Instruction const& i, Warp& w, std::uint32_t lanes) {
  Type const to = i.type;
  Type const from = i.type2;
  int const rounding = i.mode & ~kSaturate;
  bool const saturate = (i.mode & kSaturate) != 0;
  each_lane(lanes, [&](int lane) {
    std::uint64_t const raw = get(w, i.operand[1], lane, size_of(from), is_signed(from));
    std::uint64_t out = 0;
    if (!is_float(from)) {
      out = is_float(to) ? float_of_integer(raw, is_signed(from), to)
                         : extended(raw, size_of(to), is_signed(to));
    } else {
      double x = rounded(float_value(raw, from), rounding);
      if (is_float(to)) {
        if (saturate) x = x != x || x < 0 ? 0 : std::min(x, 1.0);
        out = float_bits(x, to);
      } else {
        out = integer_of_float(x, to);
      }
    }
    set(w, i.operand[0], lane, out);
  });
}

/// What most conversions are: a row of one type as a row of another.
template <class D, class S>
void cast(Instruction const& i, Warp& w, std::uint32_t lanes) {
  S const* const a = w.row<S>(i.operand[1]);
  put(w.row<D>(i.operand[0]), lanes, [&](int l) { return static_cast<D>(a[l]); });
}

Handler quick_cvt(Type to, Type from) {
  if (is_float(to)) {
    if (to == Type::kF32 && from == Type::kS32) return cast<float, std::int32_t>;
    return to == Type::kF32 && from == Type::kU32 ? cast<float, std::uint32_t> : Handler{cvt};
  }
  if (size_of(to) == 8 && from == Type::kS32) return cast<std::int64_t, std::int32_t>;
  if (size_of(to) == 8 && from == Type::kU32) return cast<std::uint64_t, std::uint32_t>;
  bool const halves = size_of(to) == 4 && size_of(from) == 8 && !is_float(from);
  return halves ? cast<std::uint32_t, std::uint64_t> : Handler{cvt};
}

bool ready_cvt(Opcode const& op, Instruction& i) {
  static std::map<std::string, Rounding> const names = {{"rn", kNearest},
                                                        {"rni", kWholeNearest},
                                                        {"rzi", kWholeZero},
                                                        {"rmi", kWholeDown},
                                                        {"rpi", kWholeUp}};
  if (i.type2 == Type::kNone) return false;
  for (char const* const unknown : {"ftz", "rz", "rm", "rp", "relu", "satfinite"}) {
    if (op.has(unknown)) return false;
  }
  i.mode = kNone;
  for (auto const& part : op.parts) {
    auto const found = names.find(part);
    if (found != names.end()) i.mode = found->second;
  }
  if (op.has("sat")) {
    if (!is_float(i.type) || !is_float(i.type2)) return false;
    i.mode |= kSaturate;
  }
  bool const fits = i.operand[0].width == size_of(i.type) && i.operand[1].width == size_of(i.type2);
  i.handler = fits && i.mode <= kNearest ? quick_cvt(i.type, i.type2) : Handler{cvt};
  return true;
}

void mov(Instruction const& i, Warp& w, std::uint32_t lanes) {
  each_lane(lanes, [&](int lane) { set(w, i.operand[0], lane, get(w, i.operand[1], lane, 8)); });
}

template <class T>
void mov_row(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  put(w.row<T>(i.operand[0]), lanes, [&](int l) { return a[l]; });
}

/// {low, high} = value
void mov_apart(Instruction const& i, Warp& w, std::uint32_t lanes) {
  each_lane(lanes, [&](int lane) {
    std::uint64_t const x = get(w, i.operand[2], lane, 8);
    int const half = 4 * i.operand[2].width;
    if (i.operand[0].off >= 0) set(w, i.operand[0], lane, x);
    if (i.operand[1].off >= 0) set(w, i.operand[1], lane, x >> half);
  });
}

/// value = {low, high}
void mov_together(Instruction const& i, Warp& w, std::uint32_t lanes) {
  int const half = i.operand[0].width / 2;
  each_lane(lanes, [&](int lane) {
    std::uint64_t const low = get(w, i.operand[1], lane, half);
    set(w, i.operand[0], lane, low | get(w, i.operand[2], lane, half) << (8 * half));
  });
}

bool ready_mov(Opcode const& op, Instruction& i) {
  if (op.operands != (i.mode == kWhole ? 2 : 3)) return false;
  if (i.mode == kApart) {
    i.handler = mov_apart;
  } else if (i.mode == kTogether) {
    i.handler = mov_together;
  } else if (operands_fit(i, 0, 2)) {
    int const size = size_of(i.type);
    i.handler = size == 2   ? mov_row<std::uint16_t>
                : size == 4 ? mov_row<std::uint32_t>
                            : mov_row<std::uint64_t>;
  } else {
    i.handler = mov;
  }
  return true;
}

}  // namespace

bool ready_conversion(Opcode const& op, Instruction& i) {
  if (op.is("cvt")) return ready_cvt(op, i);
  return op.is("mov") && i.type != Type::kPred && ready_mov(op, i);
}

}  // namespace fairlane::gpusim
