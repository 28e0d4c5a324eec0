// Proves the leaves of a certificate again.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "engine/verify/box_domain.h"

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
  /// Whether no group of a box has members with the labels `first` and `second` (of one output: 0
  /// and 0 stand for both labels), for variants that have to be compared. box: not empty
  virtual LeafOutcome prove(GroupBox const& box, std::span<int const> variants, int first,
                            int second) = 0;

 protected:
  bool is_stopped() const { return stop_ != nullptr && stop_->load(); }

 private:
  std::atomic<bool> const* stop_ = nullptr;
};

}  // namespace fairlane
