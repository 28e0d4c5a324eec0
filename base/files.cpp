#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kLongestPath = 4096;
constexpr std::string_view kPartial =
    ".partial";  // a neighbour: its file's name, the process, this
constexpr std::size_t kBufferBytes = 1U << 16;

Error failure(std::string const& path, std::string const& what) {
  return Error(ExitCode::kNoInput, fmt::format("{}: {}", escaped(path, kLongestPath), what));
}

// What could not be done to a file that is written, and what the system says of it.
Error unwritten(std::string const& path, char const* what, ExitCode code = ExitCode::kDisk) {
  return Error(code,
               fmt::format("{}: {}: {}", escaped(path, kLongestPath), what, std::strerror(errno)));
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

// Some file systems cannot flush a directory; EINVAL says so.
bool is_flushed(int descriptor) { return fsync(descriptor) == 0 || errno == EINVAL; }

// Makes a new name in a folder last.
void sync_folder_of(std::string const& path) {
  std::string const folder = std::filesystem::path(path).parent_path().string();
  std::string const opened = folder.empty() ? "." : folder;
  // One that may be written to, but not read, cannot be opened: its files are as good as elsewhere.
  if (access(opened.c_str(), R_OK) == 0) sync_path(opened);
}

/// A file that is being written, or nobody writes any more. While it is held, no other process on
/// this or another machine can hold it.
class HeldFile {
 public:
  explicit HeldFile(std::string const& path)
      : fd_(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)),
        held_(fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0) {}
  ~HeldFile() {
    if (fd_ >= 0) close(fd_);
  }
  HeldFile(HeldFile const&) = delete;
  HeldFile& operator=(HeldFile const&) = delete;
  bool is_held() const { return held_; }
  /// Whether the path still leads to it.
  bool is_at(std::string const& path) const {
    struct stat mine {};
    struct stat there {};
    return fstat(fd_, &mine) == 0 && lstat(path.c_str(), &there) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
  }

 private:
  int fd_;
  bool held_;
};

// The process that writes a neighbour of a file, or nothing where it is another file.
std::optional<pid_t> writer_of(std::string_view name, std::string const& file) {
  if (!name.starts_with(file + ".") || !name.ends_with(kPartial)) return std::nullopt;
  if (name.size() <= file.size() + 1 + kPartial.size()) return std::nullopt;
  name.remove_prefix(file.size() + 1);
  name.remove_suffix(kPartial.size());
  pid_t process = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  bool const is_number = error == std::errc() && end == name.data() + name.size();
  return is_number && process > 0 ? std::optional(process) : std::nullopt;
}

// Removes what killed processes left of writing a file. That a process is gone says little where
// machines share the folder: its file must be free, too.
void remove_leftovers(std::string const& path) {
  namespace fs = std::filesystem;
  fs::path const folder = fs::path(path).parent_path();
  std::string const file = fs::path(path).filename().string();
  std::error_code ec;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, ec), end; !ec && at != end;
       at.increment(ec)) {
    std::string const left = at->path().string();
    auto const writer = writer_of(at->path().filename().string(), file);
    if (!writer || *writer == getpid() || kill(*writer, 0) == 0 || errno != ESRCH) continue;
    HeldFile const held(left);
    if (held.is_held() && held.is_at(left)) unlink(left.c_str());
  }
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

std::string read_file(std::string const& path, std::size_t limit) {
  InputFile const file = open_input(path);
  std::string bytes;
  struct stat info {};
  if (fstat(fileno(file.get()), &info) == 0) {
    auto const size = static_cast<std::size_t>(info.st_size);
    if (size > limit)
      throw failure(path, fmt::format("is {} bytes long, expected at most {}", size, limit));
    bytes.reserve(size + 1);
  }
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  while (true) {
    std::size_t const before = bytes.size();
    std::size_t const room = bytes.capacity() > before ? bytes.capacity() - before : kChunk;
    bytes.resize(before + room);
    std::size_t const got = std::fread(bytes.data() + before, 1, room, file.get());
    bytes.resize(before + got);
    if (bytes.size() > limit) throw failure(path, fmt::format("is longer than {} bytes", limit));
    if (got < room) break;
  }
  if (std::ferror(file.get()) != 0)
    throw failure(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return bytes;
}

void write_whole_file(std::string const& path, std::string_view bytes, ExitCode unplaced) {
  write_whole_file(
      path, [&](TextSink const& sink) { sink(bytes); }, unplaced);
}

void write_whole_file(std::string const& path, std::function<void(TextSink const&)> const& fill,
                      ExitCode unplaced) {
  remove_leftovers(path);
  std::string const partial = fmt::format("{}.{}{}", path, getpid(), kPartial);
  FileWriter file(partial, path, unplaced);
  HeldFile const held(partial);
  try {
    fill([&](std::string_view part) { file.write(part.data(), part.size()); });
    file.sync();
    file.close();
    rename_file(partial, path, unplaced);
  } catch (...) {
    unlink(partial.c_str());
    throw;
  }
  sync_folder_of(path);
}

FileWriter::FileWriter(std::string path) : FileWriter(path, path, ExitCode::kDisk) {}

FileWriter::FileWriter(std::string const& path, std::string named, ExitCode uncreated)
    : named_(std::move(named)) {
  constexpr mode_t kMode = 0666;  // less the umask
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (fd_ < 0) throw unwritten(named_, "cannot be created", uncreated);
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
    if (done < 0) throw unwritten(named_, "cannot be written");
    data += done;
    size -= static_cast<std::size_t>(done);
  }
}

void FileWriter::sync() {
  flush(buffer_.data(), buffer_.size());
  buffer_.clear();
  if (!is_flushed(fd_)) throw unwritten(named_, "cannot be flushed to disk");
}

void FileWriter::close() {
  flush(buffer_.data(), buffer_.size());
  buffer_.clear();
  int const fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) throw unwritten(named_, "cannot be written");
}

void sync_path(std::string const& path) {
  int const fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw unwritten(path, "cannot be opened");
  bool const flushed = is_flushed(fd);
  int const error = errno;
  ::close(fd);
  errno = error;
  if (!flushed) throw unwritten(path, "cannot be flushed to disk");
}

void rename_file(std::string const& from, std::string const& to, ExitCode unplaced) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw unwritten(to, "cannot be put into place", unplaced);
}

void replace_file(std::string const& from, std::string const& to, ExitCode unplaced) {
  sync_path(from);
  rename_file(from, to, unplaced);
  sync_folder_of(to);
}

}  // namespace fairlane
