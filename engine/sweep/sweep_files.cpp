#include "engine/sweep/sweep_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

// The mark that .partial is of a sweep; a run's has another, and a state that must stay.
constexpr char const* kSweepLock = "sweep.lock";
constexpr int kFolderTries = 3000;
constexpr std::chrono::milliseconds kFolderPause{10};

[[noreturn]] void fail_folder(std::string const& path, std::string const& what) {
  throw Error(ExitCode::kOutput, fmt::format("{}: {}", escaped(path, path.size()), what));
}

}  // namespace

SweepFiles::SweepFiles(std::string dir)
    : dir_(std::move(dir)), partial_(dir_ + "/.partial"), lock_path_(partial_ + "/" + kSweepLock) {
  for (int i = 0; !try_lock(); ++i) {
    if (i >= kFolderTries)
      fail_folder(dir_, "another process is writing there, and does not end; start again later");
    std::this_thread::sleep_for(kFolderPause);
  }
  clear();
}

SweepFiles::~SweepFiles() {
  clear();
  unlink(lock_path_.c_str());
  rmdir(partial_.c_str());
  close(lock_);
}

bool SweepFiles::try_lock() {
  if (mkdir(partial_.c_str(), 0777) != 0 && errno != EEXIST)
    fail_folder(partial_, fmt::format("cannot be created: {}", std::strerror(errno)));
  std::error_code ec;
  if (!fs::exists(lock_path_, ec)) {
    for (auto const& entry : fs::directory_iterator(partial_, ec)) {
      if (entry.path().filename() != kSweepLock)
        fail_folder(partial_, "is not of a sweep; remove it or choose another directory");
    }
  }
  lock_ = open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0 && errno == ENOENT) return false;  // somebody has finished just now
  if (lock_ < 0)
    fail_folder(lock_path_, fmt::format("cannot be created: {}", std::strerror(errno)));
  struct stat mine {};
  struct stat there {};
  bool const locked = flock(lock_, LOCK_EX | LOCK_NB) == 0;
  if (locked && fstat(lock_, &mine) == 0 && stat(lock_path_.c_str(), &there) == 0 &&
      mine.st_ino == there.st_ino)
    return true;
  close(lock_);
  lock_ = -1;
  return false;
}

void SweepFiles::clear() const {
  std::error_code ec;  // what stays does no harm: nothing but this writes there
  for (fs::directory_iterator at(partial_, ec), end; !ec && at != end; at.increment(ec)) {
    std::error_code ignored;
    if (at->path().filename() != kSweepLock) fs::remove_all(at->path(), ignored);
  }
}

void SweepFiles::write(std::string const& name, std::string_view bytes, ExitCode unplaced) {
  std::string const path = partial_ + "/" + name;
  FileWriter file(path);
  file.write(bytes.data(), bytes.size());
  file.close();
  replace_file(path, dir_ + "/" + name, unplaced);
}

void SweepFiles::remove(std::string const& name) {
  std::error_code ec;
  fs::remove(dir_ + "/" + name, ec);
  if (ec)
    throw Error(ExitCode::kDisk, fmt::format("{}: cannot be removed: {}",
                                             escaped(dir_ + "/" + name, 4096), ec.message()));
}

}  // namespace fairlane
