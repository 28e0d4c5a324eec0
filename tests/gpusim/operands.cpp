// Operands of instructions.
#include <cctype>
#include <cstring>

#include "tests/gpusim/decoder.h"
#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

namespace {

bool begins_number(std::string const& word) {
  return word[0] == '-' || std::isdigit(static_cast<unsigned char>(word[0])) != 0;
}

}  // namespace

Symbol* Decoder::lookup(std::string const& name) {
  for (std::size_t s = scopes_.size(); s-- > 0;) {
    auto const at = scopes_[s].find(name);
    if (at != scopes_[s].end()) return &at->second;
  }
  return nullptr;
}

/// A register, a predicate, or a special register.
bool Decoder::find_register(std::string const& name, Operand& o) {
  if (name[0] == '%') {
    for (int s = 0; s < kSpecials; ++s) {
      if (name != kSpecialNames[s]) continue;
      o.off = static_cast<std::int32_t>(kernel_.special[s]);
      o.width = 4;
      return true;
    }
  }
  Symbol* const symbol = lookup(name);
  if (symbol == nullptr) return false;
  if (symbol->kind == Symbol::kPredicate) {
    if (symbol->value < 0) symbol->value = kernel_.predicates++;
  } else if (symbol->kind == Symbol::kRegister) {
    if (symbol->value < 0) symbol->value = new_row(symbol->width);
  } else {
    return false;
  }
  o.off = static_cast<std::int32_t>(symbol->value);
  o.width = static_cast<std::uint8_t>(symbol->width);
  return true;
}

Operand Decoder::constant(std::uint64_t value, int width) {
  auto const [at, fresh] =
      constants_.try_emplace({value, width}, static_cast<std::int32_t>(kernel_.constants.size()));
  if (fresh) {
    auto const size = static_cast<std::size_t>(width);
    kernel_.constants.resize(kernel_.constants.size() + size * kLanes);
    std::uint8_t* const row = kernel_.constants.data() + at->second;
    for (std::size_t lane = 0; lane < kLanes; ++lane) std::memcpy(row + lane * size, &value, size);
  }
  Operand o;
  o.constant = true;
  o.width = static_cast<std::uint8_t>(width);
  o.off = at->second;
  return o;
}

/// The address of a variable: an operand, and its value where that is known before the launch.
bool Decoder::find_address(std::string const& name, Operand& o, Space& space, std::int64_t& value) {
  for (auto const& dynamic : module_.dynamic_shared) {
    if (dynamic != name) continue;
    o = {};
    o.off = static_cast<std::int32_t>(kernel_.special[kDynamicShared]);
    o.width = 4;
    space = Space::kShared;
    return true;
  }
  Symbol const* const symbol = lookup(name);
  if (symbol == nullptr) {
    auto const global = module_.globals.find(name);
    if (global == module_.globals.end()) return false;
    space = Space::kGlobal;
    value = static_cast<std::int64_t>(global->second);
  } else {
    value = symbol->value;
    switch (symbol->kind) {
      case Symbol::kShared:
        space = Space::kShared;
        break;
      case Symbol::kLocal:
        space = Space::kLocal;
        break;
      case Symbol::kSlot:
        space = Space::kSlot;
        break;
      case Symbol::kParameter:
        space = Space::kParam;
        value += static_cast<std::int64_t>(
            reinterpret_cast<std::uintptr_t>(kernel_.parameter_memory.get()));
        break;
      case Symbol::kRegister:
      case Symbol::kPredicate:
        return false;
    }
  }
  o = constant(static_cast<std::uint64_t>(value), 8);
  return true;
}

/// width: of a constant
Operand Decoder::read_operand(int width) {
  Operand o;
  if (word() == "!") {
    ++at_;
    if (!find_register(word(), o)) stop_here("what is !" + word());
    ++at_;
    o.negated = true;
    return o;
  }
  if (find_register(word(), o)) {
    ++at_;
    return o;
  }
  if (begins_number(word())) {
    std::uint64_t const x = read_number(tokens_, at_);
    if (width != 0) return constant(x, width);
    o.off = x != 0 ? 1 : 0;
    return o;
  }
  if (word() == "_") {
    ++at_;
    o.off = -1;
    return o;
  }
  Space space = Space::kGeneric;
  std::int64_t value = 0;
  if (!find_address(word(), o, space, value)) stop_here("what is " + word());
  ++at_;
  if (!o.constant) return o;
  if (word() == "+") {
    ++at_;
    value += static_cast<std::int64_t>(read_number(tokens_, at_));
  }
  return constant(static_cast<std::uint64_t>(value), width);
}

