#include "tests/gpusim/declarations.h"

#include <algorithm>

namespace fairlane::gpusim {

Declaration read_declaration(std::vector<Token> const& tokens, std::size_t& at) {
  Declaration d;
  for (; tokens[at].text[0] == '.'; ++at) {
    std::string const& word = tokens[at].text;
    if (word == ".align") {
      d.align = static_cast<std::uint32_t>(std::stoul(tokens[++at].text));
    } else if (Type const type = type_named(word.substr(1)); type != Type::kNone) {
      d.type = type;
      d.element = static_cast<std::uint32_t>(std::max(size_of(type), 1));
    }
  }
  d.align = std::max(d.align, d.element);
  d.name = tokens[at++].text;
  if (tokens[at].text == "[") {
    bool const open = tokens[at + 1].text == "]";
    d.count = open ? 0 : std::stoull(tokens[at + 1].text);
    at += open ? 2 : 3;
  }
  return d;
}

std::vector<Declaration> read_parameters(std::vector<Token> const& tokens, std::size_t begin,
                                         std::size_t end) {
  std::vector<Declaration> all;
  for (std::size_t at = begin; at < end;) {
    if (tokens[at].text == ",") {
      ++at;
    } else {
      all.push_back(read_declaration(tokens, at));
    }
  }
  return all;
}

std::uint64_t read_number(std::vector<Token> const& tokens, std::size_t& at) {
  bool const negative = tokens[at].text == "-";
  if (negative) ++at;
  std::string word = tokens[at++].text;
  std::uint64_t x = 0;
  if (word.size() > 2 && word[0] == '0' && std::string("fFdD").find(word[1]) != std::string::npos) {
    x = std::stoull(word.substr(2), nullptr, 16);
  } else {
    if (word.back() == 'U') word.pop_back();
    x = std::stoull(word, nullptr, 0);
  }
  return negative ? 0 - x : x;
}

}  // namespace fairlane::gpusim
