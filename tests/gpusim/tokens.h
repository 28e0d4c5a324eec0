// The words of PTX.
#pragma once

#include <string>
#include <vector>

namespace fairlane::gpusim {

struct Token {
  std::string text;
  int line;
};

/// Words, numbers, strings with their quotes, and single signs; comments are left out.
std::vector<Token> tokens_of(std::string const& text);

/// The parts of text between the signs.
std::vector<std::string> split(std::string const& text, char sign);

}  // namespace fairlane::gpusim
