// fairlane sweep run: on this machine, or on the ranks of an MPI job.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/commands/ranks_frame.h"
#include "apps/progress.h"
#include "apps/sweep/gpus.h"
#include "apps/sweep/live_view.h"
#include "apps/sweep/machine.h"
#include "apps/sweep/sweep_arguments.h"
#include "apps/text/sweep_text.h"
#include "base/files.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/subject/subject.h"
#include "engine/sweep/rank_workers.h"
#include "engine/sweep/sweep.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostWorkers = 1024;
constexpr char const* kOnlyGpu = "cuda:0";  // a worker sees no other

/// Record memory of a worker, of which `sharers` share the machine's. A GPU has its own.
std::uint64_t memory_share(SweepArguments const& arguments, std::size_t sharers, bool on_gpu) {
  if (!arguments.memory.empty()) return parse_bytes("--memory", arguments.memory) / sharers;
  return on_gpu || sharers == 1 ? 0 : memory_limit({}) / sharers;
}

/// A worker for each GPU, without any one for each thread, unless --workers says how many.
std::vector<WorkerSlot> worker_slots(SweepArguments const& arguments, int threads,
                                     std::size_t cells) {
  std::string const backend = arguments.backend.empty() ? "auto" : arguments.backend;
  auto const devices = sweep_gpus(backend);
  bool const on_gpu = !devices.empty();
  auto wanted = on_gpu ? devices.size() : static_cast<std::size_t>(threads);
  if (!arguments.workers.empty())
    wanted =
        static_cast<std::size_t>(parse_integer("--workers", arguments.workers, 1, kMostWorkers));
  wanted = std::min(wanted, std::max<std::size_t>(cells, 1));
  std::uint64_t const memory = memory_share(arguments, wanted, on_gpu);
  std::vector<WorkerSlot> slots;
  for (std::size_t i = 0; i < wanted; ++i) {
    WorkerSlot slot;
    slot.memory = memory;
    if (!on_gpu) {
      slot.name = fmt::format("cpu {}", i + 1);
      slot.backend = backend == "auto" ? "cpu" : backend;
    } else {
      // More workers than GPUs share them.
      slot.gpu = devices[i % devices.size()];
      slot.name = i < devices.size() ? fmt::format("gpu {}", slot.gpu)
                                     : fmt::format("gpu {}.{}", slot.gpu, i / devices.size() + 1);
      slot.backend = kOnlyGpu;
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

/// A process of this program that takes cells, in the plan's folder.
std::unique_ptr<SweepWorker> child_worker(WorkerSlot const& slot, std::string const& folder) {
  std::vector<std::string> words = {running_program(), "sweep", "work"};
  if (slot.gpu >= 0) words.insert(words.end(), {"--backend", fmt::format("cuda:{}", slot.gpu)});
  return std::make_unique<ChildWorker>(slot.name, words, folder);
}

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

/// What is the same whoever works: cells and what is said of them.
SweepOptions sweep_options(SweepArguments const& arguments, LoadedSweep const& sweep) {
  SweepOptions options;
  choose_part(arguments, sweep.cells, options);
  options.threads = sweep_threads(arguments);
  options.common = common_words(arguments);
  options.common.insert(options.common.end(), {"--progress", "lines", "--log-level", "off"});
  options.holder = this_process();
  options.stop = &Interrupt::flag();
  return options;
}

/// Works off the cells, with progress and messages to the console.
SweepOutcome work_off(SweepArguments const& arguments, LoadedSweep const& sweep,
                      SweepOptions& options, Console const& console) {
  auto const write = [&](double seconds_left) {
    SweepStandings const standings = sweep.dir.standings();
    write_metrics(arguments, sweep, {sweep.plan, sweep.cells, standings}, seconds_left);
  };
  sweep.dir.create(sweep.plan, sweep.cells.cells.size());
  if (!arguments.metrics.empty()) write(0.0);  // fails before any cell begins, if at all
  LiveView view(console.progress());
  options.notice = [&](std::string const& text) {
    view.clear();
    console.warn(text);
  };
  options.progress = [&](SweepProgress const& progress) { view.show(progress); };
  if (!arguments.metrics.empty()) {
    // All journals are read for it: never for more than a twentieth of the time.
    options.checked = [&, since = Stopwatch(), took = 0.0](SweepProgress const& progress) mutable {
      constexpr double kPause = 20.0;
      if (since.seconds() < kPause * took) return;
      Stopwatch const now;
      write(progress.seconds_left);
      took = now.seconds();
      since = {};
    };
  }
  return run_sweep(sweep.plan, sweep.cells, sweep.dir, options);
}

/// What is said at the end of a part.
ExitCode conclude_part(SweepArguments const& arguments, LoadedSweep const& sweep,
                       SweepOptions const& options, SweepOutcome const& outcome) {
  if (options.part.size() == sweep.cells.cells.size()) return conclude_sweep(arguments, sweep);
  if (arguments.console.json) {
    SweepStandings const standings = sweep.dir.standings();
    print(sweep_status_json({sweep.plan, sweep.cells, standings}, 0.0));
  } else {
    print(fmt::format("{} of {} cells of this part are done, {} failed\n", outcome.done,
                      options.part.size(), outcome.failed));
    std::string command = "fairlane sweep merge " + shell_word(arguments.plan);
    if (!arguments.out.empty()) command += " --out " + shell_word(arguments.out);
    print(fmt::format("`{}` makes the tables once all parts are done\n",
                      escaped(command, command.size())));
  }
  return outcome.failed == 0 ? ExitCode::kOk : ExitCode::kPartly;
}

ExitCode run_here(SweepArguments const& arguments) {
  Console const console(arguments.console);
  Interrupt const interrupt;  // to the end: the reports of finished cells are written, too
  LoadedSweep const sweep(arguments);
  SweepOptions options = sweep_options(arguments, sweep);
  options.slots = worker_slots(arguments, options.threads, options.part.size());
  options.make_worker = [&](WorkerSlot const& slot) {
    return child_worker(slot, sweep.plan.folder);
  };
  SweepOutcome const outcome = work_off(arguments, sweep, options, console);
  return conclude_part(arguments, sweep, options, outcome);
}

/// A rank's own worker: its share of its machine's threads and memory, and one of its GPUs.
WorkerSlot rank_slot(SweepArguments const& arguments, Ranks& ranks) {
  auto const gpus = sweep_gpus(arguments.backend.empty() ? "auto" : arguments.backend);
  Execution execution;
  execution.backend = "cpu";
  if (!arguments.threads.empty()) execution.threads = sweep_threads(arguments);
  share_machine(ranks, execution);
  auto const hosts = ranks.gather_on_all(ranks.host());
  auto const before = std::count(hosts.begin(), hosts.begin() + ranks.rank(), ranks.host());
  WorkerSlot slot{
      fmt::format("rank {}", ranks.rank()),
      arguments.backend.empty() || arguments.backend == "auto" ? "cpu" : arguments.backend,
      execution.threads,
      memory_share(arguments, static_cast<std::size_t>(execution.sharers), !gpus.empty())};
  if (gpus.empty()) return slot;
  slot.gpu = gpus[static_cast<std::size_t>(before) % gpus.size()];
  slot.backend = kOnlyGpu;
  return slot;
}

Json slot_json(WorkerSlot const& slot) {
  return {{"name", slot.name},
          {"backend", slot.backend},
          {"threads", slot.threads},
          {"memory", slot.memory},
          {"gpu", slot.gpu}};
}

WorkerSlot slot_of(Json const& json) {
  return {json.at("name").get<std::string>(), json.at("backend").get<std::string>(),
          json.at("threads").get<int>(), json.at("memory").get<std::uint64_t>(),
          json.at("gpu").get<int>()};
}

/// Rank 0 hands out cells, one at a time to each rank, itself among them.
ExitCode lead_ranks(SweepArguments const& arguments, Ranks& ranks,
                    std::vector<std::string> const& slots) {
  Console const console(arguments.console);
  RankCrew crew(ranks);
  try {
    LoadedSweep const sweep(arguments);
    SweepOptions options = sweep_options(arguments, sweep);
    for (std::string const& slot : slots) options.slots.push_back(slot_of(Json::parse(slot)));
    options.make_worker = [&](WorkerSlot const& slot) {
      int const rank = std::stoi(slot.name.substr(slot.name.find(' ') + 1));
      return rank == 0 ? child_worker(slot, sweep.plan.folder) : crew.worker(rank);
    };
    SweepOutcome const outcome = work_off(arguments, sweep, options, console);
    crew.dismiss();
    return conclude_part(arguments, sweep, options, outcome);
  } catch (Error const& error) {
    // The others have nothing to add: they end with the same code.
    crew.dismiss();
    tell_error(error.what());
    return error.code();
  }
}

ExitCode run_on_ranks(SweepArguments const& arguments) {
  if (!arguments.workers.empty())
    throw usage_error("--workers: with --mpi each rank is a worker; leave --workers out");
  return with_ranks([&](Ranks& ranks) {
    WorkerSlot const slot = rank_slot(arguments, ranks);
    auto const slots = ranks.gather(slot_json(slot).dump());
    if (ranks.is_first()) return lead_ranks(arguments, ranks, slots);
    std::string const folder =
        std::filesystem::path(absolute_path(arguments.plan)).parent_path().string();
    serve_sweep(ranks, *child_worker(slot, folder));
    return ExitCode::kOk;
  });
}

}  // namespace

ExitCode run_sweep_plan(SweepArguments const& arguments) {
  return arguments.mpi ? run_on_ranks(arguments) : run_here(arguments);
}

}  // namespace fairlane
