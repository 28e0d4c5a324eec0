#include "engine/sweep/cluster_submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fairlane {

namespace {

namespace fs = std::filesystem;

// sbatch tries again for a while where the controller is busy.
constexpr auto kSbatchPatience = std::chrono::seconds(120);

/// What a command, sbatch in the end, has written on its standard output.
/// Throws Error(kUnavailable) where it fails, or takes too long.
std::string output_of_sbatch(std::vector<std::string> const& words) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kMostBytes = 65536;  // of a job's number, or of a version
  auto const until = Clock::now() + kSbatchPatience;
  ChildProcess child("sbatch", words, "");
  child.close_input();
  std::string const text = child.receive_all(kSbatchPatience, kMostBytes);
  auto const left = std::max(until - Clock::now(), Clock::duration::zero());
  auto const how = child.end(std::chrono::duration_cast<std::chrono::milliseconds>(left));
  if (how == "exited with status 0") return text;
  throw Error(ExitCode::kUnavailable,
              fmt::format("sbatch: {}{}", how.value_or("has not answered"), child.last_errors()));
}

/// Hands a script to sbatch and returns the job's number.
std::string submit_script(std::vector<std::string> const& words) {
  std::vector<std::string> all = {"sbatch", "--parsable"};
  all.insert(all.end(), words.begin(), words.end());
  // A child of ours is kept to one thread of OpenMP; the job need not be.
  if (std::getenv("OMP_NUM_THREADS") == nullptr)
    all.insert(all.begin(), {"env", "-u", "OMP_NUM_THREADS"});
  std::string const answer = output_of_sbatch(all);
  std::string const number = answer.substr(0, answer.find_first_not_of("0123456789"));
  if (!number.empty()) return number;
  throw Error(ExitCode::kUnavailable,
              fmt::format("sbatch: answered {}, expected the number of a job", in_quotes(answer)));
}

std::string write_for_cluster(ClusterJob const& job, char const* folder, char const* name,
                              std::string const& text) {
  fs::path const place = fs::path(job.out) / folder;
  std::error_code ec;
  fs::create_directories(place, ec);
  if (ec) {
    throw Error(ExitCode::kOutput, fmt::format("{}: cannot be created: {}",
                                               escaped(place.string(), 4096), ec.message()));
  }
  std::string path = (place / name).string();
  write_whole_file(path, text, ExitCode::kOutput);
  return path;
}

}  // namespace

SlurmScripts write_slurm_scripts(ClusterJob const& job) {
  std::string const array = slurm_array_script(job);
  std::string const merge = slurm_merge_script(job);
  return {write_for_cluster(job, "slurm", "array.sh", array),
          write_for_cluster(job, "slurm", "merge.sh", merge)};
}

std::string write_kubernetes_manifest(ClusterJob const& job, std::string const& image) {
  return write_for_cluster(job, "kubernetes", "job.yaml", kubernetes_manifest(job, image));
}

SlurmJobs submit_slurm(SlurmScripts const& scripts) {
  try {
    output_of_sbatch({"sbatch", "--version"});
  } catch (Error const& error) {
    throw Error(error.code(), fmt::format("{}; --dry-run writes the scripts alone", error.what()));
  }
  SlurmJobs jobs;
  jobs.array = submit_script({scripts.array});
  try {
    jobs.merge = submit_script({"--dependency=afterany:" + jobs.array, scripts.merge});
  } catch (Error const& error) {
    throw Error(error.code(), fmt::format("{}; the array is submitted as job {}, its merge is not",
                                          error.what(), jobs.array));
  }
  return jobs;
}

}  // namespace fairlane
