// What a run writes: manifest.json, instances, global.csv, summary.json.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "engine/config/run_config.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"
#include "engine/search/search.h"
#include "engine/search/symbolic/path_coverage.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// manifest.json: version, configuration as resolved (every key), SHA-256 of every input, seed,
/// arithmetic; no times, no hardware. Paths are relative to the output directory. `cut` is recorded
/// when a budget of seconds ended the run. sections: names and JSON texts of what another command
/// than `run` adds.
std::string manifest_json(RunConfig const& config, TestSubject const& subject, Cut const& cut,
                          std::vector<std::pair<std::string, std::string>> const& sections = {});
/// The configuration that a finished directory's manifest records (paths resolved), and the digests
/// of its inputs. Throws Error(kNoInput | kData).
struct RecordedRun {
  std::string command = "run";  // that wrote it
  RunConfig config;
  Cut cut;
  std::string model_sha256;
  std::string data_sha256;
  std::string domain_sha256;
  std::string seeds_sha256;
};
RecordedRun read_manifest(std::string const& dir);

/// Which share of the domain's inputs are IDIs. Where outputs are undefined it is a range even
/// where all inputs were evaluated: low takes them as fair, high as discriminatory.
/// source      "sample"; "count" and "enumeration": of all inputs
/// confidence  with which the share lies in [low, high]
/// groups      evaluated, and those of them that discriminate only if an undefined output does
/// skipped     why there is no share; empty where there is one
struct DomainShare {
  std::string source;
  double share = 0.0;
  double low = 0.0;
  double high = 1.0;
  double confidence = 1.0;
  std::int64_t groups = 0;
  std::int64_t undefined_groups = 0;
  std::string skipped;
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
  double success_rate = 0.0;  // unique IDIs / unique inputs generated
  double evaluations_per_instance = 0.0;
  double severity_mean = 0.0;  // over the unique IDIs
  double severity_max = 0.0;
  std::string signature;  // SHA-256 of the canonical records
  double cluster_seconds = 0.0;
  double search_seconds = 0.0;
  double sample_seconds = 0.0;  // for domain_share
  double write_seconds = 0.0;
  double total_seconds = 0.0;
  std::optional<DomainShare> domain_share;
  std::optional<double> agreement;  // share of the data's rows whose label the model gives
  std::int64_t all_instances = -1;  // of the domain, where an enumeration is at hand; else -1
  std::int64_t all_groups = -1;
  std::optional<PathCoverage> path_coverage;
  std::string cut;  // the budget that ended the run, or empty
};
std::string summary_json(Summary const& summary);

/// Writes the instances in canonical order in the configured format, filling signature and
/// severities of `summary`. Scores are computed as rows are written. Formats: instances.csv; or
/// instances.npy, int32 [instances][columns], scores.npy, float32 [instances][score, pair_score],
/// and instances.columns.json naming the columns of the first. The signature is the SHA-256 of one
/// record per instance: row as int32 [attributes], variant of the pair as int32, finder as uint64,
/// little-endian. Throws Error(kDisk | kBug).
void write_instances(RunConfig const& config, TestSubject const& subject, Findings const& findings,
                     Backend& backend, OutputDir& out, Summary& summary);

/// Who found an instance, as its row says: the searches' phases, or a walk over all (kFoundByWalk).
inline constexpr std::array<std::string_view, 3> kFinderPhases = {"global", "local", "walk"};
inline std::size_t finder_phase(std::uint64_t finder) {
  if (finder == kFoundByWalk) return 2;
  return Finder::phase(finder) == Phase::kGlobal ? 0 : 1;
}

/// The method that an enumeration's summary.json names.
inline std::string const kWalkMethod = "enumerate";

/// A cell of a CSV file, quoted where RFC 4180 asks for it.
std::string csv_cell(std::string const& text);

/// Names of the columns of instances.csv, in order. An attribute may have the name of another of
/// them, such as score: their order says which is which.
/// selected  [selected] the protected attributes, ascending
std::vector<std::string> instance_columns(Domain const& domain,
                                          std::span<std::int32_t const> selected);
std::vector<std::string> instance_columns(TestSubject const& subject);

/// global.csv: method,seed,found,iterations,<attributes>.
void write_trace(RunConfig const& config, TestSubject const& subject, SearchResult const& result,
                 OutputDir& out);

}  // namespace fairlane
