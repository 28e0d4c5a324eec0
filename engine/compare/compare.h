// Several methods on one subject, with one equal budget, over several seeds.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/compare/curve.h"
#include "engine/record/findings.h"
#include "engine/results/recall.h"
#include "engine/search/method.h"
#include "engine/search/search.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// A method with a seed: what it found for the budget.
struct Trial {
  std::string method;
  std::uint64_t seed = 0;
  std::int64_t rounds = 0;  // searches until the budget was spent
  std::string ended_by;     // the budget that it reached; empty: it ran out of inputs before
  SearchCounts search;      // added up over the rounds
  FindingCounts found;      // distinct over all rounds
  double value_coverage = 0.0;
  double mean_distance = 0.0;
  Curve curve;
  double search_seconds = 0.0;
  double cluster_seconds = 0.0;
  double first_seconds = -1.0;  // of search until an IDI was noticed; -1: none was
};

/// What happens while a comparison runs.
struct CompareProgress {
  std::int64_t done = 0;  // trials
  std::int64_t total = 0;
  std::string method;  // of the next one
  std::uint64_t seed = 0;
  double seconds_left = 0.0;
};

/// The least repeats with which five methods beside the reference can differ at 5 % after Holm's
/// correction is 5 (exact p-values of so few are multiples of 1/126); twice as many leave room for
/// samples that overlap.
inline constexpr std::int64_t kCompareRepeats = 10;

/// methods  to be compared; empty: all
/// against  results of `enumerate`: also report the share of all IDIs that was found
struct CompareOptions {
  Execution execution;
  std::vector<std::string> methods;
  std::int64_t repeats = kCompareRepeats;
  std::string against;
  bool overwrite = false;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> notice;
  std::function<void(CompareProgress const&)> progress;
};

/// A comparison that is finished.
/// reference  among the methods: the one that the others are tested against
/// trials     [repeats][methods]
struct Comparison {
  RunConfig const& config;
  TestSubject const& subject;
  std::vector<MethodSpec const*> methods;
  std::size_t reference = 0;
  std::int64_t repeats = 0;
  std::vector<Trial> trials;
  std::optional<EnumeratedTotals> totals;
  double total_seconds = 0.0;

  Trial const& trial(std::size_t method, std::int64_t repeat) const {
    return trials[static_cast<std::size_t>(repeat) * methods.size() + method];
  }
};

/// Run seed of a trial's round: its own seed first, then other draws than those of any other round
/// or repeat.
std::uint64_t round_seed(std::uint64_t seed, std::int64_t round);

/// Runs every method with the seeds config.seed, config.seed + 1, ... until config.budget is spent
/// (evaluations, iterations or seconds, whichever comes first), and writes the output directory. A
/// trial is the `run` with that method, seed and budget; where that ends before the budget is
/// reached, another one with a seed of its own goes on for what is left, and findings count once.
/// Random search tests as many inputs as it takes instead. Trials that are done outlive a process.
/// The same manifest gives the same bytes but for times, unless seconds are the budget.
/// Returns compare.json. Throws Error; kStopped where the same comparison can go on.
std::string compare(RunConfig const& config, CompareOptions const& options);

}  // namespace fairlane
