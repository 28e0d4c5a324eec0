// The IDIs that a walk has found, all of them or a sample.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "engine/count/enumerate.h"
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
  /// As at the beginning.
  void clear() {
    instances_.clear();
    checked_ = 0;
  }
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

}  // namespace fairlane
