// What instructions do, by family: each function readies an instruction of its family and says
// whether it knows it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/gpusim/instruction.h"

namespace fairlane::gpusim {

/// "add.rn.f32" in its parts, and how many operands are given beside an address.
struct Opcode {
  std::vector<std::string> parts;
  int operands = 0;

  std::string const& name() const { return parts[0]; }
  bool is(std::string_view other) const { return parts[0] == other; }
  bool has(std::string_view suffix) const {
    for (std::size_t n = 1; n < parts.size(); ++n) {
      if (parts[n] == suffix) return true;
    }
    return false;
  }
};

/// Mode of a mov: of one value, of a value into its halves, of halves into a value.
enum Move : std::uint8_t { kWhole, kApart, kTogether };

bool ready_arithmetic(Opcode const& op, Instruction& i);
bool ready_comparison(Opcode const& op, Instruction& i);
bool ready_bits(Opcode const& op, Instruction& i);
bool ready_conversion(Opcode const& op, Instruction& i);
bool ready_access(Opcode const& op, Instruction& i);
bool ready_atomic(Opcode const& op, Instruction& i);
bool ready_warp_operation(Opcode const& op, Instruction& i);

/// Whether operands [from, to) are as wide as the type, which handlers of rows take for granted.
inline bool operands_fit(Instruction const& i, int from, int to) {
  for (int n = from; n < to; ++n) {
    if (i.operand[n].width != size_of(i.type)) return false;
  }
  return true;
}

/// Takes a handler of rows, where there is one and operands [0, count) fit.
inline bool take(Instruction& i, Handler handler, int count) {
  if (handler == nullptr || !operands_fit(i, 0, count)) return false;
  i.handler = handler;
  return true;
}

}  // namespace fairlane::gpusim
