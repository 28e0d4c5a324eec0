// Declarations of PTX: variables, parameters, registers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpusim/tokens.h"
#include "tests/gpusim/types.h"

namespace fairlane::gpusim {

/// "[.align 8] .b8 name[40]": element: bytes of one of its `count` values; align: at least those.
struct Declaration {
  std::string name;
  Type type = Type::kNone;
  std::uint32_t element = 1;
  std::uint32_t align = 1;
  std::uint64_t count = 1;
  std::uint64_t bytes() const { return element * count; }
};

/// Reads one from the word behind its space on, and leaves `at` behind it.
Declaration read_declaration(std::vector<Token> const& tokens, std::size_t& at);

/// Parameters in [begin, end).
std::vector<Declaration> read_parameters(std::vector<Token> const& tokens, std::size_t begin,
                                         std::size_t end);

/// A number in PTX's way, or the bits of a float; leaves `at` behind it.
std::uint64_t read_number(std::vector<Token> const& tokens, std::size_t& at);

}  // namespace fairlane::gpusim
