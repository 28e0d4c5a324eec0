#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "engine/record/output_dir.h"

namespace fairlane {
namespace {

constexpr std::size_t kBufferBytes = 1U << 16;

[[noreturn]] void fail(std::string const& path, char const* what) {
  throw Error(ExitCode::kDisk,
              fmt::format("{}: {}: {}", escaped(path, 4096), what, std::strerror(errno)));
}

}  // namespace

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  constexpr mode_t kMode = 0666;  // less the umask
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (fd_ < 0) fail(path_, "cannot be created");
  buffer_.reserve(kBufferBytes);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void FileWriter::write(char const* data, std::size_t size) {
  if (buffer_.size() + size > kBufferBytes) {
    flush(buffer_.data(), buffer_.size());
    buffer_.clear();
    if (size >= kBufferBytes) {
      flush(data, size);
      return;
    }
  }
  buffer_.insert(buffer_.end(), data, data + size);
}

void FileWriter::flush(char const* data, std::size_t size) {
  while (size > 0) {
    ssize_t const done = ::write(fd_, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path_, "cannot be written");
    data += done;
    size -= static_cast<std::size_t>(done);
  }
}

void FileWriter::close() {
  flush(buffer_.data(), buffer_.size());
  buffer_.clear();
  int const fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail(path_, "cannot be written");
}

void sync_path(std::string const& path) {
  int const fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot be opened");
  int const result = fsync(fd);
  int const error = errno;
  ::close(fd);
  errno = error;
  // Some file systems cannot flush a directory; EINVAL says so.
  if (result != 0 && error != EINVAL) fail(path, "cannot be flushed to disk");
}

void rename_file(std::string const& from, std::string const& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot be put into place");
}

void replace_file(std::string const& from, std::string const& to) {
  sync_path(from);
  rename_file(from, to);
  auto const folder = std::filesystem::path(to).parent_path();
  sync_path(folder.empty() ? "." : folder.string());
}

}  // namespace fairlane
