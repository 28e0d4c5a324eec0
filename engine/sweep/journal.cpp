#include "engine/sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

constexpr std::string_view kFormat = "fairlane sweep journal 1\n";
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kSumBytes = 4;
constexpr std::size_t kHeadBytes = kSizeBytes + kNumberBytes + kSumBytes;
constexpr std::size_t kLongestRecord = std::size_t{1} << 24;
constexpr std::size_t kLongestJournal = std::size_t{1} << 36;
constexpr std::size_t kLongestPath = 4096;
constexpr int kLockTries = 20;
constexpr std::chrono::milliseconds kLockPause{10};

std::string shown(std::string const& path) { return escaped(path, kLongestPath); }

std::string holder_path(std::string const& path) { return path + ".holder"; }

template <std::size_t kBytes>
void put(std::string& to, std::uint64_t value) {
  for (std::size_t i = 0; i < kBytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

template <std::size_t kBytes>
std::uint64_t get(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kBytes; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::uint32_t sum_of(std::uint64_t number, std::string_view text) {
  std::string bytes;
  put<kNumberBytes>(bytes, number);
  bytes += text;
  return crc32c(bytes);
}

struct Record {
  std::uint64_t number = 0;
  std::string_view text;
};

/// The whole record at the beginning of `bytes`; nothing where there is none.
std::optional<Record> record_at(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  auto const size = static_cast<std::size_t>(get<kSizeBytes>(bytes));
  if (size > kLongestRecord || size > bytes.size() - kHeadBytes) return std::nullopt;
  Record record{get<kNumberBytes>(bytes.substr(kSizeBytes)), bytes.substr(kHeadBytes, size)};
  auto const sum = get<kSumBytes>(bytes.substr(kSizeBytes + kNumberBytes));
  if (sum != sum_of(record.number, record.text)) return std::nullopt;
  return record;
}

/// Whether a whole record with a number above `number` begins anywhere in `bytes`.
bool has_later_record(std::string_view bytes, std::uint64_t number) {
  for (std::size_t at = 0; at + kHeadBytes <= bytes.size(); ++at) {
    auto const found = record_at(bytes.substr(at));
    if (found && found->number > number) return true;
  }
  return false;
}

/// Whether a last record that is not whole was damaged, not cut short: it has all its bytes, or had
/// with another size. What was cut short ends early, or in zeros where power was lost.
bool is_damaged_record(std::string_view bytes) {
  if (bytes.size() <= kHeadBytes) return false;
  std::string_view const text = bytes.substr(kHeadBytes);
  std::uint64_t const number = get<kNumberBytes>(bytes.substr(kSizeBytes));
  if (get<kSumBytes>(bytes.substr(kSizeBytes + kNumberBytes)) == sum_of(number, text)) return true;
  return get<kSizeBytes>(bytes) <= text.size() && bytes.back() != '\0';
}

/// The journal in `bytes`, from which `path` was read.
JournalEnd parse_journal(std::string_view bytes, std::string const& path,
                         std::function<void(Json const&)> const& take) {
  JournalEnd end;
  auto const damaged = [&](std::string const& what) {
    return Error(ExitCode::kIntegrity,
                 fmt::format("{}: {}; restore it, or remove it: its cells are then done again",
                             shown(path), what));
  };
  if (!bytes.starts_with(kFormat)) {
    // Killed while the first line was written.
    if (kFormat.starts_with(bytes)) return end;
    throw damaged("is no journal of a sweep, or its first line is damaged");
  }
  std::size_t at = kFormat.size();
  end.bytes = at;
  std::uint64_t number = 0;
  std::vector<Json> uncommitted;
  while (at < bytes.size()) {
    auto const record = record_at(bytes.substr(at));
    if (!record || record->number != number + 1) {
      if (record || is_damaged_record(bytes.substr(at)) ||
          has_later_record(bytes.substr(at + 1), number)) {
        throw damaged(
            fmt::format("damaged at byte {}: record {} was written, and is not as it was written",
                        at, number + 1));
      }
      break;
    }
    try {
      Json json = Json::parse(record->text);
      bool const is_commit = json.at("kind").get<std::string>() == "COMMIT";
      if (!is_commit) uncommitted.push_back(std::move(json));
      at += kHeadBytes + record->text.size();
      number = record->number;
      if (!is_commit) continue;
    } catch (JsonError const& error) {
      throw damaged(fmt::format("record {}: {}", record->number, error.what()));
    }
    for (Json const& one : uncommitted) {
      if (take) take(one);
    }
    uncommitted.clear();
    end.bytes = at;
    end.number = number;
  }
  return end;
}

}  // namespace

JournalEnd read_journal(std::string const& path, std::function<void(Json const&)> const& take) {
  return parse_journal(read_file(path, kLongestJournal), path, take);
}

JournalWriter::JournalWriter(std::string path, std::string const& holder) : path_(std::move(path)) {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: cannot be opened: {}", shown(path_), std::strerror(errno)));
  }
  try {
    take_over(holder);
  } catch (...) {
    close(fd_);
    throw;
  }
}

JournalWriter::~JournalWriter() { close(fd_); }

void JournalWriter::take_over(std::string const& holder) {
  // Whoever only looks at the sweep holds it for a moment, too.
  bool locked = false;
  for (int i = 0; i < kLockTries && !locked; ++i) {
    locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) fail("cannot be locked");
    if (!locked) std::this_thread::sleep_for(kLockPause);
  }
  if (!locked) {
    throw Error(ExitCode::kOutput,
                fmt::format("{}: this part of the sweep is being worked on by {}; wait for it, or "
                            "see `fairlane sweep status`",
                            shown(path_), journal_holder(path_).who));
  }
  // Written over the earlier one: who reads half of it takes it for none.
  FileWriter file(holder_path(path_));
  std::string const line = holder + "\n";
  file.write(line.data(), line.size());
  file.close();
  JournalEnd end = read_journal(path_);
  number_ = end.number;
  if (end.bytes == 0) {
    if (ftruncate(fd_, 0) != 0) fail("cannot be cut");
    end.bytes = kFormat.size();
    if (pwrite(fd_, kFormat.data(), kFormat.size(), 0) != static_cast<ssize_t>(kFormat.size()))
      fail("cannot be written");
    if (fsync(fd_) != 0) fail("cannot be flushed to disk");
    sync_path(std::filesystem::path(path_).parent_path().string());
  }
  // What nobody was told of: the next record goes there.
  if (ftruncate(fd_, static_cast<off_t>(end.bytes)) != 0) fail("cannot be cut");
  if (lseek(fd_, 0, SEEK_END) < 0) fail("cannot be continued");
  // A process that was killed may have written a COMMIT, and not have flushed it.
  if (fsync(fd_) != 0) fail("cannot be flushed to disk");
}

