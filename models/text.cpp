#include "models/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "kernels/core/error.h"
#include "models/domain.h"

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

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

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

std::string did_you_mean(std::string const& word, std::vector<std::string> const& names) {
  std::string const nearest = nearest_name(word, names);
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", in_quotes(nearest));
}

std::string lower_extension(std::string const& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

std::string read_file(std::string const& path, std::size_t limit) {
  auto const fail = [&](std::string const& why) {
    return Error(ExitCode::kNoInput, fmt::format("{}: {}", escaped(path, 4096), why));
  };
  std::error_code ec;
  auto const status = std::filesystem::status(path, ec);
  if (status.type() == std::filesystem::file_type::not_found) throw fail("no such file");
  if (std::filesystem::is_directory(status)) throw fail("is a directory, expected a file");
  std::unique_ptr<std::FILE, Closer> const file(std::fopen(path.c_str(), "rb"));
  if (!file) throw fail(fmt::format("cannot be opened: {}", std::strerror(errno)));

  std::string bytes;
  if (std::filesystem::is_regular_file(status)) {
    auto const size = std::filesystem::file_size(path, ec);
    if (!ec && size > limit) {
      throw fail(fmt::format("is {} bytes long, expected at most {}", size, limit));
    }
    if (!ec) bytes.reserve(static_cast<std::size_t>(size) + 1);
  }
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  while (true) {
    std::size_t const before = bytes.size();
    std::size_t const room = bytes.capacity() > before ? bytes.capacity() - before : kChunk;
    bytes.resize(before + room);
    std::size_t const got = std::fread(bytes.data() + before, 1, room, file.get());
    bytes.resize(before + got);
    if (bytes.size() > limit) throw fail(fmt::format("is longer than {} bytes", limit));
    if (got < room) break;
  }
  if (std::ferror(file.get()) != 0)
    throw fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  return bytes;
}

}  // namespace fairlane
