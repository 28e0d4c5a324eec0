// Proofs about all inputs of a box: bounds that hold for the float32 results of the lane core, not
// for real numbers.
//
// What is proven, and why. Let z be what the core computes for a layer and a the float32 values
// that enter it. The fma chain rounds once per input, so z = W a + b + e in real numbers with
//     |e| <= E = n (2^-24 M + 2^-149) (1 + 1/50),    M = |b| + sum |W| A,    A >= |a|,    n inputs,
// whatever the order of the inputs: a partial sum is below M (1 + n 2^-24), a rounding moves it by
// at most 2^-24 of that or, where it is subnormal, by 2^-150. M below kLargest proves that no
// partial sum overflows, so every value is finite. For an activation, lines enclose the float32
// result (kernels/boxes/relaxation.h). Thus a combination c of a layer's sums is at least
//     c (W a + b) - |c| E,
// and with the lines in the place of a, by the signs of c W, at least a combination of the sums one
// layer before; the same down to the input, where the box gives the least value. All quantities are
// those of the actual float32 computation, so no error has to be carried from layer to layer.
// The combinations are computed in double. A product or sum that is rounded there moves c W a by at
// most 2^-53 of |c| |W| A <= |c| M; there are fewer than kMostInputs of them for each sum, and E's
// spare fiftieth is more than all of that together. Constants are summed up with their magnitudes,
// and padded by them.
// Source: Zhang et al., Efficient neural network robustness certification with general activation
// functions (CROWN), NeurIPS 2018; Singh et al., An abstract domain for certifying neural networks
// (DeepPoly), POPL 2019.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/boxes/relaxation.h"
#include "kernels/core/views.h"

namespace fairlane {

/// Multiply-adds to enclose one box, at most, by a network of these layers.
class EnclosingMacs {
 public:
  /// The next layer's, from the first on.
  void add(int inputs, int outputs);
  double get() const { return macs_; }

 private:
  double macs_ = 0.0;
  double before_ = 0.0;  // of a line's way through the layers before
};

/// A network as bounds need it.
class BoundedNetwork {
 public:
  explicit BoundedNetwork(NetworkView network);

  /// weights    [inputs][outputs]
  /// transposed [outputs][inputs]
  /// magnitudes [inputs][outputs] |weights|
  struct Layer {
    int inputs = 0;
    int outputs = 0;
    Activation activation = Activation::kLinear;
    float alpha = 0.0F;
    std::vector<double> weights;
    std::vector<double> transposed;
    std::vector<double> magnitudes;
    std::vector<double> bias;
  };
  std::vector<Layer> const& layers() const { return layers_; }
  int inputs() const { return layers_.front().inputs; }
  int outputs() const { return layers_.back().outputs; }
  /// Multiply-adds to enclose one box, at most.
  double macs() const { return macs_.get(); }

 private:
  std::vector<Layer> layers_;
  EnclosingMacs macs_;
};

/// Inputs of a layer up to which its rounding errors are bounded.
inline constexpr int kMostInputs = 1 << 16;

/// Bounds over one box after the other; one thread's.
class BoxBounds {
 public:
  /// network  outlives it
  explicit BoxBounds(BoundedNetwork const& network);

  /// Encloses what every layer gives for the inputs of a box: float32 values, one interval per
  /// input of the network.
  /// Returns whether all that the core computes for them is proven finite; the functions below need
  /// that.
  bool enclose(std::span<Interval const> box);
  /// Contains that output's logit for every input of the box.
  Interval logit(int output);
  /// A number that the difference of two outputs' logits is never below.
  double least_difference(int output, int other);
  /// Whether every input of the box has that label (kernels/core/subject.h, label_of).
  bool has_label(int label, float threshold);

 private:
  /// Bounds of the sums of hidden layer `l` from the ranges of what enters it. Returns whether they
  /// are finite.
  bool enclose_sums(std::size_t l);
  void tighten(std::size_t l);
  void activate(std::size_t l);
  /// least [rows]: what the rows [rows][outputs of layer l] of combinations_ applied to that
  /// layer's sums are never below.
  void bound_below(std::size_t l, int rows, double* least);

  struct LayerState {
    std::vector<Interval> sums;
    std::vector<double> errors;
    std::vector<Relaxation> activations;
  };
  BoundedNetwork const& network_;
  std::vector<Interval> box_;
  std::vector<LayerState> state_;  // [layers]
  std::vector<double> centre_;
  std::vector<double> radius_;
  std::vector<double> reach_;
  std::vector<double> sums_;
  std::vector<double> spreads_;
  std::vector<double> sizes_;
  std::vector<int> open_;  // units whose bounds are tightened
  std::vector<double> combinations_;
  std::vector<double> next_;
  std::vector<double> constant_;
  std::vector<double> magnitude_;
  std::vector<double> least_;
};

/// The label that all inputs of a box have, where that is proven, and that none of their outputs
/// overflows.
///
/// Before it proves anything, it looks at some of the box's inputs: where two seem to have
/// different labels, there is nothing to prove.
class LabelProver {
 public:
  LabelProver(BoundedNetwork const& network, float threshold);
  std::optional<int> common_label(std::span<Interval const> box);

 private:
  /// Label in double of a corner of the box, or its centre; -1 where it is not finite. A guess.
  int label_of_corner(std::span<Interval const> box, int corner);

  BoundedNetwork const& network_;
  float threshold_;
  BoxBounds bounds_;
  std::vector<double> values_;
  std::vector<double> next_;
};

}  // namespace fairlane