void JournalWriter::fail(char const* what) {
  int const problem = errno;
  failed_ = true;
  throw Error(ExitCode::kDisk,
              fmt::format("{}: {}: {}", shown(path_), what, std::strerror(problem)));
}

void JournalWriter::add(Json const& record) { append(record.dump()); }

void JournalWriter::append(std::string_view text) {
  if (text.size() > kLongestRecord)
    throw Error(ExitCode::kBug, fmt::format("{}: a record of {} bytes", shown(path_), text.size()));
  ++number_;
  put<kSizeBytes>(waiting_, text.size());
  put<kNumberBytes>(waiting_, number_);
  put<kSumBytes>(waiting_, sum_of(number_, text));
  waiting_ += text;
}

void JournalWriter::commit() {
  if (waiting_.empty()) return;
  if (failed_) throw Error(ExitCode::kDisk, fmt::format("{}: was not written", shown(path_)));
  Json commit;
  commit["kind"] = "COMMIT";
  append(commit.dump());
  std::string const bytes = std::move(waiting_);
  waiting_.clear();
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t const written = write(fd_, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot be written");
    done += static_cast<std::size_t>(written);
  }
  if (fsync(fd_) != 0) fail("cannot be flushed to disk");
}

JournalHolder journal_holder(std::string const& path) {
  JournalHolder holder;
  int const fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return holder;
  holder.held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  holder.who = "another process";
  try {
    constexpr std::size_t kLongestHolder = 4096;
    std::string who = read_file(holder_path(path), kLongestHolder);
    if (who.ends_with('\n') && who.size() > 1) {
      who.pop_back();
      holder.who = escaped(who);
    }
  } catch (Error const&) {
    // It has just begun, and not said who it is.
  }
  return holder;
}

}  // namespace fairlane
