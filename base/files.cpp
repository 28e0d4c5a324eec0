#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;

Error failure(std::string const& path, std::string const& what) {
  return Error(ExitCode::kNoInput, fmt::format("{}: {}", escaped(path, kLongestPath), what));
}

Error cannot_be_opened(std::string const& path) {
  if (errno == ENOENT) return failure(path, "no such file");
  return failure(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
}

char const* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_regular(std::string const& path, struct stat const& info) {
  if (S_ISREG(info.st_mode)) return;
  throw failure(path, fmt::format("is {}, expected a file", kind_of(info.st_mode)));
}

}  // namespace

InputFile open_input(std::string const& path) {
  struct stat info {};
  // Opening a device may already do something to it: look before.
  if (stat(path.c_str(), &info) != 0) throw cannot_be_opened(path);
  require_regular(path, info);
  // What the path leads to may have changed since: a FIFO must not be waited for even then.
  int const descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw cannot_be_opened(path);
  InputFile file(fdopen(descriptor, "rb"));
  if (!file) {
    close(descriptor);
    throw cannot_be_opened(path);
  }
  if (fstat(descriptor, &info) != 0) throw cannot_be_opened(path);
  require_regular(path, info);
  return file;
}

std::filesystem::path absolute_path(std::string const& path) {
  std::error_code ec;
  auto absolute = std::filesystem::absolute(path, ec);
  if (!ec) return absolute;
  throw failure(path, fmt::format("the working directory cannot be found: {}; has it been deleted?",
                                  ec.message()));
}

}  // namespace fairlane
