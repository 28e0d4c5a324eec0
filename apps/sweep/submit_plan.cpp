// fairlane sweep submit: hands a sweep to a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/sweep/sweep_arguments.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/sweep/cluster_submit.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::int64_t kUsualElements = 100;

ClusterJob cluster_job(SweepArguments const& arguments, LoadedSweep const& sweep) {
  ClusterJob job;
  job.program = std::filesystem::read_symlink("/proc/self/exe").string();
  job.plan = absolute_path(arguments.plan).lexically_normal().string();
  job.out = sweep.plan.out;
  job.folder = std::filesystem::current_path().string();
  auto const cells = static_cast<std::int64_t>(sweep.cells.cells.size());
  job.elements = arguments.elements.empty()
                     ? std::min(cells, kUsualElements)
                     : parse_integer("--elements", arguments.elements, 1, kMostElements);
  if (!arguments.threads.empty()) job.threads = sweep_threads(arguments);
  job.gpus = arguments.gpus;
  job.run_words = common_words(arguments);
  auto const add = [&](char const* name, std::string const& value) {
    if (!value.empty()) job.run_words.insert(job.run_words.end(), {name, value});
  };
  add("--workers", arguments.workers);
  add("--memory", arguments.memory);
  add("--backend", arguments.backend);
  if (!arguments.out.empty()) add("--out", sweep.plan.out);
  job.slurm_options = arguments.slurm_options;
  return job;
}

}  // namespace

ExitCode submit_sweep_plan(SweepArguments const& arguments) {
  if (arguments.slurm == !arguments.kubernetes.empty())
    throw usage_error("sweep submit: expected one of --slurm and --kubernetes IMAGE");
  if (!arguments.slurm && (arguments.dry_run || !arguments.slurm_options.empty()))
    throw usage_error("sweep submit: --dry-run and --slurm-option are of --slurm");
  LoadedSweep const sweep(arguments);
  ClusterJob const job = cluster_job(arguments, sweep);
  sweep.dir.create(sweep.plan, sweep.cells.cells.size());
  auto const shown = [](std::string const& path) { return escaped(path, path.size()); };
  if (!arguments.slurm) {
    std::string const path = write_kubernetes_manifest(job, arguments.kubernetes);
    print(fmt::format("written: {}; edit what it says, then: kubectl apply -f {}\n", shown(path),
                      shown(path)));
    return ExitCode::kOk;
  }
  SlurmScripts const scripts = write_slurm_scripts(job);
  if (arguments.dry_run) {
    print(fmt::format("written: {}\nwritten: {}\n", shown(scripts.array), shown(scripts.merge)));
    return ExitCode::kOk;
  }
  SlurmJobs const jobs = submit_slurm(scripts);
  print(fmt::format(
      "submitted: job {}, an array of {} for {} cells, and job {}, which makes the tables\n",
      jobs.array, job.elements, sweep.cells.cells.size(), jobs.merge));
  print(fmt::format("`fairlane sweep status {}` says how far it is\n", shown(arguments.plan)));
  return ExitCode::kOk;
}

}  // namespace fairlane
