// One run from configuration to output directory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/config/run_config.h"
#include "engine/results/summary.h"
#include "engine/search/search.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// Loads, searches, writes. Returns the summary, on other ranks than the first an empty one; throws
/// Error.
/// options.stop and options.progress as in search().
struct RunOptions {
  Execution execution;
  SearchOptions search;
  /// In place of the backend that `execution` names; for tests.
  std::function<std::unique_ptr<Backend>(TestSubject const&, VisitSink overflow)> backend;
  CheckpointClock::Now now;  // time for the distance of saved states; for tests
  std::string against;       // results of `enumerate`: report the share of all IDIs that was found
  bool overwrite = false;    // replace results of another manifest
  /// Measures the share of the domain after the search, unless `against` knows it; empty: nobody
  /// does.
  std::function<DomainShare(RunConfig const&, TestSubject const&)> domain_share;
  /// Measures how long an enumeration takes at most, where little was found; empty: nobody does.
  std::function<std::optional<double>(RunConfig const&, TestSubject const&)> walk_seconds;
  bool agreement = false;                          // compare the model with the data's labels
  std::function<void(std::string const&)> notice;  // lines for people, such as the chosen backend
};
Summary run(RunConfig const& config, RunOptions const& options);

}  // namespace fairlane
