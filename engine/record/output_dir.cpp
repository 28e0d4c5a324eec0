#include "engine/record/output_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr char const* kPartial = ".partial";
constexpr char const* kLock = "lock";  // in .partial; also the mark that .partial is ours
constexpr char const* kState = "state";
constexpr char const* kManifest = "manifest.json";
constexpr char const* kDone = "DONE";
constexpr std::size_t kLongestManifest = std::size_t{1} << 26;
/// Results that a command may leave, beside instances; empty: any command. Those that it does not
/// write are removed when it replaces earlier ones.
struct ResultName {
  std::string_view command;
  std::string_view name;
};
constexpr auto kResults = std::to_array<ResultName>({
    {"", "summary.json"},
    {"", "report.html"},
    {"run", "global.csv"},
    {"enumerate", "values.csv"},
    {"enumerate", "pairs.csv"},
    {"enumerate", "counts.json"},
    {"estimate", "estimate.json"},
    {"compare", "compare.csv"},
    {"compare", "summary.csv"},
    {"compare", "compare.json"},
    {"compare", "compare.svg"},
    {"compare", "curves.csv"},
    {"compare", "curves.svg"},
    {"verify", "cells.csv"},
    {"verify", "counterexamples.csv"},
    {"verify", "against.csv"},
    {"verify", "fairify.csv"},
    {"verify", "certificate.txt"},
    {"train", "model.safetensors"},
    {"train", "model.h5"},
    {"train", "model.onnx"},
    {"train", "run.yaml"},
    {"train", "history.csv"},
    {"retrain", "model.safetensors"},
    {"retrain", "model.h5"},
    {"retrain", "model.onnx"},
    {"retrain", "run.yaml"},
    {"retrain", "added.csv"},
    {"retrain", "retraining.csv"},
    {"retrain", "validation.csv"},
    {"retrain", "test.csv"},
    {"audit", "audit.json"},
    {"audit", "report.md"},
    {"audit", "junit.xml"},
});

/// Whether a command may leave a file of that name; instances may be in many.
bool is_result(std::string const& command, std::string const& name) {
  if (std::ranges::any_of(kResults, [&](ResultName const& one) {
        return one.name == name && (one.command.empty() || one.command == command);
      }))
    return true;
  constexpr std::string_view kInstances = "instances";
  if (!name.starts_with(kInstances)) return false;
  std::string_view rest = std::string_view(name).substr(kInstances.size());
  if (rest.starts_with('-')) {
    std::size_t const digits = rest.find_first_not_of("0123456789", 1);
    if (digits == 1 || digits == std::string_view::npos) return false;
    rest.remove_prefix(digits);
  }
  return rest == ".csv" || rest == ".npy" || rest == ".parquet" || rest == ".json" ||
         rest == ".words.csv" || rest == ".plausibility.csv";
}

std::string shown(std::string const& path) { return escaped(path, 4096); }

[[noreturn]] void fail_output(std::string const& path, std::string const& what) {
  throw Error(ExitCode::kOutput, fmt::format("{}: {}", shown(path), what));
}

[[noreturn]] void fail_disk(std::string const& path, char const* what) {
  throw Error(ExitCode::kDisk, fmt::format("{}: {}: {}", shown(path), what, std::strerror(errno)));
}

std::string join(std::string const& dir, std::string const& name) { return dir + "/" + name; }

