// fairlane bench [CONFIG]: what this machine reaches, beside its own peak measured in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "apps/arguments.h"
#include "apps/commands/commands.h"
#include "apps/commands/config_options.h"
#include "apps/console.h"
#include "apps/files.h"
#include "base/error.h"
#include "base/files.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "bench/bench.h"
#include "engine/subject/subject.h"
#include "kernels/devices.h"

namespace fairlane {
namespace {

/// The networks whose forward pass is measured: of the papers, and wider ones.
struct ForwardCase {
  std::vector<int> widths;
  int variants;
};

std::vector<ForwardCase> forward_cases() {
  return {{{12, 30, 20, 15, 15, 10, 1}, 4}, {{16, 30, 20, 15, 15, 10, 1}, 4},
          {{24, 50, 30, 15, 10, 5, 1}, 4},  {{13, 64, 32, 16, 8, 4, 1}, 10},
          {{13, 100, 100, 1}, 10},          {{137, 30, 20, 15, 10, 5, 1}, 2},
          {{40, 256, 256, 128, 4}, 4}};
}

struct BenchArguments {
  ConfigOptions config;
  ConsoleOptions console;
  std::string file;
  std::string isa;
  std::string libtorch;
  std::string repetitions = "9";
  bool quick = false;
};

constexpr int kMostRepetitions = 1000;

LibTorchUse libtorch_use(std::string const& word) {
  if (word.empty() || word == "auto") return LibTorchUse::kAuto;
  if (word == "on") return LibTorchUse::kOn;
  if (word == "off") return LibTorchUse::kOff;
  throw usage_error(fmt::format("--libtorch: {}, expected auto, on or off{}", in_quotes(word),
                                did_you_mean(word, {"auto", "on", "off"})));
}

Json forward_json(ForwardResult const& r) {
  Json json;
  json["network"] = r.network;
  json["isa"] = r.isa;
  json["rows_per_second"] = r.rows_per_second;
  json["gflops"] = r.gflops;
  json["peak_gflops"] = r.peak_gflops;
  json["share_of_peak"] = r.share_of_peak;
  json["variants"] = r.variants;
  json["groups_per_second"] = r.groups_per_second;
  json["groups_share_of_peak"] = r.groups_share_of_peak;
  json["gradient_share_of_peak"] = r.gradient_share_of_peak;
  return json;
}

Json search_json(SearchBench const& b) {
  Json json;
  json["backend"] = b.backend;
  json["threads"] = b.threads;
  json["iterations"] = b.iterations;
  json["local_steps"] = b.local_steps;
  json["unique_instances"] = b.unique_instances;
  json["unique_groups"] = b.unique_groups;
  json["search_seconds"] = b.search_seconds;
  json["local_steps_per_second"] = b.steps_per_second;
  json["instances_per_second"] = b.instances_per_second;
  if (b.over_libtorch > 0.0) json["over_libtorch"] = b.over_libtorch;
  if (b.libtorch) {
    json["marginal_instances"] = b.marginal_instances;
    return json;
  }
  json["model_evaluations"] = b.model_evaluations;
  json["evaluations_per_instance"] = b.evaluations_per_instance;
  json["peak_gflops"] = b.peak_gflops;
  json["table_bytes"] = b.table_bytes;
  return json;
}

/// A part of the figures: for people, and added to the JSON document.
std::string forward_part(BenchArguments const& arguments, int repetitions, Json& json) {
  std::string text = fmt::format("{:<24} {:>14} {:>10} {:>8} {:>16} {:>8} {:>9}\n", "network",
                                 "rows/s", "GFLOP/s", "of peak", "groups/s", "of peak", "gradient");
  json["forward"] = Json::array();
  for (auto const& c : forward_cases()) {
    auto const r = bench_forward(c.widths, c.variants, arguments.isa, repetitions);
    json["forward"].push_back(forward_json(r));
    text += fmt::format(
        "{:<24} {:>12.2f} M {:>10.1f} {:>6.1f} % {:>9.2f} M x{:<3} {:>6.1f} % {:>7.1f} %\n",
        r.network, r.rows_per_second * 1e-6, r.gflops, 100.0 * r.share_of_peak,
        r.groups_per_second * 1e-6, r.variants, 100.0 * r.groups_share_of_peak,
        100.0 * r.gradient_share_of_peak);
    if (arguments.quick) break;
  }
  return text;
}

/// A contender a line.
std::string search_table(SearchComparison const& comparison) {
  std::string text = fmt::format("{:<28} {:>10} {:>14} {:>15} {:>10} {:>13}\n", "", "search",
                                 "local steps/s", "distinct IDIs", "IDIs/s", "over LibTorch");
  for (auto const& b : comparison.rows) {
    text += fmt::format("{:<28} {:>8.3f} s {:>12.2f} M {:>15} {:>8.2f} M {:>13}\n", b.backend,
                        b.search_seconds, b.steps_per_second * 1e-6,
                        with_commas(b.unique_instances), b.instances_per_second * 1e-6,
                        b.over_libtorch > 0.0 ? fmt::format("{:.2f}", b.over_libtorch) : "-");
  }
  return text;
}

std::string search_part(BenchArguments const& arguments, int repetitions, Json& json) {
  RunConfig const config = arguments.config.config();
  Execution const execution = arguments.config.execution();
  SearchWays ways;
  ways.threads = {1};
  if (int const most = thread_count(execution); most > 1) ways.threads.push_back(most);
  ways.isa = arguments.isa;
  ways.model = execution.model;
  ways.libtorch = libtorch_use(arguments.libtorch);
  if (execution.backend == "auto" && cuda_problem().empty()) ways.gpu = "cuda";
  if (execution.backend.rfind("cuda", 0) == 0) ways.gpu = execution.backend;
  auto const comparison = bench_search(config, ways, repetitions);
  auto const& rows = comparison.rows;

  json["cluster_seconds"] = comparison.cluster_seconds;
  json["libtorch"] = comparison.libtorch;
  json["search"] = Json::array();
  for (auto const& row : rows) json["search"].push_back(search_json(row));

  Facts facts;
  auto const& first = rows.front();
  facts.add("work", fmt::format("{} tests and steps, {} distinct IDIs in {} groups",
                                with_commas(first.iterations), with_commas(first.unique_instances),
                                with_commas(first.unique_groups)));
  facts.add("model evaluations per IDI", fmt::format("{:.2f}", first.evaluations_per_instance));
  facts.add("peak of one thread",
            fmt::format("{:.1f} GFLOP/s, measured between the searches", first.peak_gflops));
  facts.add("clustering", fmt::format("{:.3f} s, not included", comparison.cluster_seconds));
  auto const& last = rows[ways.threads.size() - 1];  // of the CPU
  if (ways.threads.size() > 1) {
    double const speedup = first.search_seconds / last.search_seconds;
    double const possible = last.peak_gflops / first.peak_gflops;
    facts.add("speed-up",
              fmt::format("{:.2f} with {} threads; a loop of multiply-adds alone: {:.2f}", speedup,
                          last.threads, possible));
    json["speedup"] = speedup;
    json["peak_speedup"] = possible;
  }
  double fastest = 0.0;  // on a GPU, by whichever route
  for (auto const& row : rows) {
    if (row.threads > 0 || row.libtorch) continue;
    fastest = fastest > 0.0 ? std::min(fastest, row.search_seconds) : row.search_seconds;
  }
  if (fastest > 0.0) {
    double const speedup = last.search_seconds / fastest;
    facts.add("speed-up of the GPU", fmt::format("{:.2f} over {} threads", speedup, last.threads));
    json["gpu_speedup"] = speedup;
  }
  facts.add("baseline", comparison.libtorch);
  std::int64_t marginal = 0;
  for (auto const& row : rows) marginal += row.marginal_instances;
  if (marginal > 0) {
    facts.add("within rounding",
              fmt::format("{} of LibTorch's IDIs are none to us", with_commas(marginal)));
  }
  return search_table(comparison) + "\n" + facts.text();
}

ExitCode bench(BenchArguments const& arguments) {
  auto const repetitions = static_cast<int>(parse_integer(
      "--repetitions", arguments.quick ? "3" : arguments.repetitions, 1, kMostRepetitions));
  if (!arguments.libtorch.empty() && arguments.config.path.empty()) {
    throw usage_error("bench: --libtorch compares the searches of a CONFIG; give one");
  }
  if (!arguments.file.empty()) refuse_no_file(arguments.file);
  Json json;
  json["version"] = FAIRLANE_VERSION;
  json["repetitions"] = repetitions;
  std::string const text = arguments.config.path.empty()
                               ? forward_part(arguments, repetitions, json)
                               : search_part(arguments, repetitions, json);
  std::string const document = json.dump(2) + "\n";
  print(arguments.console.json ? document : text);
  if (!arguments.file.empty()) write_text_file(arguments.file, document);
  return ExitCode::kOk;
}

}  // namespace

Action add_bench(Arguments& app) {
  auto const arguments = std::make_shared<BenchArguments>();
  arguments->config.add_to(app, false);
  app.add_option("--file", arguments->file, "write the figures to this JSON file")
      ->type_name("FILE");
  app.add_option("--isa", arguments->isa, "instruction set: avx512, avx2, neon, portable")
      ->type_name("NAME");
  app.add_option("--libtorch", arguments->libtorch,
                 "compare with LibTorch: auto (where it can), on, off")
      ->type_name("WHEN");
  app.add_option("--repetitions", arguments->repetitions, "repetitions; medians are reported")
      ->type_name("N");
  arguments->console.add_to(app);
  app.add_flag("--quick", arguments->quick, "one network, three repetitions");
  return [arguments] { return bench(*arguments); };
}

}  // namespace fairlane
