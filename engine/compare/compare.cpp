#include "engine/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/compare/compare_report.h"
#include "engine/compare/curve_report.h"
#include "engine/compare/diversity.h"
#include "engine/compare/mann_whitney.h"
#include "engine/job/job.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/results/results_page.h"
#include "engine/search/workload.h"

namespace fairlane {
namespace {

constexpr char const* kTrials = "trials";  // section of the state: JSON, trials that are done
constexpr std::int64_t kMostSeeds = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kRoundDraw = std::numeric_limits<std::uint32_t>::max();  // no seed draws it
constexpr std::size_t kLongestPath = 4096;

/// Calls visit(name, member) for everything that is saved of a trial.
template <class AnyTrial, class Visit>
void for_each_member(AnyTrial& trial, Visit const& visit) {
  visit("method", trial.method);
  visit("seed", trial.seed);
  visit("rounds", trial.rounds);
  visit("ended_by", trial.ended_by);
  visit("global_seeds", trial.search.global_seeds);
  visit("global_found", trial.search.global_found);
  visit("global_unique", trial.search.global_unique);
  visit("iterations", trial.search.iterations);
  visit("model_evaluations", trial.search.model_evaluations);
  visit("unique_instances", trial.found.unique_instances);
  visit("unique_groups", trial.found.unique_groups);
  visit("unique_generated", trial.found.unique_generated);
  visit("undefined", trial.found.undefined);
  visit("infeasible", trial.found.infeasible);
  visit("value_coverage", trial.value_coverage);
  visit("mean_distance", trial.mean_distance);
  visit("curve.evaluations", trial.curve.evaluations);
  visit("curve.unique_groups", trial.curve.unique_groups);
  visit("curve.unique_instances", trial.curve.unique_instances);
  visit("first_evaluations", trial.curve.first_evaluations);
  visit("search_seconds", trial.search_seconds);
  visit("cluster_seconds", trial.cluster_seconds);
  visit("first_seconds", trial.first_seconds);
}

std::string saved_trials(std::vector<Trial> const& trials) {
  Json all = Json::array();
  for (Trial const& trial : trials) {
    Json json;
    for_each_member(trial, [&](char const* name, auto const& member) { json[name] = member; });
    all.push_back(std::move(json));
  }
  return all.dump();
}

std::vector<Trial> restored_trials(std::string const& text) {
  std::vector<Trial> trials;
  for (auto const& json : Json::parse(text)) {
    for_each_member(trials.emplace_back(), [&](char const* name, auto& member) {
      member = json.at(name).template get<std::decay_t<decltype(member)>>();
    });
  }
  return trials;
}

bool is_usable(MethodSpec const& method, TestSubject const& subject) {
  try {
    require_usable(method, subject);
    return true;
  } catch (Error const&) {
    return false;
  }
}

/// Those of the given names; without names all that the subject can be searched with.
std::vector<MethodSpec const*> compared_methods(std::vector<std::string> const& names,
                                                TestSubject const& subject) {
  std::vector<MethodSpec const*> found;
  if (names.empty()) {
    for (MethodSpec const& method : methods()) {
      if (is_usable(method, subject)) found.push_back(&method);
    }
  }
  for (auto const& name : names) {
    try {
      found.push_back(&find_method(name));
    } catch (Error const& error) {
      throw Error(ExitCode::kUsage, fmt::format("--methods: {}", error.what()));
    }
    require_usable(*found.back(), subject);
    if (std::count(found.begin(), found.end(), found.back()) > 1)
      throw Error(ExitCode::kUsage, fmt::format("--methods lists {} twice", in_quotes(name)));
  }
  return found;
}

void check_budget(RunConfig const& config) {
  auto const& budget = config.budget;
  auto const fail = [&](std::string const& what) {
    throw Error(ExitCode::kConfig,
                fmt::format("{}: {}, expected budget.evaluations, budget.iterations or "
                            "budget.seconds, such as --set budget.evaluations=1000000",
                            escaped(config.source, kLongestPath), what));
  };
  if (budget.seeds || budget.instances) {
    fail(fmt::format("budget.{} is no budget that `compare` could give to every method alike",
                     budget.seeds ? "seeds" : "instances"));
  }
  if (!budget.evaluations && !budget.iterations && !budget.seconds)
    fail("`compare` needs a budget that every method gets");
}

/// What is left of a budget after a trial's rounds so far; absent limits stay absent.
BudgetConfig left_of(BudgetConfig const& budget, Trial const& trial) {
  BudgetConfig left = budget;
  if (left.evaluations) *left.evaluations -= trial.search.model_evaluations;
  if (left.iterations) *left.iterations -= trial.search.iterations;
  if (left.seconds) *left.seconds -= trial.search_seconds;
  return left;
}

/// The limit that has nothing left; empty: none.
char const* spent_budget(BudgetConfig const& left) {
  if (left.evaluations && *left.evaluations <= 0) return "evaluations";
  if (left.iterations && *left.iterations <= 0) return "iterations";
  return left.seconds && *left.seconds <= 0.0 ? "seconds" : "";
}

/// Seeds that would spend what is left, by what they cost so far.
std::int64_t further_seeds(BudgetConfig const& left, Trial const& trial) {
  double rounds = std::numeric_limits<double>::max();
  auto const limit = [&](double rest, double spent) {
    if (spent > 0.0) rounds = std::min(rounds, rest / spent);
  };
  auto const& spent = trial.search;
  if (left.evaluations)
    limit(static_cast<double>(*left.evaluations), static_cast<double>(spent.model_evaluations));
  if (left.iterations)
    limit(static_cast<double>(*left.iterations), static_cast<double>(spent.iterations));
  if (left.seconds) limit(*left.seconds, trial.search_seconds);
  double const seeds = std::ceil(rounds * static_cast<double>(spent.global_seeds));
  return static_cast<std::int64_t>(std::clamp(seeds, 1.0, static_cast<double>(kMostSeeds)));
}

/// One comparison on its way.
class Compare : private JobTask {
 public:
  Compare(RunConfig const& config, CompareOptions const& options)
      : config_(config),
        options_(options),
        subject_(config, options.execution.model),
        comparison_{
            config, subject_, compared_methods(options.methods, subject_), 0, options.repeats, {},
            {},     0.0} {
    auto& c = comparison_;
    for (std::size_t m = 0; m < c.methods.size(); ++m) {
      if (config.method == c.methods[m]->name) c.reference = m;
    }
    if (!options.against.empty()) c.totals = read_totals(options.against, config, subject_);
    execution_ = weighed(options.execution, subject_, workload());
  }

