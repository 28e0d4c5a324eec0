// A walk by several threads that can be interrupted: what `enumerate` does between reading its
// input and writing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/count/enumerate.h"
#include "engine/job/job.h"

namespace fairlane {

/// An IDI of a walk. order: by which samples are drawn, the least first
struct WalkInstance {
  std::uint64_t order = 0;
  std::int64_t group = 0;
  std::int32_t variant = 0;
  std::int32_t unused = 0;  // no padding: instances are saved as bytes
  friend auto operator<=>(WalkInstance const&, WalkInstance const&) = default;
};

/// What a walk has found. instances: in no order before finish(); a sample, or all
class WalkFindings {
 public:
  WalkFindings(Backend& backend, WalkPlan const& plan, WantedInstances wanted, std::uint64_t seed);
  bool wanted() const { return wanted_.any(); }
  /// Takes discriminatory groups. One thread at a time. Throws Error(kMemory).
  void add(std::vector<std::int64_t> const& groups);
  void add_one(WalkInstance const& instance) { instances_.push_back(instance); }
  /// Leaves those that are wanted and are IDIs.
  void finish();
  std::vector<WalkInstance> const& instances() const { return instances_; }
  /// By which an IDI is drawn.
  std::uint64_t order_of(std::int64_t group, std::int32_t variant) const;

 private:
  void prune();
  void drop_undefined(std::size_t from);

  Backend& backend_;
  WalkPlan const& plan_;
  WantedInstances wanted_;
  std::uint64_t seed_;
  std::size_t checked_ = 0;  // instances known to have a defined label
  std::vector<WalkInstance> instances_;
};

/// Walks groups [begin, end), multiples of the plan's groups per head, from the saved state on
/// where there is one. view: the walker's subject. Throws Error(kStopped | kConfig | kMemory).
void walk_groups(Walker& walker, SubjectView const& view, std::int64_t begin, std::int64_t end,
                 int threads, EnumerateOptions const& options, StateFile const& state,
                 GroupCounts& counts, WalkFindings& findings);

}  // namespace fairlane
