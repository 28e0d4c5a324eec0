// fairlane sweep ACTION PLAN.yaml: many models, attributes, methods and seeds as one plan says.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include "apps/arguments.h"
#include "apps/cli.h"
#include "apps/commands/commands.h"
#include "apps/commands/ranks_frame.h"
#include "apps/sweep/gpus.h"
#include "apps/sweep/sweep_arguments.h"
#include "apps/sweep/work.h"
#include "apps/text/sweep_text.h"
#include "base/text.h"
#include "engine/sweep/expected_time.h"

namespace fairlane {
namespace {

constexpr std::size_t kShownCells = 200;

ExitCode show_plan(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  auto const expected = expected_seconds(sweep.plan, sweep.cells, standings);
  print(arguments.console.json
            ? sweep_plan_json(overview, expected)
            : sweep_plan_text(overview, expected, sweep_threads(arguments), kShownCells));
  return ExitCode::kOk;
}

ExitCode show_status(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  sweep.dir.require();
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  auto const expected = expected_seconds(sweep.plan, sweep.cells, standings);
  double left = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (overview.states[i] != CellStanding::kDone) left += expected[i].value_or(0.0);
  }
  write_metrics(arguments, sweep, overview, left);
  print(arguments.console.json ? sweep_status_json(overview, left)
                               : sweep_status_text(overview, left));
  return ExitCode::kOk;
}

ExitCode merge(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  sweep.dir.require();
  return conclude_sweep(arguments, sweep);
}

ExitCode work(SweepArguments const& arguments) {
  constexpr std::string_view kCuda = "cuda:";
  if (arguments.backend.starts_with(kCuda))
    see_one_gpu(std::stoi(arguments.backend.substr(kCuda.size())));
  work_for_sweep(run_words);
  return ExitCode::kOk;
}

/// What `fairlane sweep` does, by its first word. `work` is the process of a worker.
struct SweepAction {
  char const* name;
  ExitCode (*run)(SweepArguments const& arguments);
  bool takes_plan = true;
};
constexpr SweepAction kActions[] = {
    {"run", run_sweep_plan}, {"plan", show_plan},           {"status", show_status},
    {"merge", merge},        {"submit", submit_sweep_plan}, {"work", work, false},
};

bool is_action(std::string const& name) {
  return std::ranges::any_of(kActions, [&](SweepAction const& one) { return name == one.name; });
}

SweepAction const& find_action(std::string const& name) {
  std::vector<std::string> names;
  for (SweepAction const& action : kActions) {
    if (name == action.name) return action;
    if (action.takes_plan) names.emplace_back(action.name);
  }
  throw usage_error(fmt::format("sweep: unknown action {}, expected one of {}{}", in_quotes(name),
                                fmt::join(names, ", "), did_you_mean(name, names)));
}

/// An option that not every action has.
struct OwnOption {
  char const* name;
  bool given;
  std::vector<std::string> actions;
};

void check_options(SweepArguments const& given) {
  std::vector<std::string> const run = {"run"};
  std::vector<std::string> const submit = {"submit"};
  std::vector<std::string> const both = {"run", "submit"};
  for (OwnOption const& option : {
           OwnOption{"--shard", !given.shard.empty(), run},
           OwnOption{"--cell", !given.cell.empty(), run},
           OwnOption{"--mpi", given.mpi, run},
           OwnOption{"--workers", !given.workers.empty(), both},
           OwnOption{"--batch", !given.batch.empty(), both},
           OwnOption{"--checkpoint", !given.checkpoint.empty(), both},
           OwnOption{"--memory", !given.memory.empty(), both},
           OwnOption{"--backend", !given.backend.empty(), {"run", "submit", "work"}},
           OwnOption{"--threads", !given.threads.empty(), {"run", "submit", "plan"}},
           OwnOption{"--metrics", !given.metrics.empty(), {"run", "status", "merge"}},
           OwnOption{"--slurm", given.slurm, submit},
           OwnOption{"--slurm-option", !given.slurm_options.empty(), submit},
           OwnOption{"--kubernetes", !given.kubernetes.empty(), submit},
           OwnOption{"--elements", !given.elements.empty(), submit},
           OwnOption{"--gpus", given.gpus, submit},
           OwnOption{"--dry-run", given.dry_run, submit},
       }) {
    bool const is_of = std::find(option.actions.begin(), option.actions.end(), given.action) !=
                       option.actions.end();
    if (option.given && !is_of) {
      throw usage_error(fmt::format("sweep {}: {} is of `fairlane sweep {}`", given.action,
                                    option.name, fmt::join(option.actions, "`, `")));
    }
  }
}

ExitCode sweep(SweepArguments arguments) {
  // A plan alone is run.
  std::error_code ec;
  bool const is_file = arguments.action.find('.') != std::string::npos ||
                       std::filesystem::is_regular_file(arguments.action, ec);
  if (arguments.plan.empty() && is_file && !is_action(arguments.action)) {
    arguments.plan = arguments.action;
    arguments.action = "run";
  }
  SweepAction const& action = find_action(arguments.action);
  if (action.takes_plan && arguments.plan.empty())
    throw usage_error(fmt::format("sweep {}: expected PLAN, a YAML file", action.name));
  check_options(arguments);
  return action.run(arguments);
}

}  // namespace

