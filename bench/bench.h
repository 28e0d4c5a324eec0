// Measurements of the engine, as `fairlane bench` runs them: counted work over time, with the
// baseline in the same run.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/config/run_config.h"

namespace fairlane {

/// Medians of the forward pass of one network on one core.
/// flops counted as two per multiply-add; peak: a loop of independent multiply-adds measured
/// between the repetitions.
struct ForwardResult {
  std::string network;  // file or layer widths
  std::string isa;
  double rows_per_second = 0.0;
  double gflops = 0.0;
  double peak_gflops = 0.0;
  double share_of_peak = 0.0;      // median of the ratios
  int variants = 0;                // of the group evaluation below
  double groups_per_second = 0.0;  // similar sets evaluated, first layer shared
  double groups_share_of_peak = 0.0;
  double gradient_share_of_peak = 0.0;
};

/// Medians of whole searches of one configuration by one contender: a backend of ours, or LibTorch.
struct SearchBench {
  std::string backend;  // or "libtorch (...)"
  bool libtorch = false;
  int threads = 0;              // 0 on a GPU
  std::int64_t iterations = 0;  // tests and steps of one search
  std::int64_t local_steps = 0;
  std::int64_t unique_instances = 0;
  std::int64_t unique_groups = 0;
  double search_seconds = 0.0;    // median; clustering and writing apart
  double steps_per_second = 0.0;  // local steps over search_seconds
  double instances_per_second = 0.0;
  double over_libtorch = 0.0;  // median ratio of instances per second to LibTorch's; 0 without it
  // Of ours only:
  std::int64_t model_evaluations = 0;
  double evaluations_per_instance = 0.0;
  // A multiply-add loop on as many threads, measured between the repetitions.
  double peak_gflops = 0.0;
  std::uint64_t table_bytes = 0;
  // Of LibTorch's only: instances that are none to us, within rounding of the decision.
  std::int64_t marginal_instances = 0;
};

/// Whether LibTorch takes part: where it can, always (otherwise an error), never.
enum class LibTorchUse { kAuto, kOn, kOff };

/// Who takes part in a comparison.
/// threads  numbers of threads, each for the CPU and for LibTorch
/// isa      instruction set of the CPU, empty = best
/// gpu      "cuda", "cuda:1": both routes there, and LibTorch where it can; empty: none. For
///          networks only
/// model    how a model that is no network is loaded
struct SearchWays {
  std::vector<int> threads;
  std::string isa;
  std::string gpu;
  LibTorchUse libtorch = LibTorchUse::kAuto;
  ModelOptions model = {};
};

/// rows      of the CPU, of the GPU, of LibTorch
/// libtorch  its name and version, or why it is left out
struct SearchComparison {
  std::vector<SearchBench> rows;
  std::string libtorch;
  double cluster_seconds = 0.0;
};

/// The middle one of an odd number of values.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One core's peak and the network's share of it; widths are inputs, hidden layers, outputs. Labels
/// are first compared with the portable kernels. Throws Error(kBug) when they differ.
ForwardResult bench_forward(std::vector<int> const& widths, int variants, std::string const& isa,
                            int repetitions);

/// Every contender searches `repetitions` times, in turn, so that ratios between them are of one
/// run. LibTorch's findings are evaluated with our own backend first. Throws Error(kIntegrity)
/// where one does not hold.
SearchComparison bench_search(RunConfig const& config, SearchWays const& ways, int repetitions);

/// Billions of floating-point operations per second of a multiply-add loop on each of `threads`
/// threads together, over about `seconds`: what the machine could do at most, and whether its cores
/// are cores.
double peak_gflops(std::string const& isa, double seconds, int threads = 1);

}  // namespace fairlane
