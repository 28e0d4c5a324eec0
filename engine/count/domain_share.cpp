#include "engine/count/domain_share.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "engine/count/binomial_interval.h"
#include "engine/count/enumerate.h"
#include "engine/count/estimate.h"
#include "engine/count/group_counts.h"

namespace fairlane {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kLeastSamples = 1000.0;   // fewer tell too little
constexpr double kQuickMacs = 4e9;         // multiply-adds of a network: about a second of one core
constexpr double kQuickEvaluations = 5e5;  // of a model whose work is not known
constexpr double kLongestShare = 10.0;     // of what is quick, for the least samples
constexpr double kPaceSeconds = 0.02;      // of a walk, that tell its pace
constexpr int kGrowth = 4;  // from one look at a share that is to be decided to the next,
constexpr int kLooks = 4;   // of which there are so many

/// Groups that are evaluated within what is quick; 0: none are.
std::int64_t quick_samples(TestSubject const& subject) {
  Model const& model = subject.model();
  auto const variants = static_cast<double>(subject.variants());
  double const each = model.scorer()
                          ? variants
                          : variants * static_cast<double>(model.network("sample").parameters());
  double const quick = (model.scorer() ? kQuickEvaluations : kQuickMacs) / each;
  if (quick * kLongestShare < kLeastSamples) return 0;
  return static_cast<std::int64_t>(
      std::clamp(quick, kLeastSamples, static_cast<double>(kDomainSamples)));
}

/// Groups of the domain, as far as they matter here.
double group_count(std::vector<ValueList> const& lists) {
  double groups = 1.0;
  for (auto const& list : lists) groups *= static_cast<double>(list.size());
  return groups;
}

DomainShare count_all(RunConfig const& config, TestSubject const& subject,
                      std::vector<ValueList> lists, Execution const& execution) {
  auto const backend = make_backend(subject, execution, config.seed, {});
  auto const walker = backend->make_walker(std::move(lists));
  GroupCounts counts(walker->plan());
  GroupCounter counter(*walker);
  std::int64_t const heads = walker->plan().get().heads;
  for (std::int64_t first = 0; first < heads; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), counts, {});
  DomainShare share;
  share.source = "count";
  bool const constrained = !subject.constraints().empty();
  FeasibleCounts const feasible(counts, walker->plan().counters(), constrained);
  share.groups = feasible.groups;
  share.undefined_groups = feasible.undefined_groups;
  share.share = share.low = share_of(counts.at(CountLayout::kInstances), feasible.inputs);
  // Every member of a group that discriminates, or may, can be an IDI.
  share.high = constrained
                   ? share.share
                   : share_of(counts.discriminatory() + feasible.undefined_groups, feasible.groups);
  return share;
}

/// A share, and how low and high it may be where undefined outputs are all against it, or all for
/// it.
struct Sampled {
  DomainShare share;
  double known_high = 1.0;
  double possible_low = 0.0;
};

Sampled sample(RunConfig const& config, EstimateOptions const& options, double confidence) {
  auto const json = Json::parse(estimate(config, options));
  auto const& counts = json.at("counts");
  Sampled sampled;
  DomainShare& share = sampled.share;
  share.source = "sample";
  share.groups = counts.at("samples").get<std::int64_t>();
  share.drawn =
      counts.at("model_evaluations").get<std::int64_t>() / json.at("variants").get<std::int64_t>();
  share.undefined_groups = counts.at("undefined_groups").get<std::int64_t>();
  share.confidence = kConfidence;
  auto const hits = counts.at("hits").get<std::int64_t>();
  auto const possible = counts.at("possible_hits").get<std::int64_t>();
  share.share = share_of(hits, share.groups);
  ShareInterval const known = clopper_pearson(hits, share.groups, confidence);
  ShareInterval const at_most = clopper_pearson(possible, share.groups, confidence);
  share.low = known.low;
  share.high = at_most.high;
  sampled.known_high = known.high;
  sampled.possible_low = at_most.low;
  return sampled;
}

/// A sample whose size is that of the last look that the seconds allow. The clock decides it, not
/// what was drawn, so that each interval holds with the whole confidence.
DomainShare timed_sample(RunConfig config, EstimateOptions options, std::int64_t most,
                         double seconds) {
  Stopwatch const watch;
  DomainShare share;
  for (auto samples = std::min(most, static_cast<std::int64_t>(kLeastSamples));;) {
    double const begin = watch.seconds();
    // A model that becomes slower ends a look between two of its batches.
    config.budget.seconds = std::max(0.0, seconds - begin);
    options.samples = samples;
    DomainShare const look = sample(config, options, kConfidence).share;
    if (look.drawn >= share.drawn) share = look;
    if (look.drawn < samples || samples == most) return share;
    std::int64_t const next = most / kGrowth < samples ? most : samples * kGrowth;
    double const each = (watch.seconds() - begin) / static_cast<double>(samples);
    if (watch.seconds() + each * static_cast<double>(next) > seconds) return share;
    samples = next;
  }
}

}  // namespace

