// Bounds of the output over boxes of groups, a box a lane.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "kernels/backend.h"

namespace fairlane {

/// Lines of an output in the inputs, and its bounds. Inputs of attributes under test count among
/// the constants: a line of another variant has other values in their place.
/// below, above  [inputs] coefficients of what the output is never below and never above
struct OutputLines {
  double least = 0.0;
  double most = 0.0;
  double below_constant = 0.0;
  double above_constant = 0.0;
  std::vector<double> below;
  std::vector<double> above;
  std::vector<double> gaps;  // [inputs] as LineGaps has them; empty: not asked for

  /// Where a sum may overflow, lines mean nothing.
  bool has_lines() const { return std::isfinite(least) && std::isfinite(most); }
};

/// A batch of boxes; one thread's.
class LaneBounds {
 public:
  /// All outlive it.
  LaneBounds(BoxDomain const& domain, BoundNetwork const& network, Backend& backend);

  /// Makes a box of groups, with some variants, a lane's; its sums may be anything.
  void load(int lane, std::span<AxisRange const> box, std::span<int const> variants);
  /// The same, with what is known of its sums.
  void load_inputs(int lane, std::span<AxisRange const> box, std::span<int const> variants);
  /// After bound(), as BoxMemory has it. spread  [inputs]; of attributes under test nothing is read
  void ask_for_most(int lane, std::span<InputSpread const> spread, double level, int halvings);
  /// The output is that of a pair of classes from now on.
  void compare_classes(int pair) { pair_ = pair; }
  /// Of the first `count` lanes.
  void bound(std::size_t count) { batch_->bound(pair_, static_cast<int>(count)); }
  void narrow(double threshold, std::size_t count) {
    batch_->narrow(pair_, threshold, static_cast<int>(count));
  }
  /// After bound().
  OutputLines read(int lane);
  BoxMemory& memory() { return batch_->memory(); }
  std::size_t lanes() const { return static_cast<std::size_t>(batch_->memory().lanes()); }
  BoxNetwork const& network() const { return networks_.get(pair_); }

 private:
  BoxDomain const& domain_;
  BoundNetwork const& networks_;
  int pair_ = 0;
  std::unique_ptr<BoxBatch> batch_;
  std::vector<Interval> inputs_;
};

}  // namespace fairlane
