#include "apps/files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
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

void refuse_other_file(std::string const& path, std::string_view beginning, char const* kind) {
  refuse_no_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  std::string found(beginning.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (file.gcount() == 0 || found == beginning) return;
  throw Error(ExitCode::kOutput,
              fmt::format("{}: is a file, but not {}, and would be replaced; expected a new name",
                          escaped(path, path.size()), kind));
}

void write_text_file(std::string const& path, std::function<void(TextSink const&)> const& fill) {
  refuse_no_file(path);
  fs::path const folder = fs::path(path).parent_path();
  std::error_code ec;
  if (!folder.empty()) fs::create_directories(folder, ec);
  if (ec) {
    throw Error(ExitCode::kOutput, fmt::format("{}: its folder cannot be created: {}",
                                               escaped(path, path.size()), ec.message()));
  }
  write_whole_file(path, fill, ExitCode::kOutput);
}

void write_text_file(std::string const& path, std::string_view text) {
  write_text_file(path, [&](TextSink const& sink) { sink(text); });
}

bool is_yaml(std::string const& path) {
  std::string const extension = lower_extension(path);
  return extension == ".yaml" || extension == ".yml";
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

}  // namespace fairlane
