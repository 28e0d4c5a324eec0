#include "tests/gpusim/tokens.h"

#include <cctype>

namespace fairlane::gpusim {

namespace {

bool space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

/// The end of the word at `at`, in which :: may stand.
std::size_t end_of_word(std::string const& text, std::size_t at) {
  while (at < text.size()) {
    if (of_word(text[at])) {
      ++at;
    } else if (text.compare(at, 2, "::") == 0) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

}  // namespace

std::vector<Token> tokens_of(std::string const& text) {
  std::vector<Token> tokens;
  int line = 1;
  for (std::size_t at = 0; at < text.size() && text[at] != '\0';) {
    std::size_t end = at + 1;
    if (text[at] == '\n') {
      ++line;
    } else if (space(text[at])) {
    } else if (text.compare(at, 2, "//") == 0) {
      end = std::min(text.find('\n', at), text.size());
    } else {
      if (text[at] == '"') end = text.find('"', at + 1) + 1;
      if (of_word(text[at])) end = end_of_word(text, at);
      tokens.push_back({text.substr(at, end - at), line});
    }
    at = end;
  }
  return tokens;
}

std::vector<std::string> split(std::string const& text, char sign) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == sign) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace fairlane::gpusim