bool exists(std::string const& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// Whether a file of .partial is no result.
bool is_own(fs::path const& path) { return path.filename() == kLock || path.filename() == kState; }

// The manifest without what only the run itself can know; null when it is not one of ours.
Json comparable(std::string const& text) {
  try {
    Json json = Json::parse(text);
    if (!json.is_object() || !json.contains("fairlane")) return nullptr;
    json.erase("cut");
    return json;
  } catch (JsonError const&) {
    return nullptr;
  }
}

// Every value of a manifest as text, by the names that lead to it: "config.seed".
void flatten(Json const& json, std::string const& name, std::map<std::string, std::string>& flat) {
  if (json.is_object() && !json.empty()) {
    for (auto const& [key, value] : json.items())
      flatten(value, name.empty() ? key : name + "." + key, flat);
  } else if (json.is_array() && !json.empty()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      flatten(json[i], name + "." + std::to_string(i), flat);
  } else {
    flat[name] = json.dump();
  }
}

// The first thing in which two manifests differ, such as "seed is 42, here 43".
std::string difference(Json const& old, Json const& mine) {
  if (recorded_command(old) != recorded_command(mine)) {
    return fmt::format("of `fairlane {}`, not of `fairlane {}`", recorded_command(old),
                       recorded_command(mine));
  }
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> now;
  flatten(old, "", before);
  flatten(mine, "", now);
  auto names = before;
  names.insert(now.begin(), now.end());
  auto const value_in = [](std::map<std::string, std::string> const& flat,
                           std::string const& name) {
    constexpr std::size_t kLongestValue = 100;
    auto const found = flat.find(name);
    return found == flat.end() ? "absent" : escaped(found->second, kLongestValue);
  };
  for (auto const& [name, value] : names) {
    std::string const theirs = value_in(before, name);
    std::string const ours = value_in(now, name);
    std::string const config = "config.";
    if (theirs == ours) continue;
    return fmt::format("{} is {}, here {}",
                       escaped(name.starts_with(config) ? name.substr(config.size()) : name),
                       theirs, ours);
  }
  return "its manifest.json differs";
}

// Creates a directory and its parents. Throws Error(kOutput).
bool create_directory(std::string const& dir) {
  std::error_code above;
  fs::create_directories(fs::path(dir).parent_path(), above);
  if (mkdir(dir.c_str(), 0777) == 0) return true;
  // Where a folder above cannot be created, mkdir only says that it is not there.
  int const error = above && errno == ENOENT ? above.value() : errno;
  struct stat info {};
  if (stat(dir.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return false;
    fail_output(dir, "is a file, expected a directory for the results");
  }
  if (error == EEXIST) fail_output(dir, "is a link that leads nowhere, expected a directory");
  // Name the component that is in the way.
  fs::path path(dir);
  while (!path.empty() && path != path.root_path()) {
    path = path.parent_path();
    if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      fail_output(dir, fmt::format("cannot be created: {} is a file, expected a directory",
                                   shown(path.string())));
    }
  }
  fail_output(dir, fmt::format("cannot be created: {}", std::strerror(error)));
}

std::string command_of(std::string const& manifest_path) {
  Json const manifest = comparable(read_file(manifest_path, kLongestManifest));
  return manifest.is_null() ? std::string("run") : recorded_command(manifest);
}

void remove_file(std::string const& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_disk(path, "cannot be removed");
}

}  // namespace

std::string recorded_command(Json const& manifest) {
  for (char const* command :
       {"enumerate", "estimate", "compare", "verify", "train", "retrain", "audit"}) {
    if (manifest.contains(command)) return command;
  }
  return "run";
}

OutputDir::OutputDir(std::string dir, std::string const& manifest, bool overwrite)
    : dir_(std::move(dir)) {
  while (dir_.size() > 1 && dir_.back() == '/') dir_.pop_back();
  if (dir_.empty()) {
    throw Error(ExitCode::kConfig,
                "output.dir: is missing; name a directory for the results, or give --out");
  }
  partial_ = join(dir_, kPartial);
  try {
    create();
    check_contents(manifest, overwrite);
    lock();
    if (!overwrite) check_state(manifest);
    std::string const problem = clear_leftovers();
    if (!problem.empty()) throw Error(ExitCode::kOutput, problem);
    write(kManifest, manifest);
  } catch (...) {
    discard();
    throw;
  }
}

void OutputDir::create() {
  created_ = create_directory(dir_);
  if (access(dir_.c_str(), R_OK | W_OK | X_OK) != 0) {
    fail_output(dir_, fmt::format("cannot be written to: {}", std::strerror(errno)));
  }
}

void OutputDir::check_contents(std::string const& manifest, bool overwrite) const {
  std::error_code ec;
  std::string stranger;
  for (auto const& entry : fs::directory_iterator(dir_, ec)) {
    std::string const name = entry.path().filename().string();
    if (name != kPartial && (stranger.empty() || name < stranger)) stranger = name;
  }
  if (ec) fail_output(dir_, fmt::format("cannot be read: {}", ec.message()));
  bool const has_partial = exists(partial_);
  if (has_partial && !exists(join(partial_, kLock)) && !fs::is_empty(partial_, ec)) {
    fail_output(partial_, "is not of this program; remove it or choose another directory");
  }
  if (stranger.empty()) return;
  std::string const old_path = join(dir_, kManifest);
  if (!exists(old_path)) {
    if (has_partial) return;  // killed between two steps of finish(), or before the first
    fail_output(dir_,
                fmt::format("holds {} and no results of this program; choose an empty directory",
                            in_quotes(stranger)));
  }
  Json old;
  try {
    old = comparable(read_file(old_path, kLongestManifest));
  } catch (Error const&) {
    old = nullptr;
  }
  if (old.is_null()) {
    fail_output(old_path, "is not a manifest of this program; choose another directory");
  }
  bool const is_finished = exists(join(dir_, kDone));
  if (!overwrite && is_finished && old != comparable(manifest)) {
    fail_output(dir_,
                fmt::format("holds the results of another run ({}); choose another directory, "
                            "or allow overwriting (--overwrite)",
                            difference(old, comparable(manifest))));
  }
}

