#include "engine/job/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr char const* kFormat = "fairlane state 13\n";  // another number for another format
constexpr std::size_t kDigestChars = 64;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr double kLeastShare = 20.0;  // between two saves passes so many times what one takes

std::string header(std::string const& identity) { return kFormat + sha256(identity) + "\n"; }

std::string raw(std::uint64_t value) {
  return {reinterpret_cast<char const*>(&value), sizeof value};
}

std::uint64_t word_at(std::string const& bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

[[noreturn]] void fail(std::string const& path, char const* what) {
  throw Error(ExitCode::kDisk,
              fmt::format("{}: {}: {}", escaped(path, 4096), what, std::strerror(errno)));
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string path, std::string const& identity)
    : path_(std::move(path)), new_path_(path_ + ".new"), file_(new_path_) {
  std::string const first = header(identity);
  put(first.data(), first.size());
}

CheckpointWriter::~CheckpointWriter() {
  if (!committed_) unlink(new_path_.c_str());
}

void CheckpointWriter::put(void const* data, std::size_t bytes) {
  file_.write(static_cast<char const*>(data), bytes);
  digest_.update(data, bytes);
}

void CheckpointWriter::section(std::string const& name) {
  end_section();
  name_ = name;
}

void CheckpointWriter::write(void const* data, std::size_t bytes) {
  put(data, bytes);
  bytes_ += bytes;
}

void CheckpointWriter::end_section() {
  if (!name_.empty()) table_ += raw(bytes_) + name_ + "\n";
  bytes_ = 0;
}

void CheckpointWriter::commit() {
  end_section();
  put(table_.data(), table_.size());
  std::string const size = raw(table_.size());
  put(size.data(), size.size());
  std::string const digest = digest_.finish();
  file_.write(digest.data(), digest.size());
  file_.close();
  replace_file(new_path_, path_);
  committed_ = true;
}

CheckpointReader::~CheckpointReader() {
  if (fd_ >= 0) close(fd_);
}

std::uint64_t CheckpointReader::size(std::string const& name) const {
  auto const at = sections_.find(name);
  return at == sections_.end() ? 0 : at->second.bytes;
}

void CheckpointReader::read(std::string const& name, std::size_t piece, Take const& take) const {
  auto const at = sections_.find(name);
  if (at == sections_.end()) return;
  std::uint64_t const end = at->second.offset + at->second.bytes;
  for (std::uint64_t offset = at->second.offset; offset < end; offset += piece) {
    std::string const data = bytes_at(offset, std::min<std::uint64_t>(piece, end - offset));
    take(data.data(), data.size());
  }
}

std::string CheckpointReader::bytes_at(std::uint64_t offset, std::uint64_t bytes) const {
  std::string data(bytes, '\0');
  std::size_t filled = 0;
  while (filled < data.size()) {
    ssize_t const got =
        pread(fd_, data.data() + filled, data.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "cannot be read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return data;
}

std::string CheckpointReader::problem(std::string const& identity) {
  struct stat info {};
  if (fstat(fd_, &info) != 0) fail(path_, "cannot be read");
  auto const size = static_cast<std::uint64_t>(info.st_size);
  std::string const first = header(identity);
  std::string const found = bytes_at(0, first.size());
  std::size_t const format = std::strlen(kFormat);
  std::uint64_t const tail = sizeof(std::uint64_t) + kDigestChars;
  if (size < first.size() + tail) return "is cut short";
  if (found.compare(0, format, kFormat) != 0) return "is not of this version";
  if (found != first) return "belongs to another run";
  Sha256 digest;
  for (std::uint64_t at = 0; at < size - kDigestChars; at += kPieceBytes) {
    std::string const piece =
        bytes_at(at, std::min<std::uint64_t>(kPieceBytes, size - kDigestChars - at));
    digest.update(piece.data(), piece.size());
  }
  std::string const end = bytes_at(size - tail, tail);
  if (end.size() != tail || end.compare(sizeof(std::uint64_t), kDigestChars, digest.finish()) != 0)
    return "is damaged (its checksum differs)";
  std::uint64_t const table_bytes = word_at(end, 0);
  if (table_bytes > size - first.size() - tail) return "is damaged (its table is too long)";
  return read_table(bytes_at(size - tail - table_bytes, table_bytes), first.size());
}

std::string CheckpointReader::read_table(std::string const& table, std::uint64_t begin) {
  for (std::size_t at = 0; at < table.size();) {
    std::size_t const end = table.find('\n', at + sizeof(std::uint64_t));
    if (end == std::string::npos) return "is damaged (its table is cut short)";
    std::uint64_t const bytes = word_at(table, at);
    std::size_t const name = at + sizeof(std::uint64_t);
    sections_[table.substr(name, end - name)] = {begin, bytes};
    begin += bytes;
    at = end + 1;
  }
  return {};
}

std::unique_ptr<CheckpointReader> open_checkpoint(
    std::string const& path, std::string const& identity,
    std::function<void(std::string const&)> const& warn) {
  std::unique_ptr<CheckpointReader> state(new CheckpointReader(path));
  state->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->fd_ < 0 && errno == ENOENT) return nullptr;
  if (state->fd_ < 0) fail(path, "cannot be opened");
  std::string const problem = state->problem(identity);
  if (problem.empty()) return state;
  if (unlink(path.c_str()) != 0) fail(path, "cannot be removed");
  if (warn) {
    warn(fmt::format("{}: the saved state {}; it was removed, and the work begins anew",
                     escaped(path, 4096), problem));
  }
  return nullptr;
}

CheckpointClock::CheckpointClock(double seconds, Now now)
    : seconds_(seconds), now_(std::move(now)) {
  if (!now_) {
    now_ = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
  }
  next_ = now_() + seconds_;
}

void CheckpointClock::run(std::function<void()> const& save) {
  double const begin = now_();
  save();
  double const end = now_();
  next_ = end + std::max(seconds_, kLeastShare * (end - begin));
}

}  // namespace fairlane
