// Proves the leaves of a certificate again.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/recheck/checked_existence.h"
#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// What became of a leaf.
enum class LeafOutcome : std::uint8_t {
  kProven,
  kUnproven,  // within the effort
  kRefuted,   // some group has members with different labels, or without any
};

/// One thread's.
class LeafProver {
 public:
  virtual ~LeafProver() = default;
  /// Ends a proof on its way, where it becomes true; its leaf is unproven then.
  void stop_at(std::atomic<bool> const* stop) { stop_ = stop; }
  /// Leaves out members that do not exist; it outlives this.
  void honour(CheckedExistence const& existence) { existence_ = &existence; }
  /// Whether no group of a box has members with the labels `first` and `second` (of one output: 0
  /// and 0 stand for both labels), for variants that have to be compared. box: not empty
  virtual LeafOutcome prove(GroupBox const& box, std::span<int const> variants, int first,
                            int second) = 0;
  /// The same of a box that is said to have been evaluated, and has few enough groups.
  virtual LeafOutcome prove_evaluated(GroupBox const& box, std::span<int const> variants, int first,
                                      int second) {
    return prove(box, variants, first, second);
  }

 protected:
  /// Whether some members of groups do not exist.
  bool is_constrained() const { return existence_ != nullptr && existence_->constrained(); }
  /// Those of some variants with which somebody may exist in a box.
  std::vector<int> existing(GroupBox const& box, std::span<int const> variants) const {
    if (is_constrained()) return existence_->possible(box, variants);
    return {variants.begin(), variants.end()};
  }
  /// Null where all members exist.
  CheckedExistence const* existence() const { return is_constrained() ? existence_ : nullptr; }
  bool is_stopped() const { return stop_ != nullptr && stop_->load(); }

 private:
  std::atomic<bool> const* stop_ = nullptr;
  CheckedExistence const* existence_ = nullptr;
};

}  // namespace fairlane
