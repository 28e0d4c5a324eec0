#include "engine/count/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "engine/count/set_search.h"
#include "engine/count/share_estimate.h"
#include "engine/job/job.h"
#include "engine/record/output_dir.h"
#include "engine/results/manifest.h"
#include "engine/results/results_page.h"

namespace fairlane {
namespace {

constexpr double kShowEvery = 0.2;  // seconds

// Sections of the state.
constexpr char const* kLooksKey = "looks";  // int64 [2] the next look, and samples until then
constexpr char const* kSampled =
    "sampled";  // int64 [5] inputs drawn, existing, IDIs; groups, skipped ones
constexpr char const* kCounters = "counters";  // uint64 [CountLayout::size]
constexpr char const* kLayout = "layout";      // int32 [3] variants, subsets, pairs
constexpr char const* kTrialSums =
    "trials";  // double [4] trials, sum and sum of squares, undefined groups
constexpr char const* kSets = "sets";                 // text, see SetSearch
constexpr char const* kConfidenceKey = "confidence";  // double [1]; [0]: of all inputs
constexpr char const* kKnown = "is_known";            // uint8 [1] whether sampling has ended

Json share_json(KnownShare const& known) {
  return {{"share", known.share}, {"low", known.interval.low}, {"high", known.interval.high}};
}

/// What of the manifest is estimate's own.
std::string options_json(EstimateOptions const& options) {
  Json json = recorded_region(options.region);
  json["error"] = options.error;
  json["confidence"] = options.confidence;
  json["samples"] = options.samples ? Json(*options.samples) : Json(nullptr);
  json["trials"] = options.trials;
  json["most_samples"] = options.most_samples;
  json["search_above"] = options.search_above ? Json(*options.search_above) : Json(nullptr);
  json["largest_set"] = options.largest_set;
  return json.dump();
}

/// Samples that are taken in all, about.
double samples_in_all(EstimateOptions const& options) {
  if (!options.samples) return expected_samples(options.error, options.most_samples);
  return static_cast<double>(*options.samples) * static_cast<double>(1 + options.trials);
}

/// One estimate on its way.
class Estimation : private JobTask {
 public:
  Estimation(RunConfig const& config, EstimateOptions const& options)
      : config_(config),
        options_(options),
        sampler_(config, options.execution, options.region, samples_in_all(options)),
        out_(output()),
        job_(*this, job_options()) {
    if (options_.search_above)
      sets_ = std::make_unique<SetSearch>(config, options, sampler_.subject(), job_);
  }

  std::string run();

 private:
  void work() override;
  void write_state(CheckpointWriter& state) override;
  void read_state(CheckpointReader const& state) override;
  std::string done() const override;
  char const* name() const override { return "estimate"; }

  std::string manifest() const;
  /// Null where nothing is written.
  std::unique_ptr<OutputDir> output() const;
  JobOptions job_options() const;
  void sample();
  void run_trials();
  SamplePlan plan() const;
  /// Tells once where a count of all groups takes no more evaluations than so many samples.
  void hint_at_count(std::int64_t samples);
  void show(std::int64_t added, bool always);
  std::string json() const;
  void tell(std::string const& line) const {
    if (options_.notice) options_.notice(line);
  }