void OutputDir::check_state(std::string const& manifest) const {
  std::string const path = join(partial_, kManifest);
  // A state of which nothing is known is left to those who read it.
  if (!exists(state_path()) || !exists(path)) return;
  Json const old = comparable(read_file(path, kLongestManifest));
  if (old.is_null() || old == comparable(manifest)) return;
  fail_output(dir_,
              fmt::format("holds the saved state of another run, which has not finished ({}); "
                          "the same command as then goes on with it; choose another "
                          "directory, or give it up (--overwrite)",
                          difference(old, comparable(manifest))));
}

void OutputDir::lock() {
  if (mkdir(partial_.c_str(), 0777) != 0 && errno != EEXIST) {
    fail_output(partial_, fmt::format("cannot be created: {}", std::strerror(errno)));
  }
  std::string const path = join(partial_, kLock);
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail_output(path, fmt::format("cannot be created: {}", std::strerror(errno)));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    lock_ = -1;
    fail_output(dir_,
                "is being written to by another run; wait for it or choose another directory");
  }
  // The other run may have finished, and removed its lock, between our open and flock.
  struct stat mine {};
  struct stat there {};
  if (fstat(lock_, &mine) != 0 || stat(path.c_str(), &there) != 0 || mine.st_ino != there.st_ino) {
    ::close(lock_);
    lock_ = -1;
    fail_output(dir_, "was being written to by another run until now; start again");
  }
}

std::string OutputDir::clear_leftovers() const {
  std::error_code ec;
  for (fs::directory_iterator at(partial_, ec), end; !ec && at != end; at.increment(ec)) {
    bool const of_state = at->path().filename() == kManifest && exists(state_path());
    if (is_own(at->path()) || of_state) continue;
    fs::remove_all(at->path(), ec);
    if (ec) return fmt::format("{}: cannot be removed: {}", shown(at->path()), ec.message());
  }
  return ec ? fmt::format("{}: cannot be read: {}", shown(partial_), ec.message()) : "";
}

void OutputDir::discard() const {
  std::error_code ec;
  if (lock_ >= 0) {
    clear_leftovers();
    if (!exists(state_path())) fs::remove_all(partial_, ec);
    ::close(lock_);
  }
  if (created_) rmdir(dir_.c_str());  // not where a state is
}

OutputDir::~OutputDir() {
  if (!finished_) discard();
}

std::string OutputDir::state_path() const { return partial(kState); }

std::string OutputDir::partial(std::string const& name) const { return join(partial_, name); }

void OutputDir::write(std::string const& name, std::string const& text) {
  FileWriter file(partial(name));
  file.write(text.data(), text.size());
  file.close();
}

void OutputDir::set_manifest(std::string const& manifest) { write(kManifest, manifest); }

void OutputDir::finish() {
  write(kDone, fmt::format("fairlane {}\n", FAIRLANE_VERSION));
  std::vector<std::string> names;
  std::error_code ec;
  for (auto const& entry : fs::directory_iterator(partial_, ec)) {
    if (is_own(entry.path()) || !entry.is_regular_file()) continue;
    names.push_back(entry.path().filename().string());
  }
  if (ec)
    throw Error(ExitCode::kDisk,
                fmt::format("{}: cannot be read: {}", shown(partial_), ec.message()));
  std::sort(names.begin(), names.end());
  std::string const command = command_of(partial(kManifest));
  for (auto const& name : names) {
    if (name != kManifest && name != kDone && !is_result(command, name))
      throw std::logic_error(fmt::format("{} of {} is in no list of results", name, command));
    sync_path(partial(name));
  }

  remove_file(join(dir_, kDone));
  // While the manifest tells whose they are.
  std::string const earlier =
      exists(join(dir_, kManifest)) ? command_of(join(dir_, kManifest)) : command;
  for (auto const& entry : fs::directory_iterator(dir_, ec)) {
    std::string const name = entry.path().filename().string();
    if (is_result(earlier, name) && !std::binary_search(names.begin(), names.end(), name))
      remove_file(join(dir_, name));
  }
  rename_file(partial(kManifest), join(dir_, kManifest));
  for (auto const& name : names) {
    if (name != kManifest && name != kDone) rename_file(partial(name), join(dir_, name));
  }
  sync_path(dir_);
  rename_file(partial(kDone), join(dir_, kDone));
  sync_path(dir_);
  finished_ = true;
  // The lock goes last: without it nobody knows whose the rest of .partial is.
  for (fs::directory_iterator at(partial_, ec), end; !ec && at != end; at.increment(ec)) {
    std::error_code ignored;
    if (at->path().filename() != kLock) fs::remove_all(at->path(), ignored);
  }
  fs::remove_all(partial_, ec);
  ::close(lock_);
  lock_ = -1;
}

}  // namespace fairlane
