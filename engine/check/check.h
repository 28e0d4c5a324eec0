// Independent verification of an output directory: every reported pair is evaluated again, a
// network's in double precision, any other model's by asking it anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/subject/subject.h"

namespace fairlane {

/// Outcome of a check.
struct CheckResult {
  static constexpr std::size_t kListed = 20;  // failures and marginal pairs named
  /// Notes a failure.
  void fail(std::string const& text) {
    ++failed;
    if (failures.size() < kListed) failures.push_back(text);
  }

  std::int64_t instances = 0;  // rows read
  std::int64_t confirmed =
      0;  // labels of both members hold and differ, beyond the float32 error bound
  std::int64_t marginal = 0;   // a member lies within the error bound of the decision boundary
  std::int64_t undefined = 0;  // the output of a member of the pair is not finite, or may not be
  std::int64_t failed = 0;     // pairs, and numbers of the summary, that do not hold
  std::int64_t contradictions = 0;  // of these, the numbers of the summary
  std::int64_t failed_pairs() const { return failed - contradictions; }
  std::int64_t run_inputs = 0;         // that the run evaluated, as its summary says,
  std::int64_t run_undefined = 0;      // and those of them without a finite output
  std::string unchecked;               // why nothing could be verified; empty where something was
  bool asked_again = false;            // a model that is no network, for scores anew
  std::vector<std::string> failures;   // the first, one line each: file:line, what
  std::vector<std::string> marginals;  // the first
};

/// Reads manifest.json, summary.json, instances.csv (or npy) of a finished directory, the model and
/// the domain that the manifest names, and re-evaluates each pair with a plain double-precision
/// evaluator that shares no code with the lane core (a model that is no network: by asking it).
/// Also verified: SHA-256 of the inputs, order, distinctness, domain bounds, that the pair differs
/// in protected values alone and is the first such member, and the counts of the summary. Throws
/// Error(kNoInput | kData | kOutput | kIntegrity).
CheckResult check_directory(std::string const& dir, ModelOptions const& options = {});

/// Throws Error(kNoInput | kOutput) where a directory is not that of a finished run.
void check_finished(std::string const& dir);

}  // namespace fairlane
