// estimate: shares of a domain too large to be counted, from uniform samples, with intervals that
// hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/config/run_config.h"
#include "engine/count/region.h"
#include "engine/job/checkpoint.h"

namespace fairlane {

/// How far an estimate has come.
/// known_to     half width of the interval at the last look, 1 before the first
/// what         is done in parts, such as "trial"; empty while samples are taken
/// part, parts  of these
struct EstimateProgress {
  std::int64_t samples = 0;
  double seconds = 0.0;
  double known_to = 1.0;
  char const* what = "";
  std::int64_t part = 0;
  std::int64_t parts = 0;
};

/// region            what is sampled; with rows, the data's rows are all evaluated instead
/// error, confidence sampling goes on until the IDIs' share is known to +- error with that
/// confidence
/// samples           this many inputs instead of as many as error asks for
/// trials            beside it, the mean over so many trials of `samples` each, as in the papers
/// most_samples      where sampling ends in any case
/// search_above      look for the smallest sets of attributes whose causal score exceeds this share
/// largest_set       attributes in such a set, at most
/// out               output directory, in which the state is saved; empty: nothing is written
/// overwrite         replace other results there
/// enumeration       command that counts the same groups, which is told where it takes no longer
/// passed, now       of the estimate and of the saved states, in place of the time that passes; for
///                   tests
/// progress          called by any thread, one at a time
struct EstimateOptions {
  Execution execution;
  Region region;
  double error = 0.001;
  double confidence = 0.95;
  std::optional<std::int64_t> samples;
  std::int64_t trials = 0;
  std::int64_t most_samples = std::int64_t{1} << 32;
  std::optional<double> search_above;
  int largest_set = 3;
  std::string out;
  bool overwrite = false;
  std::string enumeration = "fairlane enumerate";
  std::function<double()> passed;
  CheckpointClock::Now now;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(EstimateProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Samples the configured subject and returns a JSON text, which is also written where there is an
/// output directory (estimate.json): see enumeration_summary_json for the counts over the samples,
/// and
///   causal_score     THEMIS: share of groups that discriminate; share, low, high
///   success_rate     AEQUITAS: share of inputs that are IDIs; share, low, high
///   group_score      THEMIS: largest difference of a positive rate between protected combinations
///                    Where outputs are undefined, share and low take them as fair, high as not.
///   trials           mean and half width of the trials' shares, where asked for
///   sets             the smallest sets that discriminate, where asked for
///   budget           "seconds" where they ended it, with intervals of what was sampled by then
/// Source: Galhotra, Brun and Meliou, ESEC/FSE 2017 (THEMIS); Udeshi, Arora and Chattopadhyay, ASE
/// 2018 (AEQUITAS).
/// Throws Error; kStopped where the same estimate can go on from the saved state.
std::string estimate(RunConfig const& config, EstimateOptions const& options);

}  // namespace fairlane