  Stopwatch const start_;
  RunConfig const& config_;
  EstimateOptions const& options_;
  Sampler sampler_;
  std::unique_ptr<OutputDir> out_;
  Job job_;
  ShareEstimate estimate_;
  bool is_known_ = false;  // sampling has ended
  std::int64_t trials_ = 0;
  double sum_ = 0.0;
  double squares_ = 0.0;
  std::int64_t undefined_groups_ = 0;
  std::unique_ptr<SetSearch> sets_;
  bool late_ = false;  // the time was over before all was done
  bool hinted_ = false;
  EstimateProgress progress_;
  double shown_ = -kShowEvery;
};

std::string Estimation::manifest() const {
  RunConfig config = config_;
  config.output.dir = options_.out;
  return manifest_json(config, sampler_.subject(), Cut{}, {{"estimate", options_json(options_)}});
}

std::unique_ptr<OutputDir> Estimation::output() const {
  if (options_.out.empty()) return nullptr;
  return std::make_unique<OutputDir>(options_.out, manifest(), options_.overwrite);
}

JobOptions Estimation::job_options() const {
  JobOptions job;
  job.stop = options_.stop;
  job.tell = options_.notice;
  job.seconds = config_.budget.seconds;
  job.passed = options_.passed;
  if (out_ != nullptr) {
    job.state = StateFile{out_->state_path(), manifest(), out_->path(),
                          options_.execution.checkpoint, options_.now};
  }
  return job;
}

SamplePlan Estimation::plan() const {
  if (options_.region.rows)
    return {sampler_.rows(), sampler_.rows(), options_.confidence, false, true};
  if (options_.samples)
    return {*options_.samples, *options_.samples, options_.confidence, false, false};
  return {kFirstLook, options_.most_samples, options_.confidence, true, false};
}

void Estimation::hint_at_count(std::int64_t samples) {
  if (hinted_ || options_.region.rows || sampler_.groups() > static_cast<double>(samples)) return;
  hinted_ = true;
  tell(
      fmt::format("counting all {:.0f} groups takes no more evaluations than these samples, and "
                  "is exact: {}",
                  sampler_.groups(), options_.enumeration));
}

void Estimation::show(std::int64_t added, bool always) {
  progress_.samples += added;
  if (!options_.progress) return;
  progress_.seconds = job_.seconds();
  if (!always && progress_.seconds - shown_ < kShowEvery) return;
  shown_ = progress_.seconds;
  options_.progress(progress_);
}

void Estimation::sample() {
  SamplePlan const plan = this->plan();
  // What is undefined stays unknown however many samples there are.
  auto const enough = [&](ShareInterval const& share, ShareInterval const& interval) {
    progress_.known_to = (interval.high - interval.low) / 2.0;
    return !plan.several || (interval.high - share.high <= options_.error &&
                             share.low - interval.low <= options_.error);
  };
  std::atomic<bool> begun{estimate_.samples.sampled > 0};
  // Something is known however little time there is.
  auto const pauses = [&] {
    return job_.stopped() ||
           (begun.exchange(true) && (job_.late() || (job_.saves() && job_.due())));
  };
  auto const take = [&](Samples const& more) { show(more.sampled, false); };
  LookResult result = LookResult::kMore;
  while (result == LookResult::kMore || result == LookResult::kPaused) {
    hint_at_count(std::max(estimate_.end, plan.first));
    result = take_look(sampler_, plan, enough, pauses, take, estimate_);
    if (result != LookResult::kPaused) continue;
    job_.check_stop();
    late_ = job_.late();
    if (late_) return;
    job_.save_on_the_way();
  }
  is_known_ = true;
  if (result == LookResult::kMost) {
    tell(fmt::format("the share is not yet known to +-{} after {} samples, the most allowed",
                     options_.error, estimate_.samples.sampled));
  }
}

void Estimation::run_trials() {
  std::int64_t const size = *options_.samples;
  auto const pauses = [&] { return job_.stopped() || job_.late(); };
  auto const take = [&](Samples const& more) { show(more.sampled, false); };
  progress_.what = "trial";
  progress_.parts = options_.trials;
  for (; trials_ < options_.trials; ++trials_) {
    progress_.part = trials_ + 1;
    std::int64_t const begin = (trials_ + 1) * size;
    Samples const trial = sampler_.draw(begin, begin + size, pauses, take);
    job_.check_stop();
    late_ = late_ || trial.sampled < size;
    if (late_) return;
    double const share = share_of(trial.hits, trial.inputs);
    sum_ += share;
    squares_ += share * share;
    undefined_groups_ += trial.feasible().undefined_groups;
    if (job_.saves() && job_.due()) job_.save_on_the_way();
  }
}

void Estimation::work() {
  if (!is_known_) sample();
  if (options_.trials > 0) run_trials();
  if (sets_ == nullptr) return;
  progress_.what = "set";
  progress_.parts = sets_->sets();
  while (sets_->done() < sets_->sets()) {
    late_ = late_ || job_.late();
    if (late_) return;
    progress_.part = sets_->done() + 1;
    show(0, true);
    sets_->examine_next();
    if (job_.saves() && job_.due()) job_.save_on_the_way();
  }
}

std::string Estimation::done() const {
  std::string text = fmt::format("{} samples", estimate_.samples.sampled);
  if (options_.trials > 0) text += fmt::format(", {} of {} trials", trials_, options_.trials);
  if (sets_ != nullptr) text += fmt::format(", {} of {} sets", sets_->done(), sets_->sets());
  return text;
}

void Estimation::write_state(CheckpointWriter& state) {
  auto const& samples = estimate_.samples;
  state.add(kLooksKey, std::vector<std::int64_t>{estimate_.look, estimate_.end});
  state.add(kSampled, std::vector<std::int64_t>{samples.sampled, samples.inputs, samples.hits,
                                                samples.counts.groups, samples.counts.skipped});
  state.add(kCounters, samples.counts.counters);
  state.add(kLayout, std::vector<std::int32_t>{samples.layout.variants, samples.layout.subsets,
                                               samples.layout.pairs ? 1 : 0});
  std::vector<double> confidence;
  if (estimate_.confidence) confidence.push_back(*estimate_.confidence);
  state.add(kConfidenceKey, confidence);
  state.add(kTrialSums, std::vector<double>{static_cast<double>(trials_), sum_, squares_,
                                            static_cast<double>(undefined_groups_)});
  state.add(kKnown, std::vector<std::uint8_t>{static_cast<std::uint8_t>(is_known_ ? 1 : 0)});
  if (sets_ != nullptr) {
    std::string const text = sets_->state();
    state.section(kSets);
    state.write(text.data(), text.size());
  }
}

void Estimation::read_state(CheckpointReader const& state) {
  auto const looks = state.values<std::int64_t>(kLooksKey);
  estimate_.look = static_cast<int>(looks.at(0));
  estimate_.end = looks.at(1);
  auto const sampled = state.values<std::int64_t>(kSampled);
  Samples& samples = estimate_.samples;
  samples.sampled = sampled.at(0);
  samples.inputs = sampled.at(1);
  samples.hits = sampled.at(2);
  samples.counts.groups = sampled.at(3);
  samples.counts.skipped = sampled.at(4);
  samples.is_constrained = !sampler_.subject().constraints().empty();
  samples.counts.counters = state.values<std::uint64_t>(kCounters);
  auto const layout = state.values<std::int32_t>(kLayout);
  samples.layout = {layout.at(0), layout.at(1), layout.at(2) != 0};
  for (double const confidence : state.values<double>(kConfidenceKey))
    estimate_.confidence = confidence;
  auto const trials = state.values<double>(kTrialSums);
  trials_ = static_cast<std::int64_t>(trials.at(0));
  sum_ = trials.at(1);
  squares_ = trials.at(2);
  undefined_groups_ = static_cast<std::int64_t>(trials.at(3));
  is_known_ = state.values<std::uint8_t>(kKnown).at(0) != 0;
  if (sets_ != nullptr) {
    auto const text = state.values<char>(kSets);
    sets_->restore({text.begin(), text.end()});
  }
  progress_.samples = samples.sampled;
}

std::string Estimation::json() const {
  auto const& s = estimate_.samples;
  // The share of all rows is exact, unless the time was over before.
  bool const exact = options_.region.rows && !estimate_.confidence;
  auto const known = [&](SampledHits const& sampled) {
    return share_json({estimate_.share(sampled).low, estimate_.interval(sampled)});
  };
  SampledHits const inputs = s.input_hits();
  SampledHits const groups = s.group_hits();
  FeasibleCounts const feasible = s.feasible();
  Json names = Json::array();
  for (std::int32_t const a : sampler_.subject().selected())
    names.push_back(sampler_.subject().domain().attributes[static_cast<std::size_t>(a)].name);
  Json json;
  json["method"] = "estimate";
  json["protected"] = names;
  json["variants"] = s.layout.variants;
  json["of"] = options_.region.rows ? "rows" : options_.region.whole() ? "domain" : "region";
  json["counts"] = {{"samples", inputs.of},
                    {"groups", groups.of},
                    {"unique_groups", groups.hits.known},
                    {"undefined_groups", feasible.undefined_groups},
                    {"hits", inputs.hits.known},
                    {"possible_hits", inputs.hits.possible},
                    {"model_evaluations", s.sampled * s.layout.variants}};
  json["confidence"] = exact ? 1.0 : options_.confidence;
  json["success_rate"] = known(inputs);
  json["causal_score"] = known(groups);
  json["group_score"] = share_json(group_score(estimate_));
  json["undefined"] = feasible.undefined;
  if (s.is_constrained) {
    json["infeasible"] = feasible.infeasible;
    json["infeasible_groups"] = feasible.infeasible_groups;
  }
  if (trials_ > 1 || (options_.trials > 0 && !late_)) {
    auto const n = static_cast<double>(trials_);
    double const mean = sum_ / n;
    double const deviation = std::sqrt(std::max(0.0, squares_ / n - mean * mean));
    json["trials"] = {{"trials", trials_},
                      {"samples", *options_.samples},
                      {"mean", mean},
                      {"half_width", normal_half_width(deviation, trials_, options_.confidence)},
                      {"undefined_groups", undefined_groups_}};
  }
  if (sets_ != nullptr) json["sets"] = Json::parse(sets_->json());
  if (late_) json["budget"] = "seconds";
  json["timing"] = {{"total_seconds", start_.seconds() + job_.earlier_seconds()}};
  return json.dump(2) + "\n";
}

std::string Estimation::run() {
  for (auto const& line : sampler_.subject().notices()) tell(line);
  tell(backend_line(sampler_.backend(), sampler_.execution()));
  try {
    job_.run();
  } catch (Error const& error) {
    if (error.code() != ExitCode::kInterrupted) throw;
    throw Error(ExitCode::kInterrupted,
                "interrupted; without --out DIR, which saves its state, an estimate begins anew");
  }
  std::string text = json();
  if (out_ != nullptr) {
    out_->write("estimate.json", text);
    write_results_page(config_, options_.execution, *out_);
    out_->finish();
  }
  return text;
}

}  // namespace

std::string estimate(RunConfig const& config, EstimateOptions const& options) {
  return Estimation(config, options).run();
}

}  // namespace fairlane
