#include "apps/sweep/sweep_arguments.h"

#include <algorithm>
#include <filesystem>

#include "apps/text/sweep_text.h"
#include "base/files.h"
#include "engine/report/results_html.h"
#include "engine/subject/subject.h"
#include "engine/sweep/sweep_files.h"
#include "engine/sweep/sweep_metrics.h"

namespace fairlane {
namespace {

/// How a command with these options is executed. Throws Error(kUsage) where one is wrong.
Execution checked_execution(SweepArguments const& arguments) {
  ConfigOptions given;  // --backend is sweep_gpus()'s
  given.threads = arguments.threads;
  given.batch = arguments.batch;
  given.checkpoint = arguments.checkpoint;
  given.memory = arguments.memory;
  given.model = arguments.model;
  return given.execution();
}

}  // namespace

LoadedSweep::LoadedSweep(SweepArguments const& arguments)
    : plan(read_sweep_plan(arguments.plan, arguments.out)),
      cells(sweep_cells(plan)),
      dir(plan.out) {}

int sweep_threads(SweepArguments const& arguments) {
  return thread_count(checked_execution(arguments));
}

std::vector<std::string> common_words(SweepArguments const& arguments) {
  checked_execution(arguments);
  std::vector<std::string> words;
  auto const add = [&](char const* name, std::string const& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--batch", arguments.batch);
  add("--checkpoint", arguments.checkpoint);
  add("--exec-children", arguments.model.exec_children);
  add("--exec-timeout", arguments.model.exec_timeout);
  if (arguments.model.allow_exec) words.emplace_back("--allow-exec");
  return words;
}

void write_metrics(SweepArguments const& arguments, LoadedSweep const& sweep,
                   SweepOverview const& overview, double seconds_left) {
  if (arguments.metrics.empty()) return;
  std::string const name = std::filesystem::path(sweep.plan.out).filename().string();
  write_whole_file(arguments.metrics, sweep_metrics(overview, name, seconds_left));
}

ExitCode conclude_sweep(SweepArguments const& arguments, LoadedSweep const& sweep) {
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  write_sweep_report(overview, sweep.dir);
  std::string const dir = sweep.dir.path();
  constexpr char const* kPage = "report.html";
  if (sweep.plan.report) {
    SweepFiles(dir).write(kPage, page_of_results({dir, dir}));
  } else {
    SweepFiles(dir).remove(kPage);  // of cells that were fewer
  }
  write_metrics(arguments, sweep, overview, 0.0);
  if (arguments.console.json) {
    print(sweep_status_json(overview, 0.0));
  } else {
    print(sweep_status_text(overview, 0.0));
    print(results_place(sweep.dir.path()));
  }
  bool const is_whole =
      overview.count(CellStanding::kDone) == static_cast<std::int64_t>(overview.states.size());
  if (!is_whole) return ExitCode::kPartly;
  bool const is_refused = std::ranges::any_of(overview.results, [](CellResult const* result) {
    return result->exit == static_cast<int>(ExitCode::kPolicy);
  });
  return is_refused ? ExitCode::kPolicy : ExitCode::kOk;
}

}  // namespace fairlane
