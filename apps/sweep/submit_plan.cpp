// fairlane sweep submit: hands a sweep to a cluster.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/sweep/sweep_arguments.h"
#include "base/child_process.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/sweep/cluster_submit.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::int64_t kUsualElements = 100;

ClusterJob cluster_job(SweepArguments const& arguments, LoadedSweep const& sweep) {
  ClusterJob job;
  job.program = running_program();
  job.plan = absolute_path(arguments.plan).lexically_normal().string();
  job.out = absolute_path(sweep.plan.out).lexically_normal().string();
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
  auto const say = [&](std::string const& text, Json json) {
    json["elements"] = job.elements;
    print(arguments.console.json ? json.dump(2) + "\n" : text);
    return ExitCode::kOk;
  };
  if (!arguments.slurm) {
    std::string const path = write_kubernetes_manifest(job, arguments.kubernetes);
    return say(fmt::format("written: {}; edit what it says, then: kubectl apply -f {}\n",
                           shown(path), shown(path)),
               {{"manifest", path}});
  }
  SlurmScripts const scripts = write_slurm_scripts(job);
  Json json = {{"array_script", scripts.array}, {"merge_script", scripts.merge}};
  if (arguments.dry_run) {
    return say(
        fmt::format("written: {}\nwritten: {}\n", shown(scripts.array), shown(scripts.merge)),
        json);
  }
  SlurmJobs const jobs = submit_slurm(scripts);
  json["array"] = jobs.array;
  json["merge"] = jobs.merge;
  return say(fmt::format("submitted: job {}, an array of {} for {} cells, and job {}, which makes "
                         "the tables\n`fairlane sweep status {}{}` says how far it is\n",
                         jobs.array, job.elements, sweep.cells.cells.size(), jobs.merge,
                         shown(shell_word(arguments.plan)),
                         arguments.out.empty() ? "" : " --out " + shown(shell_word(arguments.out))),
             json);
}

}  // namespace fairlane
