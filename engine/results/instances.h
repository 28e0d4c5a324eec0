// The instances of a run: from what a search has found to files.
#pragma once

#include <optional>
#include <string>

#include "engine/config/run_config.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"
#include "engine/results/table_models.h"
#include "engine/subject/subject.h"
#include "kernels/backend.h"

namespace fairlane {

/// What is known of the instances once they are written.
/// signature  SHA-256 of one record per instance, little-endian: with all columns the row as int32
///            [attributes], variant of the pair as int32, finder as uint64; with fewer the row of
///            instances.npy without votes
/// severity_mean, severity_max   where scores are among the columns
struct InstanceTotals {
  std::string signature;
  std::optional<double> severity_mean;
  std::optional<double> severity_max;
};
/// Writes the instances in canonical order in the configured format, and instances.json. What the
/// search has not kept of their columns is computed as they are written.
/// models: of the table, as the configuration asks for
/// Throws Error(kDisk | kBug | kUnavailable).
InstanceTotals write_instances(RunConfig const& config, TestSubject const& subject,
                               Findings const& findings, Backend& backend,
                               TableModels const& models, OutputDir& out);

}  // namespace fairlane
