// The instances of a run as files: their columns and who writes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"
#include "engine/subject/subject.h"
#include "kernels/backend.h"

namespace fairlane {

/// Who found an instance, as its row says: the searches' phases, or a walk over all (kFoundByWalk).
inline constexpr std::array<std::string_view, 3> kFinderPhases = {"global", "local", "walk"};
inline std::size_t finder_phase(std::uint64_t finder) {
  if (finder == kFoundByWalk) return 2;
  return Finder::phase(finder) == Phase::kGlobal ? 0 : 1;
}

/// Names of the columns of instances.csv, in order. An attribute may have the name of another of
/// them, such as score: their order says which is which.
/// selected  [selected] the protected attributes, ascending
std::vector<std::string> instance_columns(Domain const& domain,
                                          std::span<std::int32_t const> selected);
std::vector<std::string> instance_columns(TestSubject const& subject);

/// What is known of the instances once they are written.
/// signature  SHA-256 of one record per instance: row as int32 [attributes], variant of the pair
///            as int32, finder as uint64, little-endian
struct InstanceTotals {
  std::string signature;
  double severity_mean = 0.0;
  double severity_max = 0.0;
};
/// Writes the instances in canonical order in the configured format. Scores are computed as rows
/// are written. Formats: instances.csv; or instances.npy, int32 [instances][columns], scores.npy,
/// float32 [instances][score, pair_score], and instances.columns.json naming the columns of the
/// first. Throws Error(kDisk | kBug).
InstanceTotals write_instances(RunConfig const& config, TestSubject const& subject,
                               Findings const& findings, Backend& backend, OutputDir& out);

}  // namespace fairlane
