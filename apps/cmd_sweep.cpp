// fairlane sweep ACTION PLAN.yaml: many models, attributes, methods and seeds as one plan says.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/arguments.h"
#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "apps/progress.h"
#include "apps/sweep/live_view.h"
#include "apps/sweep/machine.h"
#include "apps/sweep/work.h"
#include "apps/text/sweep_text.h"
#include "base/files.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/subject/subject.h"
#include "engine/sweep/expected_time.h"
#include "engine/sweep/sweep.h"
#include "engine/sweep/sweep_metrics.h"
#include "engine/sweep/sweep_report.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostWorkers = 1024;
constexpr std::size_t kShownCells = 200;

struct SweepArguments {
  std::string action;
  std::string plan;
  std::string out;
  std::string shard;
  std::string cell;
  std::string workers;
  std::string threads;
  std::string backend = "auto";
  std::string batch;
  std::string checkpoint;
  std::string memory;
  std::string metrics;
  ModelFlags model;
  ConsoleOptions console;
};

/// A plan with its cells and the directory of its results.
struct LoadedSweep {
  SweepPlan plan;
  SweepCells cells;
  SweepDir dir;

  explicit LoadedSweep(SweepArguments const& arguments)
      : plan(read_sweep_plan(arguments.plan, arguments.out)),
        cells(sweep_cells(plan)),
        dir(plan.out) {}
};

int thread_count_of(SweepArguments const& arguments) {
  if (arguments.threads.empty()) return machine_threads();
  return static_cast<int>(parse_integer("--threads", arguments.threads, 1, kMostWorkers));
}

/// A worker for each GPU, where there are any and --backend does not say otherwise; else as many as
/// threads.
std::vector<WorkerSlot> worker_slots(SweepArguments const& arguments, int threads,
                                     std::size_t cells) {
  check_backend_name(arguments.backend);
  std::vector<WorkerSlot> slots;
  if (arguments.backend == "auto" || arguments.backend == "cuda:all") {
    for (DeviceSummary const& device : cuda_devices()) {
      if (!device.problem.empty()) continue;
      slots.push_back({fmt::format("gpu {}", device.index), fmt::format("cuda:{}", device.index)});
    }
  } else if (arguments.backend.starts_with("cuda")) {
    std::string const list = arguments.backend == "cuda"
                                 ? "0"
                                 : arguments.backend.substr(arguments.backend.find(':') + 1);
    for (std::size_t from = 0, to = 0; from < list.size(); from = to + 1) {
      to = std::min(list.find(',', from), list.size());
      std::string const number = list.substr(from, to - from);
      slots.push_back({"gpu " + number, "cuda:" + number});
    }
  }
  std::int64_t const wanted =
      arguments.workers.empty()
          ? (slots.empty() ? threads : static_cast<std::int64_t>(slots.size()))
          : parse_integer("--workers", arguments.workers, 1, kMostWorkers);
  auto const most =
      std::min<std::int64_t>(wanted, std::max<std::int64_t>(1, static_cast<std::int64_t>(cells)));
  if (slots.empty()) {
    std::string const backend = arguments.backend == "auto" ? "cpu" : arguments.backend;
    for (std::int64_t i = 1; i <= most; ++i) slots.push_back({fmt::format("cpu {}", i), backend});
  } else {
    // More workers than GPUs share them in turn.
    std::size_t const gpus = slots.size();
    slots.resize(std::min(gpus, static_cast<std::size_t>(most)));
    while (static_cast<std::int64_t>(slots.size()) < most) {
      WorkerSlot slot = slots[slots.size() % gpus];
      slot.name += fmt::format(".{}", slots.size() / gpus);
      slots.push_back(std::move(slot));
    }
  }
  return slots;
}

