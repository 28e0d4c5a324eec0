#include "apps/files.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fairlane {

namespace fs = std::filesystem;

void refuse_no_file(std::string const& path) {
  std::error_code ec;
  fs::file_status const status = fs::status(path, ec);
  if (!fs::exists(status) || fs::is_regular_file(status)) return;
  throw Error(ExitCode::kOutput,
              fmt::format("{}: is {}, expected a file or a new name", escaped(path, path.size()),
                          fs::is_directory(status) ? "a directory" : "a device or a pipe"));
}

void write_text_file(std::string const& path, std::string_view text) {
  refuse_no_file(path);
  fs::path const folder = fs::path(path).parent_path();
  std::error_code ec;
  if (!folder.empty()) fs::create_directories(folder, ec);
  if (ec) {
    throw Error(ExitCode::kOutput, fmt::format("{}: its folder cannot be created: {}",
                                               escaped(path, path.size()), ec.message()));
  }
  write_whole_file(path, text, ExitCode::kOutput);
}

std::string relative_path(std::string const& path, std::string const& base) {
  // ".." leads out of the folder itself, not out of a link to it. What is named may be a link.
  auto const resolved = [](fs::path const& folder) {
    std::error_code ec;
    auto const canonical = fs::weakly_canonical(folder, ec);
    return ec ? folder.lexically_normal() : canonical;
  };
  fs::path const from = resolved(absolute_path(base.empty() ? "." : base));
  fs::path const named = absolute_path(path).lexically_normal();
  fs::path const to = resolved(named.parent_path()) / named.filename();
  fs::path const relative = to.lexically_relative(from);
  return (relative.empty() ? to : relative).generic_string();
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

}  // namespace fairlane
