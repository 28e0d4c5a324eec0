// fairlane bench [CONFIG]: what this machine reaches, beside its own peak measured in the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/commands.h"
#include "apps/config_options.h"
#include "apps/console.h"
#include "bench/bench.h"
#include "engine/output_dir.h"
#include "kernels/backend.h"

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
  int repetitions = 9;
  bool quick = false;
};

nlohmann::ordered_json forward_json(ForwardResult const& r) {
  nlohmann::ordered_json json;
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

nlohmann::ordered_json search_json(SearchBench const& b) {
  nlohmann::ordered_json json;
  json["backend"] = b.isa;
  json["threads"] = b.threads;
  json["iterations"] = b.iterations;
  json["local_steps"] = b.local_steps;
  json["unique_instances"] = b.unique_instances;
  json["unique_groups"] = b.unique_groups;
  json["model_evaluations"] = b.model_evaluations;
  json["evaluations_per_instance"] = b.evaluations_per_instance;
  json["cluster_seconds"] = b.cluster_seconds;
  json["search_seconds"] = b.search_seconds;
  json["local_steps_per_second"] = b.steps_per_second;
  json["instances_per_second"] = b.instances_per_second;
  json["peak_gflops"] = b.peak_gflops;
  json["table_bytes"] = b.table_bytes;
  return json;
}

ExitCode bench(BenchArguments const& arguments) {
  int const repetitions = arguments.quick ? 3 : arguments.repetitions;
  auto const& console = arguments.console;
  nlohmann::ordered_json json;
  json["version"] = FAIRLANE_VERSION;
  json["repetitions"] = repetitions;
  if (arguments.config.path.empty()) {
    std::string text =
        fmt::format("{:<24} {:>14} {:>10} {:>8} {:>16} {:>8} {:>9}\n", "network", "rows/s",
                    "GFLOP/s", "of peak", "groups/s", "of peak", "gradient");
    json["forward"] = nlohmann::ordered_json::array();
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
    if (!console.json) print(text);
  } else {
    RunConfig const config = arguments.config.config();
    int const most = std::max(1, arguments.config.execution().threads > 0
                                     ? arguments.config.execution().threads
                                     : static_cast<int>(std::thread::hardware_concurrency()));
    std::vector<int> threads = {1};
    if (most > 1) threads.push_back(most);
    std::string gpu = arguments.config.execution().backend;
    if (gpu == "auto" && cuda_problem().empty()) gpu = "cuda";
    if (gpu.rfind("cuda", 0) != 0) gpu.clear();
    auto const results = bench_search(config, threads, arguments.isa, gpu, repetitions);
    json["search"] = nlohmann::ordered_json::array();
    Facts facts;
    for (auto const& b : results) {
      json["search"].push_back(search_json(b));
      facts.add(b.isa, fmt::format("{:.3f} s search, {:.2f} M local steps/s, {:.2f} M IDIs/s",
                                   b.search_seconds, b.steps_per_second * 1e-6,
                                   b.instances_per_second * 1e-6));
    }
    auto const& first = results.front();
    facts.add("work",
              fmt::format("{} tests and steps, {} distinct IDIs in {} groups",
                          with_commas(first.iterations), with_commas(first.unique_instances),
                          with_commas(first.unique_groups)));
    facts.add("model evaluations per IDI", fmt::format("{:.2f}", first.evaluations_per_instance));
    facts.add("peak of one thread",
              fmt::format("{:.1f} GFLOP/s, measured between the searches", first.peak_gflops));
    facts.add("clustering", fmt::format("{:.3f} s, not included", first.cluster_seconds));
    auto const& last = results[threads.size() - 1];  // of the CPU
    if (threads.size() > 1) {
      double const speedup = first.search_seconds / last.search_seconds;
      double const possible = last.peak_gflops / first.peak_gflops;
      facts.add("speed-up",
                fmt::format("{:.2f} with {} threads; a loop of multiply-adds alone: {:.2f}",
                            speedup, last.threads, possible));
      json["speedup"] = speedup;
      json["peak_speedup"] = possible;
    }
    if (!gpu.empty()) {
      double fastest = results.back().search_seconds;  // by whichever route
      for (std::size_t i = threads.size(); i < results.size(); ++i)
        fastest = std::min(fastest, results[i].search_seconds);
      double const speedup = last.search_seconds / fastest;
      facts.add("speed-up of the GPU",
                fmt::format("{:.2f} over {} threads", speedup, last.threads));
      json["gpu_speedup"] = speedup;
    }
    if (!console.json) print(facts.text());
  }
  std::string const text = json.dump(2) + "\n";
  if (console.json) print(text);
  if (!arguments.file.empty()) {
    FileWriter file(arguments.file);
    file.write(text.data(), text.size());
    file.close();
  }
  return ExitCode::kOk;
}

}  // namespace

Action add_bench(CLI::App& app) {
  auto const arguments = std::make_shared<BenchArguments>();
  arguments->config.add_to(app, false);
  app.add_option("--file", arguments->file, "write the figures to this JSON file")
      ->type_name("FILE");
  app.add_option("--isa", arguments->isa, "instruction set: avx512, avx2, neon, portable")
      ->type_name("NAME");
  app.add_option("--repetitions", arguments->repetitions, "repetitions; medians are reported")
      ->check(CLI::Range(1, 1000));
  arguments->console.add_to(app);
  app.add_flag("--quick", arguments->quick, "one network, three repetitions");
  return [arguments] { return bench(*arguments); };
}

}  // namespace fairlane