/// Words that every command line gets as they were given.
std::vector<std::string> common_words(SweepArguments const& arguments) {
  std::vector<std::string> words = {"--progress", "lines", "--log-level", "off"};
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

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// The cells of this process, and the journal in which it writes.
void choose_part(SweepArguments const& arguments, SweepCells const& cells, SweepOptions& options) {
  if (!arguments.shard.empty() && !arguments.cell.empty())
    throw usage_error("--cell is one cell: leave --shard out");
  if (!arguments.cell.empty()) {
    std::size_t const index = find_cell(cells, arguments.cell);
    options.part = {index};
    options.journal = "cell-" + cells.cells[index].id;
    return;
  }
  Shard shard;
  if (!arguments.shard.empty()) {
    shard = parse_shard(arguments.shard);
    options.journal = fmt::format("{}-of-{}", shard.index, shard.count);
  }
  options.part = shard_of(cells, shard.index, shard.count);
}

SweepOptions sweep_options(SweepArguments const& arguments, LoadedSweep const& sweep) {
  SweepOptions options;
  choose_part(arguments, sweep.cells, options);
  options.threads = thread_count_of(arguments);
  options.slots = worker_slots(arguments, options.threads, options.part.size());
  bool const on_cpu = options.slots.front().backend.starts_with("cpu");
  if (!arguments.memory.empty()) {
    options.memory = parse_bytes("--memory", arguments.memory);
  } else if (on_cpu && options.slots.size() > 1) {
    options.memory = memory_limit({});
  }
  if (!arguments.batch.empty()) parse_integer("--batch", arguments.batch, 1, 1 << 24);
  static_cast<void>(arguments.model.options());  // says what is wrong with them
  options.common = common_words(arguments);
  options.holder = this_process();
  std::string const folder = sweep.plan.folder;
  options.make_worker = [folder](WorkerSlot const& slot) {
    return std::make_unique<ChildWorker>(
        slot.name,
        std::vector<std::string>{own_program(), "sweep", "work", "--backend", slot.backend},
        folder);
  };
  return options;
}

void write_metrics(std::string const& path, LoadedSweep const& sweep, SweepOverview const& overview,
                   double seconds_left) {
  if (path.empty()) return;
  std::string const name = std::filesystem::path(sweep.plan.out).filename().string();
  write_whole_file(path, sweep_metrics(overview, name, seconds_left));
}

double seconds_left_of(LoadedSweep const& sweep, SweepOverview const& overview,
                       SweepStandings const& standings) {
  auto const expected = expected_seconds(sweep.plan, sweep.cells, standings);
  double left = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (overview.states[i] != CellStanding::kDone) left += expected[i].value_or(0.0);
  }
  return left;
}

/// What a sweep prints at its end, and its exit code.
ExitCode conclude(SweepArguments const& arguments, LoadedSweep const& sweep,
                  SweepOverview const& overview) {
  if (arguments.console.json) {
    print(sweep_status_json(overview, 0.0));
  } else {
    print(sweep_status_text(overview, 0.0));
    print(results_place(sweep.dir.path()));
  }
  return overview.count(CellStanding::kDone) == static_cast<std::int64_t>(overview.states.size())
             ? ExitCode::kOk
             : ExitCode::kPartly;
}

ExitCode run_action(SweepArguments const& arguments) {
  Console const console(arguments.console);
  LoadedSweep const sweep(arguments);
  SweepOptions options = sweep_options(arguments, sweep);
  sweep.dir.create(sweep.plan, sweep.cells.cells.size());
  SweepOutcome outcome;
  {
    LiveView view(console.progress());
    Interrupt const interrupt;
    options.stop = &Interrupt::flag();
    options.notice = [&](std::string const& text) {
      view.clear();
      console.warn(text);
    };
    options.progress = [&](SweepProgress const& progress) { view.show(progress); };
    if (!arguments.metrics.empty()) {
      options.checked = [&](SweepProgress const& progress) {
        SweepStandings const standings = sweep.dir.standings();
        write_metrics(arguments.metrics, sweep, {sweep.plan, sweep.cells, standings},
                      progress.seconds_left);
      };
    }
    outcome = run_sweep(sweep.plan, sweep.cells, sweep.dir, options);
  }
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  bool const is_whole = options.part.size() == sweep.cells.cells.size();
  if (is_whole) {
    write_sweep_report(overview, sweep.dir);
    return conclude(arguments, sweep, overview);
  }
  if (!arguments.console.json) {
    print(fmt::format("{} of {} cells of this part are done, {} failed\n", outcome.done,
                      options.part.size(), outcome.failed));
    print(fmt::format("`fairlane sweep merge {}` makes the tables once all parts are done\n",
                      escaped(arguments.plan, arguments.plan.size())));
  } else {
    print(sweep_status_json(overview, 0.0));
  }
  return outcome.failed == 0 ? ExitCode::kOk : ExitCode::kPartly;
}

ExitCode plan_action(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  auto const expected = expected_seconds(sweep.plan, sweep.cells, standings);
  print(arguments.console.json
            ? sweep_plan_json(overview, expected)
            : sweep_plan_text(overview, expected, thread_count_of(arguments), kShownCells));
  return ExitCode::kOk;
}

