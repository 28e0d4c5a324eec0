// Inputs that are no longer those that a manifest records.
#pragma once

#include <string>
#include <vector>

#include "engine/results/manifest.h"

namespace fairlane {

/// A file with another SHA-256 than the recorded one.
struct ChangedInput {
  std::string path;
  std::string recorded;
  std::string found;
  /// "PATH has SHA-256 ..., but the manifest records ...".
  std::string text() const;
};

/// Model, data, domain and seeds of a recorded run that have changed since. Throws Error(kNoInput).
std::vector<ChangedInput> changed_inputs(RecordedRun const& run);

}  // namespace fairlane