/// [base + offset]; space: the instruction's, which a name of a variable makes more precise.
Decoder::Address Decoder::read_address(Space space) {
  Address address;
  address.space = space;
  ++at_;
  Space found = space;
  std::int64_t value = 0;
  if (find_register(word(), address.base)) {
    ++at_;
  } else if (begins_number(word())) {
    address.base = constant(read_number(tokens_, at_), 8);
  } else if (find_address(word(), address.base, found, value)) {
    if (space == Space::kParam || space == Space::kGeneric) address.space = found;
    ++at_;
  } else {
    stop_here("address of what: " + word());
  }
  while (word() == "+" || word() == "-") {
    bool const minus = word() == "-";
    ++at_;
    auto const offset = static_cast<std::int64_t>(read_number(tokens_, at_));
    address.offset += minus ? -offset : offset;
  }
  if (word() != "]") stop_here("expected ], not " + word());
  ++at_;
  return address;
}

/// Bytes of a constant that is the next operand: the type's, but for counts and masks.
int Decoder::operand_width(Opcode const& op, Instruction const& i) const {
  int const width = size_of(i.type);
  int const n = op.operands;
  auto const is = [&](std::initializer_list<char const*> names) {
    for (char const* const name : names) {
      if (op.is(name)) return true;
    }
    return false;
  };
  if (is({"selp"}) && n == 3) return 0;
  if (is({"vote"}) && n == 1) return 0;
  if (is({"bar", "barrier"}) && n == 2) return 0;
  if (i.type == Type::kPred && !is({"bar", "barrier"})) return 0;
  if (is({"match"}) && n == 1) return width;
  if (is({"shl", "shr"}) && n == 2) return 4;
  if (is({"bfe"}) && n >= 2) return 4;
  if (is({"bfi"}) && n >= 3) return 4;
  if (op.has("wide") && (is({"mul", "mad"})) && (n == 0 || n == 3)) return 2 * width;
  if (is({"cvt"}) && n == 1) return size_of(i.type2);
  if (is({"shfl", "vote", "activemask", "prmt", "lop3", "match", "redux", "bar", "barrier",
          "nanosleep", "membar", "fence", "cp"})) {
    return 4;
  }
  return width;
}

/// {a, b}: values of a vector, or the halves of a mov
void Decoder::read_braces(Opcode& op, Instruction& i) {
  bool const halves = op.is("mov");
  int const width = halves ? size_of(i.type) / 2 : size_of(i.type);
  if (halves) i.mode = op.operands == 0 ? kApart : kTogether;
  for (++at_; word() != "}";) {
    if (word() == ",") {
      ++at_;
      continue;
    }
    if (op.operands >= kCopyTo) stop_here("too many operands");
    Operand o = read_operand(width);
    if (o.off < 0) o.width = static_cast<std::uint8_t>(width);
    i.operand[op.operands++] = o;
  }
  ++at_;
}

void Decoder::read_operands(Opcode& op, Instruction& i) {
  bool copies_to = op.is("cp");  // their first address is that which they write to
  while (word() != ";") {
    if (word() == "," || word() == "|") {
      ++at_;
    } else if (word() == "[") {
      Address const address = read_address(i.space);
      i.operand[copies_to ? kCopyTo : kAddress] = address.base;
      if (copies_to) {
        i.target = static_cast<std::uint32_t>(address.offset);
      } else {
        i.immediate = address.offset;
        i.space = address.space;
      }
      copies_to = false;
    } else if (word() == "{") {
      read_braces(op, i);
    } else {
      if (op.operands >= kCopyTo) stop_here("too many operands");
      Operand const o = read_operand(operand_width(op, i));
      i.operand[op.operands++] = o;
    }
  }
}

}  // namespace fairlane::gpusim
