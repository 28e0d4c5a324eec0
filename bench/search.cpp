#include <algorithm>
#include <vector>

#include "bench/bench.h"
#include "engine/search.h"
#include "engine/subject.h"
#include "kernels/core/error.h"

namespace fairlane {

namespace {

/// Distinct IDIs and groups with an IDI in a backend's table.
void count_findings(Backend& backend, SearchBench& bench) {
  std::vector<std::vector<std::uint64_t>> groups;
  backend.collect([&](Visits const& visits) {
    auto const words = static_cast<std::size_t>(visits.words);
    for (std::size_t i = 0; i < visits.count; ++i) {
      if ((visits.state[i] & kVisitHit) == 0) continue;
      ++bench.unique_instances;
      if (words == 1) {
        if (groups.empty()) groups.emplace_back();
        groups.front().push_back(visits.group[i]);
      } else {
        groups.emplace_back(visits.group + i * words, visits.group + (i + 1) * words);
      }
    }
  });
  if (groups.size() == 1) {
    auto& keys = groups.front();
    std::sort(keys.begin(), keys.end());
    bench.unique_groups = std::unique(keys.begin(), keys.end()) - keys.begin();
    return;
  }
  std::sort(groups.begin(), groups.end());
  bench.unique_groups = std::unique(groups.begin(), groups.end()) - groups.begin();
}

}  // namespace

std::vector<SearchBench> bench_search(RunConfig const& config, std::vector<int> const& threads,
                                      std::string const& isa, std::string const& gpu,
                                      int repetitions) {
  MethodSpec const& method = find_method(config.method);
  TestSubject const subject(config);
  SeedSource const seeds(config, method, subject);
  std::vector<Execution> ways;
  for (int const count : threads) {
    Execution way;
    way.backend = isa.empty() ? "cpu" : "cpu:" + isa;
    way.threads = count;
    ways.push_back(way);
  }
  for (char const* route : {"fused", "wide"}) {
    Execution way;
    way.backend = gpu;
    way.route = route;
    if (!gpu.empty()) ways.push_back(way);
  }
  std::vector<SearchBench> results(ways.size());
  std::vector<std::vector<double>> seconds(ways.size());
  std::vector<std::vector<double>> peaks(ways.size());
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t t = 0; t < ways.size(); ++t) {
      constexpr double kPeakSeconds = 0.05;
      Execution const& execution = ways[t];
      bool const on_gpu = execution.threads == 0;
      peaks[t].push_back(on_gpu ? 0.0 : peak_gflops(isa, kPeakSeconds, execution.threads));
      auto const backend = make_backend(subject, execution, config.seed, [](Visits const&) {});
      auto const result = search(config, method, seeds, *backend, {});
      seconds[t].push_back(result.search_seconds);
      auto& bench = results[t];
      if (result.counts.model_evaluations != results.front().model_evaluations &&
          (r > 0 || t > 0)) {
        throw Error(ExitCode::kBug, "bench: two equal searches did different work");
      }
      if (r > 0) continue;
      bench.isa = backend->name();
      bench.threads = execution.threads;
      bench.iterations = result.counts.iterations;
      std::int64_t tests = 0;
      for (auto const& outcome : result.global) tests += outcome.iterations;
      bench.local_steps = bench.iterations - tests;
      bench.model_evaluations = result.counts.model_evaluations;
      bench.cluster_seconds = seeds.cluster_seconds();
      bench.table_bytes = backend->table_bytes();
      count_findings(*backend, bench);
    }
  }
  for (std::size_t t = 0; t < ways.size(); ++t) {
    auto& bench = results[t];
    bench.search_seconds = median(seconds[t]);
    bench.steps_per_second = static_cast<double>(bench.local_steps) / bench.search_seconds;
    bench.instances_per_second = static_cast<double>(bench.unique_instances) / bench.search_seconds;
    bench.evaluations_per_instance = bench.unique_instances == 0
                                         ? 0.0
                                         : static_cast<double>(bench.model_evaluations) /
                                               static_cast<double>(bench.unique_instances);
    bench.peak_gflops = median(peaks[t]);
  }
  return results;
}

}  // namespace fairlane
