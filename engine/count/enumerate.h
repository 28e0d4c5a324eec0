// enumerate: counts every group of a domain, or of a part of it, exactly.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/run_config.h"
#include "engine/count/group_counts.h"
#include "engine/count/region.h"
#include "engine/ranks/ranks.h"

namespace fairlane {

/// Part `index` (from 1) of `count` of an enumeration's groups.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// How many of the IDIs are written: all of them, or a sample of at most so many, none by default.
struct WantedInstances {
  bool all = false;
  std::int64_t sample = 0;
  bool any() const { return all || sample > 0; }
};

/// Whether boxes of groups are skipped where it is proven that all their inputs have one label:
/// where a sample says that it saves time, nowhere, or wherever the proof succeeds. Counts are the
/// same.
enum class Skipping { kWhereFaster, kNever, kAlways };

/// How far a walk has come.
struct WalkProgress {
  std::int64_t groups = 0;
  std::int64_t total = 0;
  std::int64_t instances = 0;
  double seconds = 0.0;  // in this process
  double seconds_left = 0.0;
};

/// region             what is counted
/// merge              directories of all shards to be added up, instead of counting
/// skipping           of what is proven
/// most_seconds       one that would take longer is refused
/// ranks              share the walk, and rank 0 writes; null: there is but this process
/// dealt_at_once      heads that a rank gets at once, while rank 0 only deals; 0: chosen; for tests
/// stop               set by a signal: the state is saved and Error(kStopped) thrown
/// progress, notice   called by the calling thread
struct EnumerateOptions {
  Execution execution;
  Region region;
  Shard shard;
  WantedInstances instances;
  std::vector<std::string> merge;
  bool overwrite = false;
  Skipping skipping = Skipping::kWhereFaster;
  double most_seconds = 86400.0;
  Ranks* ranks = nullptr;
  std::int64_t dealt_at_once = 0;
  std::atomic<bool> const* stop = nullptr;
  std::function<void(WalkProgress const&)> progress;
  std::function<void(std::string const&)> notice;
};

/// Walks the configured subject's region and writes the output directory: manifest.json,
/// summary.json, values.csv, pairs.csv, and instances where wanted; a shard also counts.json, from
/// which all of them can be merged. Returns the text of summary.json, on other ranks than the first
/// nothing. Everything but `timing` is a
/// function of the manifest. Throws Error.
std::string enumerate(RunConfig const& config, EnumerateOptions const& options);

}  // namespace fairlane
