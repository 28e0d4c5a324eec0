// Bounds of a network over a box of inputs, for the certificate's checker alone:
// nothing of it is shared with what found the proofs (kernels/boxes).
//
// What the contract's float32 chain gives for a sum is z = w a + b + e, where a are the float32
// values that enter and n their number: |e| <= E = g (|b| + sum |w| |a|) + n 2^-148, with
// g = n 2^-24 (1 + 2^-4), whatever the order (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., section 3.1: n roundings of 2^-24 each, n below 2^16; an underflow moves a
// rounding by at most 2^-150). A sum for which that is not far below the greatest float32 is not
// bounded at all.
// Everything else is a linear combination of such sums. It is computed in double and widened by a
// multiple of 2^-53 of the magnitudes that it was added up from, at least the number of roundings.
// Source: Singh et al., An abstract domain for certifying neural networks (DeepPoly), POPL 2019,
// for the lines; Kotha et al., INVPROP, NeurIPS 2023, for narrowing from the output.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/recheck/smooth_enclosure.h"
#include "models/network.h"

namespace fairlane {

/// A form in the inputs that the output is never above, or never below.
struct CheckedLine {
  std::vector<double> slopes;  // [inputs]
  double constant = 0.0;
};

/// Ends of every value of a vector.
struct CheckedRange {
  std::vector<double> low;
  std::vector<double> high;
};

/// What is known of a network whose inputs lie in a box.
/// sums      [layers] of every layer's sums; narrowed by who knows more
/// errors    [layers][outputs] E
/// possible  no contradiction was found
/// finite    all sums are bounded
struct CheckedBox {
  CheckedRange inputs;
  std::vector<CheckedRange> sums;
  std::vector<std::vector<double>> errors;
  bool possible = true;
  bool finite = true;
};

/// One thread's network with one output at a time: the only one, or how much one class has more than another.
class CheckedNetwork {
 public:
  /// Whether a hidden layer's activation is one whose sums can be bounded.
  static bool takes(DenseLayer const& layer);

  explicit CheckedNetwork(Network const& network);

  /// The output is that of class `second` less that of `first`; of one output alone, that one.
  void compare(int first, int second);

  std::size_t layers() const { return layers_.size(); }
  /// A box about whose sums nothing is known yet.
  CheckedBox box_of(CheckedRange inputs) const;
  /// Bounds all sums of a box, by intervals and by lines.
  void bound(CheckedBox& box) const;
  /// The output's line from above, or from below. After bound(), which found all finite.
  CheckedLine line(CheckedBox const& box, bool above) const;
  /// Narrows sums and inputs to what the bounds of other sums leave, from the output to the inputs.
  void narrow(CheckedBox& box) const;

  /// A hidden unit with both signs, the one whose relaxation costs most; layer -1: none.
  struct Unit {
    int layer = -1;
    std::size_t unit = 0;
    double cost = 0.0;
  };
  Unit widest_unit(CheckedBox const& box) const;

 private:
  /// weights, magnitudes  [outputs][inputs]
  /// activation           linear for all of straight pieces, which have a slope below zero
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::vector<double> weights;
    std::vector<double> magnitudes;
    std::vector<double> bias;
    std::vector<double> bias_magnitudes;
    double slope = 0.0;
    Activation activation = Activation::kLinear;
    double alpha = 0.0;
  };
  /// Lines that enclose an activation over a sum's range, in float32.
  struct Enclosure {
    double below_slope = 0.0;
    double below_offset = 0.0;
    double above_slope = 0.0;
    double above_offset = 0.0;
  };
  Enclosure enclose(std::size_t layer, std::size_t unit, double low, double high) const;
  /// Of a smooth activation; the last one of each unit is kept.
  SmoothEnclosure const& smooth(std::size_t layer, std::size_t unit, double low, double high) const;
  CheckedRange entering(CheckedBox const& box, std::size_t layer) const;
  /// A form that a combination [outputs] of a layer's sums is never above.
  CheckedLine above(CheckedBox const& box, std::size_t layer,
                    std::vector<double> combination) const;

  struct KeptEnclosure {
    double low = 1.0;
    double high = 0.0;
    SmoothEnclosure lines;
  };

  Network const& network_;
  std::vector<Layer> layers_;                             // the last one has the one output
  mutable std::vector<std::vector<KeptEnclosure>> kept_;  // [layers][outputs]
};

/// The greatest value of a line over ranges of the inputs, rounded up.
double most_of(CheckedLine const& line, CheckedRange const& inputs);

}  // namespace fairlane
