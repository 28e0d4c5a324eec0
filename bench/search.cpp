#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bench/bench.h"
#include "bench/contender.h"
#include "engine/search/search.h"
#include "models/torch/loader.h"

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

/// The work of a search, which is the same however it is done.
class Work {
 public:
  /// Throws Error(kBug) when two searches differ.
  void require_equal(std::int64_t model_evaluations) {
    if (model_evaluations_ < 0) model_evaluations_ = model_evaluations;
    if (model_evaluations_ != model_evaluations)
      throw Error(ExitCode::kBug, "bench: two equal searches did different work");
  }

 private:
  std::int64_t model_evaluations_ = -1;
};

/// One of our own backends.
class Ours : public Contender {
 public:
  Ours(BenchSearch const& search, Execution execution, Work& work)
      : search_(search), execution_(std::move(execution)), work_(work) {}

  double search(SearchBench* bench) override {
    auto const backend =
        make_backend(search_.subject, execution_, search_.config.seed, [](Visits const&) {});
    auto const result =
        fairlane::search(search_.config, search_.method, search_.seeds, *backend, {});
    work_.require_equal(result.counts.model_evaluations);
    if (bench == nullptr) return result.search_seconds;
    bench->backend = backend->name();
    bench->threads = execution_.threads;
    bench->iterations = result.counts.iterations;
    bench->local_steps = result.counts.iterations;
    for (auto const& outcome : result.global) bench->local_steps -= outcome.iterations;
    bench->model_evaluations = result.counts.model_evaluations;
    bench->table_bytes = backend->table_bytes();
    count_findings(*backend, *bench);
    return result.search_seconds;
  }

 private:
  BenchSearch const& search_;
  Execution execution_;
  Work& work_;
};

/// A contender with its measurements, one of each repetition.
struct Row {
  std::unique_ptr<Contender> contender;
  SearchBench bench;
  std::vector<double> seconds;
  std::vector<double> peaks;

  double rate(std::size_t repetition) const {
    return static_cast<double>(bench.unique_instances) / seconds[repetition];
  }
};

void add_ours(std::vector<Row>& rows, BenchSearch const& search, SearchWays const& ways,
              Work& work) {
  for (int const count : ways.threads) {
    Execution way;
    way.backend = ways.isa.empty() ? "cpu" : "cpu:" + ways.isa;
    way.threads = count;
    rows.push_back({std::make_unique<Ours>(search, way, work), {}, {}, {}});
  }
  if (ways.gpu.empty() || search.subject.model().scorer()) return;
  for (char const* route : {"fused", "wide"}) {
    Execution way;
    way.backend = ways.gpu;
    way.route = route;
    rows.push_back({std::make_unique<Ours>(search, way, work), {}, {}, {}});
  }
}

/// Returns LibTorch's name, or why it does not take part.
std::string add_libtorch(std::vector<Row>& rows, BenchSearch const& search,
                         SearchWays const& ways) {
  if (ways.libtorch == LibTorchUse::kOff) return "left out, as asked";
  try {
    std::string const problem = libtorch_problem(search);
    if (!problem.empty()) throw Error(ExitCode::kUnavailable, problem);
    TorchPlugin const& plugin = torch_plugin();
    std::vector<int> threads = ways.threads;
    if (!ways.gpu.empty() && plugin.cuda_devices > 0) threads.push_back(0);
    std::vector<Row> added;
    for (int const count : threads) added.push_back({make_libtorch(search, count), {}, {}, {}});
    std::move(added.begin(), added.end(), std::back_inserter(rows));
    return plugin.name;
  } catch (Error const& error) {
    if (ways.libtorch == LibTorchUse::kOn || error.code() != ExitCode::kUnavailable) throw;
    return std::string("left out: ") + error.what();
  }
}

/// LibTorch's row with as many threads (on a GPU: on one); otherwise its last one; null without
/// LibTorch.
Row const* baseline_of(Row const& row, std::vector<Row> const& rows) {
  Row const* baseline = nullptr;
  for (Row const& other : rows) {
    if (!other.bench.libtorch) continue;
    baseline = &other;
    if (other.bench.threads == row.bench.threads) break;
  }
  return baseline;
}

void summarise(Row& row, Row const* baseline) {
  SearchBench& bench = row.bench;
  bench.search_seconds = median(row.seconds);
  bench.steps_per_second = static_cast<double>(bench.local_steps) / bench.search_seconds;
  bench.instances_per_second = static_cast<double>(bench.unique_instances) / bench.search_seconds;
  bench.evaluations_per_instance = bench.unique_instances == 0
                                       ? 0.0
                                       : static_cast<double>(bench.model_evaluations) /
                                             static_cast<double>(bench.unique_instances);
  bench.peak_gflops = median(row.peaks);
  if (baseline == nullptr || baseline->bench.unique_instances == 0) return;
  std::vector<double> ratios;
  for (std::size_t r = 0; r < row.seconds.size(); ++r)
    ratios.push_back(row.rate(r) / baseline->rate(r));
  bench.over_libtorch = median(ratios);
}

}  // namespace

SearchComparison bench_search(RunConfig const& config, SearchWays const& ways, int repetitions) {
  constexpr double kPeakSeconds = 0.05;
  BenchSearch const search(config, ways.model);
  SearchComparison result;
  result.cluster_seconds = search.seeds.cluster_seconds();
  Work work;
  std::vector<Row> rows;
  add_ours(rows, search, ways, work);
  result.libtorch = add_libtorch(rows, search, ways);
  for (int r = 0; r < repetitions; ++r) {
    for (Row& row : rows) {
      row.seconds.push_back(row.contender->search(r == 0 ? &row.bench : nullptr));
      bool const on_cpu = row.bench.threads > 0 && !row.bench.libtorch;
      row.peaks.push_back(on_cpu ? peak_gflops(ways.isa, kPeakSeconds, row.bench.threads) : 0.0);
    }
  }
  for (Row& row : rows) {
    summarise(row, baseline_of(row, rows));
    result.rows.push_back(row.bench);
  }
  return result;
}

}  // namespace fairlane
