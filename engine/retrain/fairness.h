// How fair a model is, as retraining tells it of the model before and after.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/results/summary.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// What is measured.
/// joint      the share of the domain's inputs that are IDIs, all attributes under test together
/// json       joint, `subsets`: of some of the attributes under test where the domain was counted,
///            `others`: of each other attribute that the domain flags, and `margin`: groups and
///            instances that it finds, and the evaluations that it took
struct Fairness {
  DomainShare joint;
  Json json;
};

/// folder    in which the measurements put what they write; it exists
/// notice    lines for people
struct FairnessOptions {
  Execution execution;
  std::string folder;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> notice;
};

/// Counts where that takes no longer than retrain.count_seconds, and samples otherwise; the same
/// way for every model of one configuration: see `counts`.
/// config  whose model is a file
Fairness measure_fairness(RunConfig const& config, bool counts, FairnessOptions const& options);

/// Whether the domain is counted: by the size of the walk over the configured model.
bool counts_domain(RunConfig const& config, TestSubject const& subject, Execution const& execution);

/// A quick sample of the joint share, for choosing among candidates.
DomainShare sample_share(RunConfig const& config, TestSubject const& subject,
                         FairnessOptions const& options);

}  // namespace fairlane