Action add_sweep(Arguments& app) {
  auto const arguments = std::make_shared<SweepArguments>();
  app.add_option("ACTION", arguments->action,
                 "run (also without the word): works off all cells; plan: lists them with what is "
                 "expected of them; status: how far they are; merge: makes the tables of what is "
                 "there; submit: hands the sweep to a cluster")
      ->required()
      ->type_name("");
  app.add_option("PLAN", arguments->plan, "plan (YAML)")->type_name("");
  app.add_option("--out", arguments->out, "directory of the sweep, instead of output.dir")
      ->type_name("DIR");
  app.add_option("--shard", arguments->shard,
                 "run: part K of N of the cells; parts run beside each other on any machine that "
                 "sees the directory")
      ->type_name("K/N");
  app.add_option("--cell", arguments->cell, "run: one cell alone")->type_name("ID");
  app.add_flag("--mpi", arguments->mpi, std::string("run: ") + kMpiHelp);
  app.add_option("--workers", arguments->workers,
                 "run: cells at the same time (default: one for each GPU, without any one for each "
                 "thread)")
      ->type_name("N");
  app.add_option("--threads", arguments->threads,
                 "run: threads of all cells together, with --mpi of each rank (default: all cores)")
      ->type_name("N");
  app.add_option("--backend", arguments->backend,
                 "run: auto (default), cpu or cuda[:N,M]; one worker for each GPU")
      ->type_name("NAME");
  app.add_option("--batch", arguments->batch, "run: lanes that advance together (default: chosen)")
      ->type_name("N");
  app.add_option("--checkpoint", arguments->checkpoint,
                 "run: a cell saves its state at most so often (default: 300)")
      ->type_name("SECONDS");
  app.add_option("--memory", arguments->memory,
                 "run: for the records of visited inputs of all cells together, such as 8G")
      ->type_name("BYTES");
  app.add_option("--metrics", arguments->metrics,
                 "run, status, merge: write a text file for Prometheus, which run renews about "
                 "once a second")
      ->type_name("FILE");
  app.add_flag("--slurm", arguments->slurm,
               "submit: as an array job, and one that makes the tables after it");
  app.add_option("--elements", arguments->elements,
                 "submit: parts of the array (default: one for each cell, 100 at most)")
      ->type_name("N");
  app.add_flag("--gpus", arguments->gpus, "submit: asks for a GPU for each part");
  app.add_option("--slurm-option", arguments->slurm_options,
                 "submit: an option for sbatch, such as --slurm-option=--partition=gpu")
      ->type_name("OPTION")
      ->one_at_a_time();
  app.add_flag("--dry-run", arguments->dry_run, "submit: only writes Slurm's scripts");
  app.add_option("--kubernetes", arguments->kubernetes,
                 "submit: writes a manifest for Kubernetes with this image, to be edited")
      ->type_name("IMAGE");
  arguments->model.add_to(app);
  arguments->console.add_to(app);
  return [arguments] { return sweep(*arguments); };
}

}  // namespace fairlane
