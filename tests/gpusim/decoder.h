// Makes instructions of a kernel's PTX. Functions that it calls follow its own code; their
// registers are the kernel's, for there is no recursion, and their parameters slots in local
// memory.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/gpusim/declarations.h"
#include "tests/gpusim/kernel.h"
#include "tests/gpusim/operations.h"

namespace fairlane::gpusim {

/// What a name stands for. value: an offset or an address; of registers the row or the index, -1
/// until it is first used. width: bytes of a register; size: of a parameter.
struct Symbol {
  enum Kind { kRegister, kPredicate, kShared, kLocal, kParameter, kSlot } kind = kRegister;
  std::int64_t value = -1;
  int width = 0;
  std::uint32_t size = 0;
};

class Decoder {
 public:
  Decoder(Module& module, Kernel& kernel)
      : module_(module), kernel_(kernel), tokens_(module.tokens) {}
  void run();

 private:
  struct Function {
    std::uint32_t start = 0;
    std::vector<Symbol> parameters;
    std::vector<Symbol> results;
  };
  struct Address {
    Operand base;
    std::int64_t offset = 0;
    Space space = Space::kGeneric;
  };

  std::string const& word(std::size_t ahead = 0) const { return tokens_[at_ + ahead].text; }
  [[noreturn]] void stop_here(std::string const& what) const;
  std::uint32_t next() const { return static_cast<std::uint32_t>(kernel_.code.size()); }
  void skip_statement();

  // Bodies and what they declare (decoder.cpp).
  void declare_parameters(Body const& body);
  void decode_body(Body const& body);
  void decode_statement();
  void function_body(std::string const& name);
  void resolve_labels();
  void read_place();
  void declare_registers();
  void declare_memory();
  std::uint32_t new_row(int width);
  std::uint32_t new_slot(std::uint64_t size, std::uint32_t align);

  // Operands (operands.cpp).
  Symbol* lookup(std::string const& name);
  bool find_register(std::string const& name, Operand& o);
  Operand constant(std::uint64_t value, int width);
  bool find_address(std::string const& name, Operand& o, Space& space, std::int64_t& value);
  Operand read_operand(int width);
  Address read_address(Space space);
  int operand_width(Opcode const& op, Instruction const& i) const;
  void read_operands(Opcode& op, Instruction& i);
  void read_braces(Opcode& op, Instruction& i);

  // Instructions (decode_instruction.cpp).
  void instruction();
  void read_guard(Instruction& i);
  bool control(Opcode const& op, Instruction& i);
  void call(Instruction i);
  std::vector<Symbol> read_arguments();
  void copy_slot(Instruction const& call, Symbol const& to, Symbol const& from);

  Module& module_;
  Kernel& kernel_;
  std::vector<Token> const& tokens_;
  std::size_t at_ = 0;
  std::vector<std::map<std::string, Symbol>> scopes_;
  std::map<std::pair<std::uint64_t, int>, std::int32_t> constants_;
  std::map<std::string, Function> functions_;
  std::set<std::string> wanted_;  // of functions_, those that are yet to be decoded
  std::vector<std::pair<std::size_t, std::string>> calls_;
  // Of the body under way.
  std::map<std::string, std::uint32_t> labels_;
  std::map<std::string, std::vector<std::string>> tables_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

}  // namespace fairlane::gpusim
