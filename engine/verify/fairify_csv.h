// The table that Fairify's program writes, for programs that read it.
#pragma once

#include <string>

#include "engine/verify/verify_report.h"

namespace fairlane {

/// fairify.csv: a line for every cell with Fairify's columns. Partitions are numbered from 1 in the
/// order of cells.csv, and the counts are running ones, as there. What has no counterpart here
/// (heuristics, pruning, times of a partition) is 0, accuracies are "-".
/// Source: Biswas and Rajan, Fairify, ICSE 2023, src/*/Verify-*.py.
std::string fairify_csv(VerifyReport const& report);

}  // namespace fairlane
