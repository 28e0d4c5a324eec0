// Path coverage: which share of a model's behaviour a search's inputs have seen, in terms of a
// reference decision tree.
#pragma once

#include <cstdint>

#include "engine/record/findings.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// covered  root-to-leaf paths of the reference tree that some visited input takes
/// paths    all of them
struct PathCoverage {
  std::int64_t covered = 0;
  std::int64_t paths = 0;
};

/// Counts the paths of an unpruned tree, fitted to the model's labels of the table (uniform inputs
/// where there is none), that the visits before `cut` take. Before findings.collect(). Throws
/// Error.
/// Source: Aggarwal et al., "Black box fairness testing of machine learning models", FSE 2019,
/// which compares SG with random testing so.
PathCoverage path_coverage(TestSubject const& subject, std::uint64_t run_seed, Backend& backend,
                           Findings& findings, std::uint64_t cut);

}  // namespace fairlane
