// Instructions: guard, opcode, operands; branches and calls.
#include <cstdio>
#include <cstring>

#include "tests/gpusim/decoder.h"
#include "tests/gpusim/values.h"

namespace fairlane::gpusim {

namespace {

constexpr std::size_t kLongWord = 40;
constexpr std::size_t kKeptEnds = 12;

/// As people read it; names of many letters are shortened.
void append_word(std::string& text, std::string const& word) {
  bool const tight = word == "," || word == "]" || word == "[" || word == "+";
  if (!text.empty() && !tight) text += ' ';
  text += word.size() <= kLongWord
              ? word
              : word.substr(0, kKeptEnds) + ".." + word.substr(word.size() - kKeptEnds);
}

/// What the suffixes of an access say.
void read_access(Opcode const& op, Instruction& i) {
  if (op.has("global")) i.space = Space::kGlobal;
  if (op.has("shared") || op.has("shared::cta")) i.space = Space::kShared;
  if (op.has("local")) i.space = Space::kLocal;
  if (op.has("param")) i.space = Space::kParam;
  if (op.has("const")) i.space = Space::kConst;
  i.acquire = op.has("acquire") || op.has("acq_rel");
  i.release = op.has("release") || op.has("acq_rel");
  i.strong = i.acquire || i.release || op.has("volatile") || op.has("relaxed");
  i.vec = op.has("v2") ? 2 : op.has("v4") ? 4 : op.has("v8") ? 8 : 1;
}

void read_types(Opcode const& op, Instruction& i) {
  for (auto const& part : op.parts) {
    Type const type = type_named(part);
    if (type == Type::kNone) continue;
    if (i.type == Type::kNone) {
      i.type = type;
    } else {
      i.type2 = type;
    }
  }
}

bool ready(Opcode const& op, Instruction& i) {
  return ready_arithmetic(op, i) || ready_comparison(op, i) || ready_bits(op, i) ||
         ready_conversion(op, i) || ready_access(op, i) || ready_atomic(op, i) ||
         ready_warp_operation(op, i);
}

bool is_clock(std::string const& name) {
  return name == "%clock" || name == "%clock64" || name == "%globaltimer";
}

}  // namespace

void Decoder::read_guard(Instruction& i) {
  if (word() != "@") return;
  ++at_;
  if (word() == "!") {
    i.pred_negated = true;
    ++at_;
  }
  Operand o;
  if (!find_register(word(), o)) stop_here("predicate " + word());
  i.pred = o.off;
  ++at_;
}

void Decoder::instruction() {
  Instruction i;
  i.where = static_cast<std::uint32_t>(kernel_.places.size() - 1);
  i.line = tokens_[at_].line;
  for (std::size_t at = at_; tokens_[at].text != ";"; ++at) append_word(i.text, tokens_[at].text);
  read_guard(i);
  Opcode op;
  op.parts = split(word(), '.');
  ++at_;
  if (control(op, i)) return;
  read_types(op, i);
  for (char const* const name : {"ld", "ldu", "st", "atom", "red"}) {
    if (op.is(name)) read_access(op, i);
  }
  if (op.is("mov") && is_clock(word(2))) {  // what it reads changes all the time
    op.parts[0] = "clock";
    i.operand[op.operands++] = read_operand(size_of(i.type));
    at_ += 2;
  }
  read_operands(op, i);
  if (op.is("membar") || op.is("fence") || i.acquire || i.release) kernel_.fences = true;
  if (!ready(op, i)) {
    std::fprintf(stderr, "gpusim: %s: unknown instruction: %s\n", kernel_.pretty.c_str(),
                 i.text.c_str());
    i.kind = Kind::kAlu;
    i.handler = nullptr;
  }
  kernel_.code.push_back(std::move(i));
  ++at_;
}

/// Branches, calls and ends, which are added at once; whether it is one.
bool Decoder::control(Opcode const& op, Instruction& i) {
  if (op.is("call")) {
    call(std::move(i));
    return true;
  }
  if (op.is("bra") || op.is("brx")) {
    i.kind = op.is("bra") ? Kind::kBranch : Kind::kBranchTable;
    if (op.is("brx")) {
      i.operand[0] = read_operand(4);
      ++at_;
    }
    branches_.emplace_back(next(), word());
  } else if (op.is("ret") || op.is("exit")) {
    i.kind = op.is("ret") ? Kind::kReturn : Kind::kExit;
  } else {
    return false;
  }
  kernel_.code.push_back(std::move(i));
  skip_statement();
  return true;
}

/// (slot, slot, ...)
std::vector<Symbol> Decoder::read_arguments() {
  std::vector<Symbol> slots;
  for (++at_; word() != ")"; ++at_) {
    if (word() == ",") continue;
    Symbol const* const symbol = lookup(word());
    if (symbol == nullptr || symbol->kind != Symbol::kSlot) {
      stop_here("an argument that is no .param: " + word());
    }
    slots.push_back(*symbol);
  }
  ++at_;
  return slots;
}

void Decoder::copy_slot(Instruction const& call, Symbol const& to, Symbol const& from) {
  Instruction i;
  i.handler = [](Instruction const& copy, Warp& w, std::uint32_t lanes) {
    each_lane(lanes, [&](int lane) {
      std::uint8_t* const base = w.local + static_cast<std::size_t>(lane) * w.kernel->local_bytes;
      std::memcpy(base + copy.operand[0].off, base + copy.operand[1].off,
                  static_cast<std::size_t>(copy.immediate));
    });
  };
  i.where = call.where;
  i.pred = call.pred;
  i.pred_negated = call.pred_negated;
  i.operand[0] = {static_cast<std::int32_t>(to.value), 0, true, false};  // of no register
  i.operand[1] = {static_cast<std::int32_t>(from.value), 0, true, false};
  i.immediate = to.size;
  i.text = "copy of a parameter";
  kernel_.code.push_back(std::move(i));
}

/// call (results), name, (arguments); the parts in brackets may be left out.
void Decoder::call(Instruction i) {
  std::vector<Symbol> results;
  std::vector<Symbol> arguments;
  if (word() == "(") {
    results = read_arguments();
    ++at_;
  }
  std::string const name = word();
  ++at_;
  if (word() == ",") ++at_;
  if (word() == "(") arguments = read_arguments();
  skip_statement();
  auto const body = module_.bodies.find(name);
  if (body == module_.bodies.end()) stop("a call of " + name + " in " + kernel_.name);
  auto const [function, fresh] = functions_.try_emplace(name);
  if (fresh) {
    auto const slots = [&](std::size_t begin, std::size_t end) {
      std::vector<Symbol> all;
      for (auto const& d : read_parameters(tokens_, begin, end)) {
        all.push_back({Symbol::kSlot, new_slot(d.bytes(), d.align), 0,
                       static_cast<std::uint32_t>(d.bytes())});
      }
      return all;
    };
    function->second.parameters = slots(body->second.parameters, body->second.parameters_end);
    function->second.results = slots(body->second.results, body->second.results_end);
    wanted_.insert(name);
  }
  auto const& its = function->second;
  for (std::size_t n = 0; n < its.parameters.size(); ++n) {
    copy_slot(i, its.parameters[n], arguments.at(n));
  }
  i.kind = Kind::kCall;
  calls_.emplace_back(next(), name);
  kernel_.code.push_back(i);
  for (std::size_t n = 0; n < its.results.size(); ++n) {
    copy_slot(i, results.at(n), its.results[n]);
  }
}

}  // namespace fairlane::gpusim
