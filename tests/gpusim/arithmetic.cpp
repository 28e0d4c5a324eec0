// add, sub, mul, mad, fma, div, rem, min, max, abs, neg, sqrt, rcp, and, or, xor, not, shl, shr,
// on whole rows. Integers wrap; floats round to nearest, and what may not is not known here.
#include <cmath>
#include <type_traits>

#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return canonical<T>(static_cast<T>(a + b));
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return canonical<T>(static_cast<T>(a - b));
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    return canonical<T>(static_cast<T>(a * b));
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Div {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return static_cast<T>(~T{0});
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1}) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
      }
      return static_cast<T>(a / b);
    } else {
      return canonical<T>(a / b);
    }
  }
};
struct Rem {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return 0;
    }
    return static_cast<T>(a % b);
  }
};
/// Of floats the one that is a number, and -0 below 0.
struct Min {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return canonical<T>(b);
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return canonical<T>(b);
      if (b != b) return a;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
};
struct MaxOrNan {
  template <class T>
  static T of(T a, T b) {
    return a != a || b != b ? canonical<T>(a + b) : Max::of(a, b);
  }
};
/// Twice as wide.
template <class T>
struct Wider {
  using type = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
};
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
template <>
struct Wider<std::int64_t> {
  using type = Int128;
};
template <>
struct Wider<std::uint64_t> {
  using type = Uint128;
};

struct MulHi {
  template <class T>
  static T of(T a, T b) {
    using Wide = typename Wider<T>::type;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct Neg {
  template <class T>
  static T of(T a) {
    return static_cast<T>(-a);
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return canonical<T>(std::fabs(a));
    } else {
      return static_cast<T>(a < 0 ? 0 - a : a);
    }
  }
};
struct Sqrt {
  template <class T>
  static T of(T a) {
    return canonical<T>(std::sqrt(a));
  }
};
struct Rcp {
  template <class T>
  static T of(T a) {
    return canonical<T>(T{1} / a);
  }
};

template <class T, class Op>
void binary(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  put(w.row<T>(i.operand[0]), lanes, [&](int l) { return Op::template of<T>(a[l], b[l]); });
}

template <class T, class Op>
void unary(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  put(w.row<T>(i.operand[0]), lanes, [&](int l) { return Op::template of<T>(a[l]); });
}

template <class T, class Wide>
void mul_wide(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  put(w.row<Wide>(i.operand[0]), lanes,
      [&](int l) { return static_cast<Wide>(static_cast<Wide>(a[l]) * static_cast<Wide>(b[l])); });
}

template <class T, class Wide>
void mad_wide(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  Wide const* const c = w.row<Wide>(i.operand[3]);
  put(w.row<Wide>(i.operand[0]), lanes, [&](int l) {
    return static_cast<Wide>(static_cast<Wide>(a[l]) * static_cast<Wide>(b[l]) + c[l]);
  });
}

template <class T, class Op>
void mad(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  T const* const c = w.row<T>(i.operand[3]);
  put(w.row<T>(i.operand[0]), lanes,
      [&](int l) { return static_cast<T>(Op::template of<T>(a[l], b[l]) + c[l]); });
}

template <class T>
void fused(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  T const* const c = w.row<T>(i.operand[3]);
  put(w.row<T>(i.operand[0]), lanes,
      [&](int l) { return canonical<T>(std::fma(a[l], b[l], c[l])); });
}

template <class T>
void shl(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  std::uint32_t const* const b = w.row<std::uint32_t>(i.operand[2]);
  put(w.row<T>(i.operand[0]), lanes,
      [&](int l) { return b[l] >= 8 * sizeof(T) ? T{0} : static_cast<T>(a[l] << b[l]); });
}

template <class T>
void shr(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  std::uint32_t const* const b = w.row<std::uint32_t>(i.operand[2]);
  put(w.row<T>(i.operand[0]), lanes, [&](int l) {
    if (b[l] >= 8 * sizeof(T)) return static_cast<T>(std::is_signed_v<T> && a[l] < 0 ? -1 : 0);
    return static_cast<T>(a[l] >> b[l]);
  });
}

/// handler.operator()<T>() for the integer that a type stands for; kBits stand for unsigned ones.
template <class Make>
Handler of_integer(Type type, Make const& make) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return make(std::uint16_t{});
    case Type::kS16:
      return make(std::int16_t{});
    case Type::kB32:
    case Type::kU32:
      return make(std::uint32_t{});
    case Type::kS32:
      return make(std::int32_t{});
    case Type::kB64:
    case Type::kU64:
      return make(std::uint64_t{});
    case Type::kS64:
      return make(std::int64_t{});
    default:
      return nullptr;
  }
}

template <class Make>
Handler of_float(Type type, Make const& make) {
  if (type == Type::kF32) return make(float{});
  return type == Type::kF64 ? make(double{}) : nullptr;
}

template <class Op>
Handler integers(Type type) {
  return of_integer(type, [](auto t) -> Handler { return binary<decltype(t), Op>; });
}

template <class Op>
Handler floats(Type type) {
  return of_float(type, [](auto t) -> Handler { return binary<decltype(t), Op>; });
}

