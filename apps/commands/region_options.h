// The flags that say which part of a domain is counted or sampled.
#pragma once

#include <string>
#include <vector>

#include "engine/count/region.h"

namespace fairlane {

class Arguments;

/// --range, --tuple and --rows as given.
struct RegionOptions {
  std::vector<std::string> ranges;
  std::vector<std::string> tuples;
  bool rows = false;

  void add_to(Arguments& app, char const* rows_help);
  /// Throws Error(kUsage).
  Region region() const;
  /// The flags again, for a command that a person may run.
  std::string flags() const;
};

}  // namespace fairlane
