#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>

namespace fairlane {
namespace {

// Characters that a terminal or an editor may take for a line end or that reorder the text around
// them.
bool is_harmful(std::string_view character) {
  if (character.size() == 2) return character[0] == '\xC2' && character[1] < '\xA0';  // C1 controls
  if (character.size() != 3 || character[0] != '\xE2') return false;
  if (character[1] == '\x80') {  // U+2028, U+2029; U+202A..U+202E
    return character[2] >= '\xA8' && character[2] <= '\xAE';
  }
  return character[1] == '\x81' && character[2] >= '\xA6' &&
         character[2] <= '\xA9';  // U+2066..U+2069
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edit distance with transpositions of neighbours (optimal string alignment), ignoring ASCII case.
std::size_t edit_distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      bool const same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto const follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  std::uint32_t const b0 = byte(0);
  if (text.empty()) return 0;
  if (b0 < 0x80) return 1;
  if (b0 >= 0xC2 && b0 <= 0xDF) return follows(1) ? 2 : 0;
  if (b0 >= 0xE0 && b0 <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (b0 == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (b0 == 0xED && byte(1) >= 0xA0) return 0;  // surrogates
    return 3;
  }
  if (b0 >= 0xF0 && b0 <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (b0 == 0xF0 && byte(1) < 0x90) return 0;
    if (b0 == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

std::string escaped(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size() && at < limit) {
    std::size_t const length = utf8_length(text.substr(at));
    std::string_view const character = text.substr(at, length == 0 ? 1 : length);
    at += character.size();
    auto const code = static_cast<unsigned char>(character[0]);
    if (character == "\n") {
      out += "\\n";
    } else if (character == "\r") {
      out += "\\r";
    } else if (character == "\t") {
      out += "\\t";
    } else if (length == 0 || code < 0x20 || code == 0x7F || is_harmful(character)) {
      for (char const c : character) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += character;
    }
  }
  if (at < text.size()) out += "...";
  return out;
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  return "'" + escaped(text, limit) + "'";
}

std::string nearest_name(std::string const& word, std::vector<std::string> const& names) {
  // Nobody misspells longer names, and the cost is quadratic.
  constexpr std::size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (auto const& name : names) {
    if (name.empty() || name.size() > kLongestWord) continue;
    std::size_t const distance = edit_distance(word, name);
    // A name that shares nothing with the word is no suggestion, however short both are.
    if (distance < best_distance && distance < std::max(word.size(), name.size())) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string const& word, std::vector<std::string> const& names) {
  std::string const nearest = nearest_name(word, names);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", in_quotes(nearest));
}

std::string csv_cell(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_line(std::vector<std::string> const& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  return line + "\n";
}

std::string yaml_text(std::string_view text) {
  bool plain = !text.empty();
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
    bool const other = (c >= '0' && c <= '9') || c == '-' || c == '.';
    plain = plain && (letter || other);
  }
  // Words that some reader of YAML takes for something else than text, and "..", "-1", "1e3".
  std::string lowered;
  bool letters = false;
  for (char const c : text) {
    bool const upper = c >= 'A' && c <= 'Z';
    letters = letters || upper || (c >= 'a' && c <= 'z');
    lowered += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (char const* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    plain = plain && lowered != word;
  }
  if (plain && letters && text[0] != '-' && (text[0] < '0' || text[0] > '9')) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string word = "'";
  for (char const c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string lower_extension(std::string const& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

}  // namespace fairlane
