// The flags that say which part of a domain is walked or sampled.
#pragma once

#include <string>
#include <vector>

#include "engine/walk_region.h"

namespace CLI {
class App;
}

namespace fairlane {

/// --range, --tuple and --rows as given.
struct RegionOptions {
  std::vector<std::string> ranges;
  std::vector<std::string> tuples;
  bool rows = false;

  void add_to(CLI::App& app, char const* rows_help);
  /// Throws Error(kUsage).
  WalkRegion region() const;
};

}  // namespace fairlane