DomainShare measure_domain_share(RunConfig const& config, TestSubject const& subject,
                                 DomainShareOptions const& options) {
  DomainShare share;
  bool const asked = options.samples || options.decide_above;
  if (subject.limits_findings()) {
    share.skipped = "plausibility.at_least leaves inputs out, of which no sample is taken";
    return share;
  }
  std::int64_t samples = options.samples.value_or(quick_samples(subject));
  if (!asked && is_command(config.model)) {
    share.skipped = "the model is a program, which answers slowly; --samples N asks it";
    return share;
  }
  if (samples == 0) {
    share.skipped = "the model is too large for a quick sample; --samples N takes one";
    return share;
  }
  Execution const execution = on_cpu(options.execution, subject);
  auto lists = region_lists(subject, {});
  double const groups = group_count(lists);
  RunConfig quick = config;  // without what ends or writes a run
  quick.budget = {};
  quick.output.dir.clear();
  quick.plausibility = {};  // a weight leaves nothing out
  EstimateOptions estimating;
  estimating.execution = execution;
  estimating.stop = options.stop;
  bool const goes_on = options.decide_above && !options.samples;
  bool const is_timed = options.seconds && options.samples;
  for (int look = 1;; ++look, samples *= kGrowth) {
    // Looks that may each be the last share what may be missed: 1/2 + 1/4 + ... of it.
    double const missed = goes_on ? (1.0 - kConfidence) / (1 << look) : 1.0 - kConfidence;
    estimating.samples = samples;
    Sampled sampled;
    try {
      if (groups <= static_cast<double>(samples))
        return count_all(config, subject, std::move(lists), execution);
      if (is_timed)
        sampled.share = timed_sample(quick, estimating, samples, *options.seconds);
      else
        sampled = sample(quick, estimating, 1.0 - missed);
    } catch (Error const&) {
      if (options.stop == nullptr || !options.stop->load()) throw;
      // The search is done: its results are worth more than the share.
      if (look == 1) share.skipped = "the sample was interrupted";
      return share;
    }
    share = sampled.share;
    if (share.groups == 0) {
      share.skipped = fmt::format("constraints exclude all {} inputs that were drawn", share.drawn);
      return share;
    }
    if (!goes_on || look == kLooks) return share;
    double const above = *options.decide_above;
    bool const decided = share.low > above || share.high <= above;
    // More samples would not tell what the undefined outputs are.
    bool const is_hopeless = sampled.known_high <= above && sampled.possible_low > above;
    if (decided || is_hopeless) return share;
  }
}

Execution on_cpu(Execution execution, TestSubject const& subject) {
  if (!execution.backend.starts_with("cpu")) execution.backend = "cpu";
  if (auto const& scorer = subject.model().scorer())
    execution.model.make = [scorer] { return scorer; };
  return execution;
}

RunConfig in_folder(RunConfig config, std::string const& folder) {
  config.budget = {};
  config.output = {};
  config.output.dir = folder;
  config.output.report = false;
  return config;
}

Json count_domain(RunConfig const& config, Execution const& execution, std::string const& folder,
                  std::atomic<bool> const* stop) {
  EnumerateOptions options;
  options.execution = execution;
  options.execution.checkpoint = 0.0;
  options.overwrite = true;
  options.stop = stop;
  return Json::parse(enumerate(in_folder(config, folder), options));
}

DomainShare enumerated_share(Json const& summary) {
  DomainShare share;
  share.source = "count";
  share.groups = summary.at("counts").at("groups").get<std::int64_t>();
  share.undefined_groups = summary.at("counts").at("undefined_groups").get<std::int64_t>();
  share.share = share.low = summary.at("success_rate").get<double>();
  share.high = summary.at("success_rate_high").get<double>();
  return share;
}

std::optional<double> walk_seconds(RunConfig const& config, TestSubject const& subject,
                                   Execution const& execution) {
  if (subject.model().scorer()) return std::nullopt;
  auto lists = region_lists(subject, {});
  double const inputs = group_count(lists) * static_cast<double>(subject.variants());
  if (inputs > kMostEnumerated) return std::nullopt;
  auto const backend = make_backend(subject, on_cpu(execution, subject), config.seed, {});
  auto const walker = backend->make_walker(std::move(lists));
  GroupCounts counts(walker->plan());
  GroupCounter counter(*walker);
  std::int64_t const heads = walker->plan().get().heads;
  double const quick =
      kQuickMacs / (static_cast<double>(walker->plan().get().members) *
                    static_cast<double>(subject.model().network("walk").parameters()));
  auto const words = static_cast<std::int64_t>(quick / kHeadsPerWord);
  if (words == 0) return std::nullopt;
  std::int64_t const step = std::min(walker->chunk(), words * kHeadsPerWord);
  std::int64_t done = 0;
  Stopwatch const watch;
  while (done < heads && watch.seconds() < kPaceSeconds) {
    std::int64_t const count = std::min(step, heads - done);
    counter.count(done, count, counts, {});
    done += count;
  }
  double const all = watch.seconds() * static_cast<double>(heads) / static_cast<double>(done);
  return all / thread_count(execution);
}

}  // namespace fairlane
