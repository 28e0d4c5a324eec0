// What instructions of PTX cost: a guess of the SASS that they become, and of its latency.
#include <string>

#include "tests/gpusim/costs.h"

namespace fairlane::gpusim {

namespace {

// Cycles until a result can be used.
constexpr int kArithmeticLatency = 4;
constexpr int kSharedLatency = 29;
constexpr int kLocalLatency = 35;
constexpr int kGlobalLatency = 270;
constexpr int kAtomicLatency = 350;

InstructionCost cost(CostClass kind, int issue, int latency, int results) {
  return {kind, static_cast<std::uint8_t>(issue), static_cast<std::uint16_t>(latency),
          static_cast<std::uint8_t>(results)};
}

/// The opcode with its suffixes: the first word behind a guard.
std::string opcode_of(std::string const& text) {
  std::size_t at = 0;
  auto const next = [&] {
    std::size_t const end = text.find(' ', at);
    std::string const word = text.substr(at, end == std::string::npos ? end : end - at);
    at = end == std::string::npos ? text.size() : end + 1;
    return word;
  };
  std::string word = next();
  if (word == "@") {
    word = next();
    if (word == "!") word = next();
    word = next();
  }
  return word;
}

/// An instruction by its opcode, without and with suffixes.
struct Opcode {
  explicit Opcode(Instruction const& i)
      : full(opcode_of(i.text)), head(full.substr(0, full.find('.'))) {}
  bool is(std::initializer_list<char const*> names) const {
    for (char const* const name : names) {
      if (head == name) return true;
    }
    return false;
  }
  bool has(char const* suffix) const { return full.find(suffix) != std::string::npos; }

  std::string full;
  std::string head;
};

InstructionCost cost_of_load(Instruction const& i) {
  switch (i.space) {
    case Space::kShared:
      return cost(kSharedLoad, 1, kSharedLatency, i.vec);
    case Space::kLocal:
      return cost(kLocalLoad, 1, kLocalLatency, i.vec);
    case Space::kParam:
    case Space::kConst:
    case Space::kSlot:
      return cost(kMove, 0, 0, i.vec);
    case Space::kGeneric:
    case Space::kGlobal:
      break;
  }
  return cost(kGlobalLoad, 1, kGlobalLatency, i.vec);
}

InstructionCost cost_of_store(Instruction const& i) {
  switch (i.space) {
    case Space::kShared:
      return cost(kSharedStore, 1, kArithmeticLatency, 0);
    case Space::kLocal:
      return cost(kLocalStore, 1, kArithmeticLatency, 0);
    case Space::kSlot:
    case Space::kParam:
      return cost(kMove, 0, 0, 0);
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
      break;
  }
  return cost(kGlobalStore, 1, kArithmeticLatency, 0);
}

/// Branches, barriers and what a warp does together; kOther where it is none of them.
InstructionCost cost_of_control(Instruction const& i, Opcode const& op) {
  switch (i.kind) {
    case Kind::kBranch:
    case Kind::kBranchTable:
    case Kind::kCall:
    case Kind::kReturn:
    case Kind::kExit:
      return cost(kBranching, 1, 0, 0);
    case Kind::kAlu:
    case Kind::kBarrier:
    case Kind::kSync:
    case Kind::kYield:
      break;
  }
  if (i.kind == Kind::kBarrier || op.is({"bar", "barrier"})) return cost(kSynchronising, 1, 0, 0);
  if (op.is({"shfl", "match", "redux"})) {
    bool const two = op.head == "shfl" && i.operand[1].width == 0;
    return cost(kSynchronising, 1, 24, two ? 2 : 1);
  }
  if (op.is({"vote", "activemask"})) return cost(kSynchronising, 1, 12, 1);
  return cost(kOther, 2, 0, 0);
}

InstructionCost cost_of_division(Instruction const& i, bool wide) {
  if (i.type == Type::kF32) return cost(kSpecialFunction, 10, 50, 1);
  return wide ? cost(kSpecialFunction, 45, 160, 1) : cost(kSpecialFunction, 18, 70, 1);
}

InstructionCost cost_of_conversion(Instruction const& i) {
  if (is_float(i.type) || is_float(i.type2)) return cost(kSpecialFunction, 1, 14, 1);
  bool const free = i.type2 == Type::kU32 || size_of(i.type) <= 4;
  return cost(kInteger, free ? 0 : 1, kArithmeticLatency, 1);
}

InstructionCost cost_of_arithmetic(Instruction const& i, Opcode const& op) {
  int const size = size_of(i.type);
  bool const wide = size == 8 && !is_float(i.type);
  if (i.type == Type::kF64 || i.type2 == Type::kF64) {
    return cost(kFp64, op.is({"div", "sqrt", "rcp"}) ? 20 : 1, 8, 1);
  }
  if (op.head == "fma") return cost(kFfma, 1, kArithmeticLatency, 1);
  if (i.type == Type::kF32 && op.is({"add", "sub", "mul"})) {
    return cost(kFadd, 1, kArithmeticLatency, 1);
  }
  if (op.is({"div", "rem"})) return cost_of_division(i, wide);
  if (op.is({"sqrt", "rcp", "ex2", "lg2"})) {
    return cost(kSpecialFunction, op.has("approx") ? 2 : 9, 40, 1);
  }
  if (op.head == "cvt") return cost_of_conversion(i);
  if (op.is({"popc", "clz", "bfind", "brev"})) return cost(kSpecialFunction, 1, 14, 1);
  if (op.is({"mul", "mad"})) {
    int const issue = !wide ? 1 : op.has(".hi") ? 7 : 4;
    return cost(kImad, issue, kArithmeticLatency, 1);
  }
  bool const two = wide || (op.is({"selp", "setp"}) && size == 8);
  return cost(kInteger, two ? 2 : 1, kArithmeticLatency, 1);
}

}  // namespace

InstructionCost cost_of(Instruction const& i) {
  if (i.text == "copy of a parameter") return cost(kMove, 0, 0, 0);
  Opcode const op(i);
  if (op.is({"ld", "ldu"})) return cost_of_load(i);
  if (op.head == "st") return cost_of_store(i);
  if (op.head == "atom") return cost(kAtomic, 1, kAtomicLatency, 1);
  if (op.head == "red") return cost(kAtomic, 1, kArithmeticLatency, 0);
  bool const other = op.is({"membar", "fence", "nanosleep", "trap", "prefetch", "prefetchu", "cp"});
  if (i.kind != Kind::kAlu || other ||
      op.is({"bar", "barrier", "shfl", "match", "redux", "vote", "activemask"})) {
    return cost_of_control(i, op);
  }
  if (op.head == "mov") return cost(kMove, 0, 0, i.mode == 1 ? 2 : 1);
  if (op.head == "cvta") return cost(kMove, 0, 0, 1);
  return cost_of_arithmetic(i, op);
}

}  // namespace fairlane::gpusim
