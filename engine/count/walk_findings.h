// The IDIs that a walk has found, all of them or a sample.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/count/enumerate.h"
#include "engine/job/checkpoint.h"
#include "engine/record/record_sorter.h"
#include "kernels/backend.h"

namespace fairlane {

/// An IDI of a walk. order: by which samples are drawn, the least first
struct WalkInstance {
  std::uint64_t order = 0;
  std::int64_t group = 0;
  std::int32_t variant = 0;
  std::int32_t unused = 0;  // no padding: instances are saved as bytes
  friend auto operator<=>(WalkInstance const&, WalkInstance const&) = default;
};

/// What a part of a walk has found.
/// groups  discriminatory ones, where all IDIs are wanted
/// drawn   where a sample is
struct WalkFound {
  std::vector<std::int64_t> groups;
  std::vector<WalkInstance> drawn;
};

/// What a walk has found, in memory up to a limit: where all IDIs are wanted their groups, beyond
/// the limit in sorted temporary files; where a sample is, those drawn so far.
class WalkFindings {
 public:
  /// dir           where temporary files go when memory_limit is exceeded; created when needed
  /// memory_limit  bytes of the groups
  struct Keeping {
    std::string dir;
    std::uint64_t memory_limit = UINT64_MAX;
    int threads = 1;
  };
  WalkFindings(Backend& backend, WalkPlan const& plan, WantedInstances wanted, std::uint64_t seed,
               Keeping keeping);
  bool wanted() const { return wanted_.any(); }
  /// Takes discriminatory groups. One thread at a time. Throws Error(kMemory | kDisk).
  void add(std::vector<std::int64_t> const& groups);
  /// Takes what another walk of the same enumeration has found.
  void add(WalkFound const& found);
  /// Takes an IDI that another enumeration has written.
  void add_written(std::int64_t group, std::int32_t variant);
  /// Hands over what there is; nothing is left.
  WalkFound release();

  /// Of a walk that goes on in another process.
  void save(CheckpointWriter& state);
  void restore(CheckpointReader const& state);

  /// After the last of them.
  void finish();
  /// Calls take(instances) with those that are wanted and are IDIs, some thousand at once, those of
  /// a group together where all are wanted. After finish().
  using Take = std::function<void(std::span<WalkInstance const> instances)>;
  void for_each(Take const& take);

 private:
  void begin();
  void add_groups(std::int64_t const* groups, std::size_t count);
  /// By which an IDI is drawn.
  std::uint64_t order_of(std::int64_t group, std::int32_t variant) const;
  void prune();
  void drop_undefined(std::vector<WalkInstance>& instances, std::size_t from);

  Backend& backend_;
  WalkPlan const& plan_;
  WantedInstances wanted_;
  std::uint64_t seed_;
  Keeping keeping_;
  std::optional<RecordSorter> groups_;  // where all are wanted
  std::vector<WalkInstance> drawn_;
  std::size_t checked_ = 0;  // of them known to have a defined label
};

}  // namespace fairlane
