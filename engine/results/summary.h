// summary.json: the counts and figures of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/config/run_config.h"
#include "engine/record/findings.h"
#include "engine/search/search.h"
#include "engine/search/symbolic/path_coverage.h"

namespace fairlane {

/// Which share of the domain's inputs are IDIs. Where outputs are undefined it is a range even
/// where all inputs were evaluated: low takes them as fair, high as discriminatory.
/// source      "sample"; "count" and "enumeration": of all inputs
/// confidence  with which the share lies in [low, high]
/// groups      evaluated, and those of them that discriminate only if an undefined output does
/// drawn       of a sample, also those that violate constraints: as many give it again
/// skipped     why there is no share; empty where there is one
struct DomainShare {
  std::string source;
  double share = 0.0;
  double low = 0.0;
  double high = 1.0;
  double confidence = 1.0;
  std::int64_t groups = 0;
  std::int64_t undefined_groups = 0;
  std::int64_t drawn = 0;
  std::string skipped;
};

/// Inputs of a domain that `enumerate` takes at most: their numbers are 64-bit integers.
inline constexpr double kMostEnumerated = 0x1p62;

/// What a search that has found little leaves open.
/// share_at_most    of the domain's inputs that are IDIs, by the sample's interval; none: there was
///                  no sample
/// confidence       with which that holds
/// groups, inputs   of the domain: what an enumeration evaluates at most
/// seconds          that it takes at most on the CPU, where that was measured
struct LittleFound {
  std::optional<double> share_at_most;
  double confidence = 1.0;
  double groups = 0.0;
  double inputs = 0.0;
  std::optional<double> seconds;
};

/// Everything of summary.json.
struct Summary {
  std::string method;
  Arithmetic arithmetic = Arithmetic::kExact;  // that the backend used
  std::string scores;                          // what a model that is no network gives; else empty
  std::vector<std::string> protected_attributes;
  std::int64_t variants = 0;
  SearchCounts search;
  FindingCounts found;
  bool constrained = false;        // constraints exclude inputs
  std::optional<double> at_least;  // plausibility that a finding needs, in per cent
  std::optional<double> weight;    // of plausibility in local steps, where there is one
  double success_rate = 0.0;       // unique IDIs / unique inputs generated
  double evaluations_per_instance = 0.0;
  std::optional<double> severity_mean;  // over the unique IDIs; none where nothing scored them
  std::optional<double> severity_max;
  std::string signature;  // SHA-256 of the canonical records
  double cluster_seconds = 0.0;
  double search_seconds = 0.0;
  double sample_seconds = 0.0;  // for domain_share
  double write_seconds = 0.0;
  double total_seconds = 0.0;
  std::optional<DomainShare> domain_share;
  std::optional<LittleFound> little_found;
  std::optional<double> agreement;  // share of the data's rows whose label the model gives
  std::int64_t all_instances = -1;  // of the domain, where an enumeration is at hand; else -1
  std::int64_t all_groups = -1;
  std::optional<PathCoverage> path_coverage;
  std::string cut;  // the budget that ended the run, or empty
};
std::string summary_json(Summary const& summary);
/// `domain_share` of it.
Json domain_share_json(DomainShare const& found);

/// The method that an enumeration's summary.json names.
inline std::string const kEnumerateMethod = "enumerate";

}  // namespace fairlane
