#include "apps/commands/config_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/arguments.h"
#include "apps/console.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/report/results_html.h"
#include "kernels/backend.h"
#include "kernels/devices.h"
#include "models/exec/scorer.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
constexpr double kMostSeconds = 1e9;
constexpr std::int64_t kMaxBatch = 1 << 24;
constexpr std::int64_t kMostShards = 1 << 20;

}  // namespace

void ModelFlags::add_to(Arguments& app) {
  app.add_flag("--allow-exec", allow_exec, "allow models that run code, such as exec:COMMAND");
  app.add_option("--exec-children", exec_children,
                 "children of an exec: model (default: one a thread, 8 at most)")
      ->type_name("N");
  app.add_option("--exec-timeout", exec_timeout,
                 "give up an exec: child that owes an answer and neither reads nor writes so long "
                 "(default: 60)")
      ->type_name("SECONDS");
}

ModelOptions ModelFlags::options() const {
  ModelOptions options;
  options.allow_exec = allow_exec;
  if (!exec_children.empty()) {
    options.exec_children =
        static_cast<int>(parse_integer("--exec-children", exec_children, 1, kMaxExecChildren));
  }
  if (!exec_timeout.empty()) {
    options.exec_timeout =
        parse_number("--exec-timeout", exec_timeout, kLeastExecSeconds, kMostExecSeconds);
  }
  return options;
}

void ConfigOptions::add_to(Arguments& app, bool config_required, char const* out_help,
                           FirstArgument const& first) {
  app.add_option(first.name, path, first.help)->required(config_required)->type_name("");
  app.add_option("--out", out, out_help)->type_name("DIR");
  app.add_option("--backend", backend, "auto, cpu or cuda[:N]")->type_name("NAME");
  app.add_option("--threads", threads, "worker threads (default: all cores)")->type_name("N");
  app.add_option("--batch", batch, "lanes that advance together (default: chosen)")->type_name("N");
  app.add_option("--checkpoint", checkpoint,
                 "save the state at most so often, 0: only when stopped (default: 300)")
      ->type_name("SECONDS");
  app.add_option("--memory", memory,
                 "for the record of visited inputs, such as 8G (default: half of the machine's)")
      ->type_name("BYTES");
  model.add_to(app);
  app.add_option("--seed", seed, "seed of the run, instead of seed")->type_name("S");
  app.add_option("--set", set, "any key of the configuration, such as global.num=10")
      ->type_name("KEY=VALUE")
      ->one_at_a_time();
}

RunConfig ConfigOptions::config(ModelUse use) const {
  if (std::filesystem::path(path).filename() == "manifest.json") {
    throw usage_error(
        fmt::format("CONFIG is {}, which only `fairlane run` takes, expected a "
                    "configuration (YAML)",
                    in_quotes(path, path.size())));
  }
  std::vector<Override> overrides;
  for (std::string const& argument : set) overrides.push_back(parse_set(argument));
  if (!seed.empty()) overrides.push_back({"--seed", "seed", seed, false});
  if (!out.empty()) overrides.push_back({"--out", "output.dir", out, false});
  return read_run_config(path, overrides, use);
}

Execution ConfigOptions::execution() const {
  check_backend_name(backend);
  Execution execution;
  execution.backend = backend;
  if (!threads.empty()) {
    execution.threads = static_cast<int>(parse_integer("--threads", threads, 1, kMaxThreads));
  }
  if (!batch.empty()) {
    execution.batch = static_cast<int>(parse_integer("--batch", batch, 1, kMaxBatch));
  }
  if (!checkpoint.empty())
    execution.checkpoint = parse_number("--checkpoint", checkpoint, 0.0, kMostSeconds);
  if (!memory.empty()) execution.memory = parse_bytes("--memory", memory);
  execution.page = [](std::string const& files, std::string const& dir) {
    return page_of_results({files, dir});
  };
  execution.model = model.options();
  execution.model.threads = execution.threads;
  return execution;
}

Shard parse_shard(std::string const& text) {
  std::size_t const slash = text.find('/');
  if (slash == std::string::npos) {
    throw usage_error(fmt::format("--shard is {}, expected K/N, such as 1/4", in_quotes(text)));
  }
  Shard shard;
  shard.count = parse_integer("--shard K/N: N", text.substr(slash + 1), 1, kMostShards);
  shard.index = parse_integer("--shard K/N: K", text.substr(0, slash), 1, shard.count);
  return shard;
}

std::uint64_t parse_bytes(std::string const& flag, std::string const& text) {
  constexpr std::string_view kUnits = "KMG";
  constexpr int kUnitBits = 10;
  constexpr int kMostBits = 46;  // more than any machine has
  constexpr std::int64_t kLeastBytes = std::int64_t{1} << 20;
  std::string number = text;
  int shift = 0;
  std::size_t const unit = number.empty() ? kUnits.npos : kUnits.find(number.back());
  if (unit != kUnits.npos) {
    shift = kUnitBits * (static_cast<int>(unit) + 1);
    number.pop_back();
  }
  auto const bytes = parse_integer(flag, number, 1, std::int64_t{1} << (kMostBits - shift))
                     << shift;
  if (bytes < kLeastBytes) {
    throw usage_error(
        fmt::format("{} is {}, expected at least 1M, such as 8G", flag, in_quotes(text)));
  }
  return static_cast<std::uint64_t>(bytes);
}

void check_backend_name(std::string const& name) {
  if (name == "auto" || name == "cpu") return;
  if (name == "cuda" || name.rfind("cuda:", 0) == 0) {
    if (name != "cuda" && name != "cuda:all") {
      std::string const list = name.substr(name.find(':') + 1);
      if (list.empty()) parse_integer("--backend cuda:N", list, 0, kMaxThreads);
      for (std::size_t from = 0, to = 0; to < list.size(); from = to + 1) {
        to = std::min(list.find(',', from), list.size());
        parse_integer("--backend cuda:N", list.substr(from, to - from), 0, kMaxThreads);
      }
    }
    std::string const problem = cuda_problem();
    if (problem.empty()) return;
    throw Error(ExitCode::kUnavailable,
                fmt::format("--backend {}: {}; use auto or cpu", name, problem));
  }
  std::vector<std::string> names = {"auto", "cpu", "cuda"};
  for (std::string const& isa : cpu_instruction_sets()) names.push_back("cpu:" + isa);
  if (std::find(names.begin() + 3, names.end(), name) != names.end()) return;
  throw usage_error(fmt::format("--backend is {}, expected one of {}{}", in_quotes(name),
                                fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace fairlane
