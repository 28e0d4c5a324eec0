// Bounds of the output over boxes of groups, a box a lane.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "engine/verify/box_domain.h"
#include "kernels/boxes/box_network.h"

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
  std::vector<double> gaps;  // [inputs] as find_gaps() has them; empty: not asked for

  /// Where a sum may overflow, lines mean nothing.
  bool has_lines() const { return std::isfinite(least) && std::isfinite(most); }
};

/// The lanes of one set of kernels; one thread's.
class LaneBounds {
 public:
  /// All outlive it.
  LaneBounds(BoxDomain const& domain, BoundNetwork const& network, BoxKernels const& kernels);

  /// Makes a box of groups, with some variants, a lane's; its sums may be anything.
  void load(int lane, std::span<AxisRange const> box, std::span<int const> variants);
  /// The same, with what is known of its sums.
  void load_inputs(int lane, std::span<AxisRange const> box, std::span<int const> variants);
  /// The output is that of a pair of classes from now on.
  void compare_classes(int pair) { network_ = &all_.get(pair); }
  void bound() { kernels_.bound(*network_, memory_.get()); }
  void narrow(double threshold) { kernels_.narrow(*network_, threshold, memory_.get()); }
  /// After bound().
  OutputLines read(int lane);
  BoxMemory& memory() { return memory_; }
  BoxNetwork const& network() const { return *network_; }

 private:
  BoxDomain const& domain_;
  BoundNetwork const& all_;
  BoxNetwork const* network_;
  BoxKernels const& kernels_;
  BoxMemory memory_;
  std::vector<Interval> inputs_;
};

}  // namespace fairlane
