// estimate: shares of a domain too large to be counted, from uniform samples, with intervals that hold.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/binomial_interval.h"
#include "engine/run_config.h"
#include "engine/walk_region.h"

namespace fairlane {

/// region            what is sampled; with rows, the data's rows are all evaluated instead
/// error, confidence sampling goes on until the IDIs' share is known to +- error with that confidence
/// samples           this many inputs instead of as many as error asks for
/// trials            beside it, the mean over so many trials of `samples` each, as in the papers
/// most_samples      where sampling ends in any case
/// search_above      look for the smallest sets of attributes whose causal score exceeds this share
/// largest_set       attributes in such a set, at most
struct EstimateOptions {
  Execution execution;
  WalkRegion region;
  double error = 0.001;
  double confidence = 0.95;
  std::optional<std::int64_t> samples;
  std::int64_t trials = 0;
  std::int64_t most_samples = std::int64_t{1} << 32;
  std::optional<double> search_above;
  int largest_set = 3;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(std::string const&)> notice;
};

/// Samples the configured subject and returns a JSON text: see walk_summary_json for the counts over the samples, and
///   causal_score     THEMIS: share of groups that discriminate; share, low, high
///   success_rate     AEQUITAS: share of inputs that are IDIs; share, low, high
///   group_score      THEMIS: largest difference of a positive rate between protected combinations
///   trials           mean and half width of the trials' shares, where asked for
///   sets             the smallest sets that discriminate, where asked for
/// Source: Galhotra, Brun and Meliou, ESEC/FSE 2017 (THEMIS); Udeshi, Arora and Chattopadhyay, ASE 2018 (AEQUITAS).
/// Throws Error.
std::string estimate(RunConfig const& config, EstimateOptions const& options);

}  // namespace fairlane