ExitCode status_action(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  sweep.dir.require();
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  double const left = seconds_left_of(sweep, overview, standings);
  write_metrics(arguments.metrics, sweep, overview, left);
  print(arguments.console.json ? sweep_status_json(overview, left)
                               : sweep_status_text(overview, left));
  return ExitCode::kOk;
}

ExitCode merge_action(SweepArguments const& arguments) {
  LoadedSweep const sweep(arguments);
  sweep.dir.require();
  SweepStandings const standings = sweep.dir.standings();
  SweepOverview const overview(sweep.plan, sweep.cells, standings);
  write_sweep_report(overview, sweep.dir);
  return conclude(arguments, sweep, overview);
}

ExitCode work_action(SweepArguments const& arguments) {
  work_for_sweep(run_words, arguments.backend);
  return ExitCode::kOk;
}

/// What `fairlane sweep` does, by its first word.
struct SweepAction {
  char const* name;
  ExitCode (*run)(SweepArguments const& arguments);
  bool takes_plan = true;
};
constexpr SweepAction kActions[] = {
    {"run", run_action},     {"plan", plan_action},        {"status", status_action},
    {"merge", merge_action}, {"work", work_action, false},
};

SweepAction const& find_action(std::string const& name) {
  std::vector<std::string> names;
  for (SweepAction const& action : kActions) {
    if (name == action.name) return action;
    if (action.takes_plan) names.emplace_back(action.name);
  }
  throw usage_error(fmt::format("sweep: unknown action {}, expected one of {}{}", in_quotes(name),
                                fmt::join(names, ", "), did_you_mean(name, names)));
}

/// An option and the action that it belongs to.
struct OwnOption {
  char const* name;
  std::string SweepArguments::*value;
  std::vector<std::string> actions;
};

void check_options(SweepArguments const& arguments) {
  std::vector<OwnOption> const own = {
      {"--shard", &SweepArguments::shard, {"run"}},
      {"--cell", &SweepArguments::cell, {"run"}},
      {"--workers", &SweepArguments::workers, {"run"}},
      {"--batch", &SweepArguments::batch, {"run"}},
      {"--checkpoint", &SweepArguments::checkpoint, {"run"}},
      {"--memory", &SweepArguments::memory, {"run"}},
      {"--metrics", &SweepArguments::metrics, {"run", "status"}},
      {"--threads", &SweepArguments::threads, {"run", "plan"}},
  };
  for (OwnOption const& option : own) {
    if ((arguments.*option.value).empty()) continue;
    if (std::find(option.actions.begin(), option.actions.end(), arguments.action) !=
        option.actions.end())
      continue;
    throw usage_error(fmt::format("sweep {}: {} is of `fairlane sweep {}`", arguments.action,
                                  option.name, fmt::join(option.actions, "` and `")));
  }
}

ExitCode run_sweep_command(SweepArguments arguments) {
  // A plan alone is run.
  if (arguments.plan.empty() && arguments.action.ends_with(".yaml")) {
    arguments.plan = arguments.action;
    arguments.action = "run";
  }
  SweepAction const& action = find_action(arguments.action);
  if (action.takes_plan && arguments.plan.empty())
    throw usage_error(fmt::format("sweep {}: expected PLAN.yaml", action.name));
  check_options(arguments);
  return action.run(arguments);
}

}  // namespace

Action add_sweep(Arguments& app) {
  auto const arguments = std::make_shared<SweepArguments>();
  app.add_option("ACTION", arguments->action,
                 "run (also without the word): works off all cells; plan: lists them with what is "
                 "expected of them; status: how far they are; merge: makes the tables of what is "
                 "there")
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
  app.add_option("--workers", arguments->workers,
                 "run: cells at the same time (default: one for each GPU, without any one for each "
                 "thread)")
      ->type_name("N");
  app.add_option("--threads", arguments->threads,
                 "run: threads of all cells together (default: all cores)")
      ->type_name("N");
  app.add_option("--backend", arguments->backend,
                 "run: auto, cpu or cuda[:N,M], one worker for each GPU")
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
                 "run, status: write a text file for Prometheus, renewed about once a second")
      ->type_name("FILE");
  arguments->model.add_to(app);
  arguments->console.add_to(app);
  return [arguments] { return run_sweep_command(*arguments); };
}

}  // namespace fairlane
