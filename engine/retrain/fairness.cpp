#include "engine/retrain/fairness.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/count/domain_share.h"
#include "engine/results/run.h"

namespace fairlane {
namespace {

constexpr std::int64_t kCandidateSamples = 20'000;
constexpr std::int64_t kReportSamples = 100'000;

DomainShare sampled(RunConfig const& config, TestSubject const& subject, std::int64_t samples,
                    FairnessOptions const& options) {
  DomainShareOptions sampling;
  sampling.execution = options.execution;
  sampling.samples = samples;
  sampling.stop = options.stop;
  DomainShare share = measure_domain_share(config, subject, sampling);
  if (!share.skipped.empty()) {
    throw Error(ExitCode::kUnavailable,
                escaped(config.domain) + ": the share of IDIs cannot be told: " + share.skipped);
  }
  return share;
}

DomainShare counted(RunConfig const& config, FairnessOptions const& options, Json& json) {
  Json const counted =
      count_domain(config, options.execution, options.folder + "/count", options.stop);
  if (counted.contains("subsets")) {
    for (auto const& subset : counted.at("subsets"))
      json["subsets"].push_back(
          {{"protected", subset.at("protected")}, {"share", subset.at("rate")}});
  }
  return enumerated_share(counted);
}

}  // namespace

bool counts_domain(RunConfig const& config, TestSubject const& subject,
                   Execution const& execution) {
  auto const seconds = walk_seconds(config, subject, execution);
  return seconds && *seconds <= config.retrain.count_seconds;
}

DomainShare sample_share(RunConfig const& config, TestSubject const& subject,
                         FairnessOptions const& options) {
  return sampled(config, subject, kCandidateSamples, options);
}

Fairness measure_fairness(RunConfig const& config, bool counts, FairnessOptions const& options) {
  Fairness fairness;
  TestSubject const subject(config, options.execution.model);
  fairness.joint = counts ? counted(config, options, fairness.json)
                          : sampled(config, subject, kReportSamples, options);
  fairness.json["joint"] = domain_share_json(fairness.joint);
  Json others = Json::array();
  for (std::int32_t a = 0; a < subject.domain().size(); ++a) {
    Attribute const& attribute = subject.domain().attributes[static_cast<std::size_t>(a)];
    bool const is_tested = std::ranges::count(subject.selected(), a) > 0;
    if (!attribute.is_protected || is_tested || attribute.code_count() < 2) continue;
    RunConfig own = config;
    own.protected_attributes = {{attribute.name, {}}};
    TestSubject const alone(own, options.execution.model);
    others.push_back({{"protected", Json::array({attribute.name})},
                      {"share", domain_share_json(sampled(own, alone, kReportSamples, options))}});
  }
  fairness.json["others"] = std::move(others);
  fairness.json["margin"] = nullptr;
  if (config.retrain.check_evaluations > 0 && subject.can_move()) {
    RunConfig searching = in_folder(config, options.folder + "/margin");
    searching.method = "margin";
    searching.budget.evaluations = config.retrain.check_evaluations;
    searching.output.format = OutputFormat::kNone;
    searching.output.words = false;
    searching.output.plausibility = false;
    RunOptions run_options;
    run_options.execution = options.execution;
    run_options.overwrite = true;
    run_options.search.stop = options.stop;
    Summary const summary = run(searching, run_options);
    fairness.json["margin"] = {{"evaluations", summary.search.model_evaluations},
                               {"unique_groups", summary.found.unique_groups},
                               {"unique_instances", summary.found.unique_instances}};
  }
  return fairness;
}

}  // namespace fairlane