  std::string run();

 private:
  std::string manifest() const;
  /// All trials that are left.
  void work() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override {
    return fmt::format("{} of {} trials", comparison_.trials.size(), wanted());
  }
  bool can_save() const override { return !comparison_.trials.empty(); }
  char const* name() const override { return "comparison"; }
  /// Of all trials, each of which begins anew until its budget is spent.
  Workload workload() const;
  Trial trial(MethodSpec const& method, std::uint64_t seed);
  void report(MethodSpec const& method, std::uint64_t seed) const;
  void tell(std::string const& line) const {
    if (options_.notice) options_.notice(line);
  }
  std::size_t wanted() const {
    return comparison_.methods.size() * static_cast<std::size_t>(comparison_.repeats);
  }

  RunConfig const& config_;
  CompareOptions const& options_;
  TestSubject const subject_;
  Comparison comparison_;
  std::optional<OutputDir> out_;
  std::optional<Job> job_;
  Execution execution_;
  bool told_ = false;  // what the backend is
};

std::string Compare::manifest() const {
  Json json;
  json["methods"] = Json::array();
  for (auto const* method : comparison_.methods) json["methods"].push_back(method->name);
  json["repeats"] = comparison_.repeats;
  json["against"] = nullptr;
  if (auto const& totals = comparison_.totals)
    json["against"] = {{"unique_instances", totals->instances}, {"unique_groups", totals->groups}};
  return manifest_json(config_, subject_, Cut{}, {{"compare", json.dump()}});
}

Workload Compare::workload() const {
  RunConfig endless = config_;
  endless.global.num = kMostSeeds;
  Workload work;
  for (std::int64_t i = 0; i < comparison_.repeats; ++i) {
    for (auto const* method : comparison_.methods)
      work += search_workload(endless, *method, subject_.variants(), subject_.domain().size(), 0);
  }
  return work;
}

Trial Compare::trial(MethodSpec const& method, std::uint64_t seed) {
  Trial trial;
  trial.method = method.name;
  trial.seed = seed;
  RunConfig round = config_;
  round.method = method.name;
  // Random search has no other phase that more seeds would have to share the budget with.
  bool const one_round = method.kind == SearchKind::kRandom;
  if (one_round) round.global.num = kMostSeeds;
  std::unique_ptr<Findings> findings;
  Course course;
  auto const spent_by = [&](std::uint64_t finder) {
    return static_cast<std::uint64_t>(course.spent_by(finder));
  };
  bool is_last = false;
  while (!is_last) {
    round.seed = round_seed(seed, trial.rounds);
    auto const backend = make_backend(
        subject_, execution_, round.seed, [](Visits const&) {},
        [&](std::string const& line) {
          if (!told_) tell(line);
        },
        config_.arithmetic);
    if (!told_) tell(backend_line(*backend, execution_));
    told_ = true;
    SeedSource const seeds(round, method, subject_, backend.get());
    SearchOptions search_options;
    search_options.stop = options_.stop;
    search_options.threads = thread_count(options_.execution);
    search_options.legs = true;
    JobProgress progress;
    search_options.progress = &progress;
    SearchResult const result = search(round, method, seeds, *backend, search_options);
    if (backend->overflowed()) {
      throw Error(ExitCode::kMemory,
                  fmt::format("{}: the record of visited inputs is full at {} inputs; expected a "
                              "smaller budget or global.num",
                              method.name, backend->visited()));
    }
    if (trial.first_seconds < 0.0 && progress.first_seconds >= 0.0) {
      // Progress has a clock of its own, which begins a little before the search's.
      trial.first_seconds =
          trial.search_seconds + std::min(progress.first_seconds.load(), result.search_seconds);
    }
    course.add_round(result.legs);
    ++trial.rounds;
    trial.search.global_seeds += result.counts.global_seeds;
    trial.search.global_found += result.counts.global_found;
    trial.search.global_unique += result.counts.global_unique;
    trial.search.iterations += result.counts.iterations;
    trial.search.model_evaluations += result.counts.model_evaluations;
    trial.search_seconds += result.search_seconds;
    trial.cluster_seconds += seeds.cluster_seconds();
    trial.ended_by = result.cut.reason;
    round.budget = left_of(config_.budget, trial);
    if (trial.ended_by.empty()) trial.ended_by = spent_budget(round.budget);
    bool const is_idle = result.counts.iterations == 0;  // it has no input left to test
    is_last = one_round || is_idle || !trial.ended_by.empty();

    if (findings == nullptr) {
      findings = std::make_unique<Findings>(
          backend->subject(), Findings::Options{out_->partial("spill"),
                                                memory_limit(options_.execution) / kRecordShares,
                                                thread_count(options_.execution)});
    }
    if (is_last && trial.rounds == 1) {
      findings->collect(*backend, result.cut.finder);
    } else {
      findings->add_from(*backend, result.cut.finder, spent_by);
    }
    if (!is_last) round.global.num = further_seeds(round.budget, trial);
  }
  findings->finish(std::numeric_limits<std::uint64_t>::max());
  trial.found = findings->counts();
  // A group's least finder is the first also where finders are still those of the only round: `sg`
  // alone, which tests no group twice, has others.
  std::int64_t const budget = config_.budget.evaluations.value_or(course.spent());
  trial.curve = trial.rounds == 1
                    ? course.curve(*findings, budget, spent_by)
                    : course.curve(*findings, budget, [](std::uint64_t spent) { return spent; });
  if (trial.found.unique_instances == 0) {
    trial.first_seconds = -1.0;  // what was noticed lay behind the budget's end
  } else if (trial.first_seconds < 0.0) {
    trial.first_seconds = trial.search_seconds;
  }
  Diversity diversity(subject_);
  findings->for_each_group(
      [&](std::int32_t const* rows, std::size_t n) { diversity.add(rows, n); });
  trial.value_coverage = diversity.value_coverage();
  trial.mean_distance = diversity.mean_distance();
  return trial;
}

void Compare::work() {
  auto& c = comparison_;
  job_->progress().begin(0, static_cast<std::int64_t>(wanted()),
                         static_cast<std::int64_t>(c.trials.size()));
  while (c.trials.size() < wanted()) {
    // Repeats take turns, so that what slows the machine for a while slows all methods.
    MethodSpec const& method = *c.methods[c.trials.size() % c.methods.size()];
    std::uint64_t const seed = config_.seed + c.trials.size() / c.methods.size();
    report(method, seed);
    c.trials.push_back(trial(method, seed));
    ++job_->progress().done;
    job_->save();
  }
}

void Compare::report(MethodSpec const& method, std::uint64_t seed) const {
  if (!options_.progress) return;
  auto const& progress = job_->progress();
  options_.progress({progress.done, progress.total, method.name, seed, job_->seconds_left()});
}

void Compare::write_state(CheckpointWriter& state) {
  std::string const text = saved_trials(comparison_.trials);
  state.section(kTrials);
  state.write(text.data(), text.size());
}

void Compare::read_state(CheckpointReader const& state) {
  auto const bytes = state.values<char>(kTrials);
  comparison_.trials = restored_trials({bytes.begin(), bytes.end()});
}

std::string Compare::run() {
  Stopwatch const start;
  for (auto const& notice : subject_.notices()) tell(notice);
  if (auto const needed = missing_repeats(comparison_); needed > 0) {
    tell(
        fmt::format("{} too few for any difference between {} methods to be significant: "
                    "--repeats {} or more can show one",
                    comparison_.repeats == 1 ? "1 repeat is"
                                             : fmt::format("{} repeats are", comparison_.repeats),
                    comparison_.methods.size(), needed));
  }
  std::string const identity = manifest();
  OutputDir& out = out_.emplace(config_.output.dir, identity, options_.overwrite);
  JobOptions job;
  job.stop = options_.stop;
  job.tell = options_.notice;
  job.state = StateFile{out.state_path(), identity, out.path()};
  JobTask& task = *this;
  job_.emplace(task, std::move(job)).run();
  comparison_.total_seconds = start.seconds();
  std::string json = compare_json(comparison_);
  out.write("compare.csv", trials_csv(comparison_));
  out.write("summary.csv", compare_summary_csv(comparison_));
  out.write("compare.svg", compare_svg(compare_chart(comparison_)));
  out.write("curves.csv", curves_csv(comparison_));
  out.write("curves.svg", curves_svg(curve_chart(comparison_)));
  out.write("compare.json", json);
  write_results_page(config_, options_.execution, out);
  out.finish();
  return json;
}

}  // namespace

std::uint64_t round_seed(std::uint64_t seed, std::int64_t round) {
  if (round == 0) return seed;
  auto const words =
      philox<ScalarPack>(static_cast<std::uint32_t>(round),
                         static_cast<std::uint32_t>(Phase::kSeeding), 0, kRoundDraw, seed);
  return (std::uint64_t{words.w[1]} << 32) | words.w[0];
}

std::string compare(RunConfig const& config, CompareOptions const& options) {
  check_budget(config);
  if (options.repeats < 1 || options.repeats > static_cast<std::int64_t>(kMostRanked)) {
    throw Error(ExitCode::kUsage,
                fmt::format("--repeats is {}, expected 1..{}", options.repeats, kMostRanked));
  }
  return Compare(config, options).run();
}

}  // namespace fairlane