template <class Op>
Handler numbers(Type type) {
  return is_float(type) ? floats<Op>(type) : integers<Op>(type);
}

template <class Op>
Handler unary_integers(Type type) {
  return of_integer(type, [](auto t) -> Handler { return unary<decltype(t), Op>; });
}

template <class Op>
Handler unary_floats(Type type) {
  return of_float(type, [](auto t) -> Handler { return unary<decltype(t), Op>; });
}

bool ready_mul(Opcode const& op, Instruction& i) {
  if (is_float(i.type)) return op.has("rn") && take(i, floats<Mul>(i.type), 3);
  if (op.has("lo")) return take(i, integers<Mul>(i.type), 3);
  if (op.has("hi")) return take(i, integers<MulHi>(i.type), 3);
  if (!op.has("wide")) return false;
  switch (i.type) {
    case Type::kU16:
      i.handler = mul_wide<std::uint16_t, std::uint32_t>;
      break;
    case Type::kS16:
      i.handler = mul_wide<std::int16_t, std::int32_t>;
      break;
    case Type::kU32:
      i.handler = mul_wide<std::uint32_t, std::uint64_t>;
      break;
    case Type::kS32:
      i.handler = mul_wide<std::int32_t, std::int64_t>;
      break;
    default:
      return false;
  }
  return operands_fit(i, 1, 3) && i.operand[0].width == 2 * size_of(i.type);
}

bool ready_mad(Opcode const& op, Instruction& i) {
  if (op.has("cc")) return false;
  if (op.has("lo")) {
    return take(i, of_integer(i.type, [](auto t) -> Handler { return mad<decltype(t), Mul>; }), 4);
  }
  if (op.has("hi")) {
    return take(i, of_integer(i.type, [](auto t) -> Handler { return mad<decltype(t), MulHi>; }),
                4);
  }
  if (i.type == Type::kU32) i.handler = mad_wide<std::uint32_t, std::uint64_t>;
  if (i.type == Type::kS32) i.handler = mad_wide<std::int32_t, std::int64_t>;
  bool const wide = i.operand[0].width == 8 && i.operand[3].width == 8;
  return i.handler != nullptr && wide && operands_fit(i, 1, 3);
}

/// Those of floats round to nearest, and say so.
bool ready_float(Opcode const& op, Instruction& i) {
  if (op.has("sat")) return false;
  Type const t = i.type;
  if (op.is("min")) return !op.has("NaN") && take(i, floats<Min>(t), 3);
  if (op.is("max")) return take(i, op.has("NaN") ? floats<MaxOrNan>(t) : floats<Max>(t), 3);
  if (op.is("neg")) return take(i, unary_floats<Neg>(t), 2);
  if (op.is("abs")) return take(i, unary_floats<Abs>(t), 2);
  if (!op.has("rn")) return false;
  if (op.is("add")) return take(i, floats<Add>(t), 3);
  if (op.is("sub")) return take(i, floats<Sub>(t), 3);
  if (op.is("div")) return take(i, floats<Div>(t), 3);
  if (op.is("sqrt")) return take(i, unary_floats<Sqrt>(t), 2);
  if (op.is("rcp")) return take(i, unary_floats<Rcp>(t), 2);
  if (!op.is("fma")) return false;
  return take(i, of_float(t, [](auto x) -> Handler { return fused<decltype(x)>; }), 4);
}

bool ready_integer(Opcode const& op, Instruction& i) {
  if (op.has("cc") || op.has("sat")) return false;
  Type const t = i.type;
  if (op.is("add")) return take(i, integers<Add>(t), 3);
  if (op.is("sub")) return take(i, integers<Sub>(t), 3);
  if (op.is("div")) return take(i, integers<Div>(t), 3);
  if (op.is("rem")) return take(i, integers<Rem>(t), 3);
  if (op.is("min")) return take(i, integers<Min>(t), 3);
  if (op.is("max")) return take(i, integers<Max>(t), 3);
  if (op.is("and")) return take(i, integers<And>(t), 3);
  if (op.is("or")) return take(i, integers<Or>(t), 3);
  if (op.is("xor")) return take(i, integers<Xor>(t), 3);
  if (op.is("not")) return take(i, unary_integers<Not>(t), 2);
  if (op.is("neg")) return take(i, unary_integers<Neg>(t), 2);
  if (op.is("abs")) return is_signed(t) && take(i, unary_integers<Abs>(t), 2);
  if (op.is("shl")) {
    return take(i, of_integer(t, [](auto x) -> Handler { return shl<decltype(x)>; }), 2);
  }
  if (!op.is("shr")) return false;
  return take(i, of_integer(t, [](auto x) -> Handler { return shr<decltype(x)>; }), 2);
}

}  // namespace

bool ready_arithmetic(Opcode const& op, Instruction& i) {
  if (i.type == Type::kPred || op.has("ftz")) return false;  // nothing here flushes to zero
  if (op.is("mul")) return ready_mul(op, i);
  if (op.is("mad")) return ready_mad(op, i);
  return is_float(i.type) ? ready_float(op, i) : ready_integer(op, i);
}

}  // namespace fairlane::gpusim
