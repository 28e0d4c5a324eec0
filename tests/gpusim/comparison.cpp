// setp, selp, and what is done with predicates.
#include <map>

#include "tests/gpusim/operations.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

enum Comparison { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

std::map<std::string, Comparison> const& comparisons() {
  static std::map<std::string, Comparison> const names = {
      {"eq", kEq},   {"ne", kNe},   {"lt", kLt},   {"le", kLe},   {"gt", kGt},   {"ge", kGe},
      {"lo", kLt},   {"ls", kLe},   {"hi", kGt},   {"hs", kGe},   {"equ", kEqu}, {"neu", kNeu},
      {"ltu", kLtu}, {"leu", kLeu}, {"gtu", kGtu}, {"geu", kGeu}, {"num", kNum}, {"nan", kNan}};
  return names;
}

template <class T>
bool holds(Comparison c, T a, T b) {
  bool const nan = a != a || b != b;
  switch (c) {
    case kEq:
      return a == b;
    case kNe:
      return !nan && a != b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kGe:
      return a >= b;
    case kEqu:
      return nan || a == b;
    case kNeu:
      return nan || a != b;
    case kLtu:
      return nan || a < b;
    case kLeu:
      return nan || a <= b;
    case kGtu:
      return nan || a > b;
    case kGeu:
      return nan || a >= b;
    case kNum:
      return !nan;
    case kNan:
      return nan;
  }
  return false;
}

template <class T, Comparison kComparison>
void setp(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  std::uint32_t bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    bits |= static_cast<std::uint32_t>(holds<T>(kComparison, a[l], b[l])) << l;
  }
  w.set_predicate(i.operand[0], bits, lanes);
}

template <class T>
Handler setp_of(Comparison c) {
  constexpr Handler kHandlers[] = {setp<T, kEq>,  setp<T, kNe>,  setp<T, kLt>,  setp<T, kLe>,
                                   setp<T, kGt>,  setp<T, kGe>,  setp<T, kEqu>, setp<T, kNeu>,
                                   setp<T, kLtu>, setp<T, kLeu>, setp<T, kGtu>, setp<T, kGeu>,
                                   setp<T, kNum>, setp<T, kNan>};
  return kHandlers[c];
}

Handler setp_of(Type type, Comparison c) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return setp_of<std::uint16_t>(c);
    case Type::kS16:
      return setp_of<std::int16_t>(c);
    case Type::kB32:
    case Type::kU32:
      return setp_of<std::uint32_t>(c);
    case Type::kS32:
      return setp_of<std::int32_t>(c);
    case Type::kB64:
    case Type::kU64:
      return setp_of<std::uint64_t>(c);
    case Type::kS64:
      return setp_of<std::int64_t>(c);
    case Type::kF32:
      return setp_of<float>(c);
    case Type::kF64:
      return setp_of<double>(c);
    default:
      return nullptr;
  }
}

template <class T>
void selp(Instruction const& i, Warp& w, std::uint32_t lanes) {
  T const* const a = w.row<T>(i.operand[1]);
  T const* const b = w.row<T>(i.operand[2]);
  std::uint32_t const p = w.predicate(i.operand[3]);
  put(w.row<T>(i.operand[0]), lanes, [&](int l) { return (p >> l & 1) != 0 ? a[l] : b[l]; });
}

enum Logic { kAnd, kOr, kXor, kNot, kCopy };

template <Logic kLogic>
void predicates(Instruction const& i, Warp& w, std::uint32_t lanes) {
  std::uint32_t x = w.predicate(i.operand[1]);
  if (kLogic == kAnd) x &= w.predicate(i.operand[2]);
  if (kLogic == kOr) x |= w.predicate(i.operand[2]);
  if (kLogic == kXor) x ^= w.predicate(i.operand[2]);
  w.set_predicate(i.operand[0], kLogic == kNot ? ~x : x, lanes);
}

bool ready_predicates(Opcode const& op, Instruction& i) {
  if (op.is("and")) i.handler = predicates<kAnd>;
  if (op.is("or")) i.handler = predicates<kOr>;
  if (op.is("xor")) i.handler = predicates<kXor>;
  if (op.is("not")) i.handler = predicates<kNot>;
  if (op.is("mov")) i.handler = predicates<kCopy>;
  return i.handler != nullptr;
}

}  // namespace

bool ready_comparison(Opcode const& op, Instruction& i) {
  if (op.has("ftz")) return false;
  if (op.is("setp")) {
    auto const found = comparisons().find(op.parts.at(1));
    if (found == comparisons().end() || op.operands != 3 || !operands_fit(i, 1, 3)) return false;
    i.handler = setp_of(i.type, found->second);
    return i.handler != nullptr;
  }
  if (op.is("selp")) {
    int const size = size_of(i.type);
    return take(i,
                size == 2   ? selp<std::uint16_t>
                : size == 4 ? selp<std::uint32_t>
                : size == 8 ? selp<std::uint64_t>
                            : Handler{nullptr},
                3);
  }
  return i.type == Type::kPred && ready_predicates(op, i);
}

}  // namespace fairlane::gpusim
