// A network put together from the steps that a file lists, with scalings folded into dense layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/network.h"

namespace fairlane {

/// SELU is ELU of this slope times this factor, which becomes part of the layer behind it.
/// Source: Klambauer et al., NeurIPS 2017; ONNX and Keras take these float32 numbers.
inline constexpr float kSeluAlpha = 1.67326324F;
inline constexpr float kSeluScale = 1.05070098F;

/// Steps between the inputs and the output of a network, in order. `where` names the file and the
/// place inside it in messages.
///
/// A scaling, x := scale * x + shift per unit, becomes part of the dense layer before it or, after
/// an activation or at the start, of the one behind it: computed in double and rounded to float32
/// once. Layers without one keep their parameters bit for bit; a parameter of such a layer that
/// float32 does not hold is refused. Every call throws Error(kData).
class LayerChain {
 public:
  /// Values per input at this point; nothing as long as no step says.
  std::optional<std::int64_t> width() const { return width_; }
  /// Says that there are `width` values here.
  void expect_width(std::int64_t width, std::string const& where);

  /// weights [inputs][outputs]
  /// bias    [outputs], or empty for none
  void dense(std::string name, std::int64_t inputs, std::int64_t outputs,
             std::vector<double> weights, std::vector<double> bias, std::string const& where);
  /// scale, shift [width] or one value for all.
  void scaling(std::vector<double> scale, std::vector<double> shift, std::string const& where);
  /// alpha: see DenseLayer.
  void activation(Activation activation, float alpha, std::string const& where);
  /// Whether the step before was this activation.
  bool ends_with(Activation activation) const;

  /// The validated network. `source` is the file, `format` what it is.
  Network finish(std::string const& source, std::string format) &&;

 private:
  struct Layer {
    std::string name;
    std::string where;
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    std::vector<double> weights;
    std::vector<double> bias;  // empty: none
    Activation activation = Activation::kLinear;
    float alpha = 0.0F;
    bool folded = false;  // no longer the parameters of the file
  };
  struct Scaling {
    std::vector<double> scale;
    std::vector<double> shift;
    std::string where;
  };

  void scale_last(Scaling const& by);

  std::optional<std::int64_t> width_;
  std::vector<Layer> layers_;
  std::optional<Scaling> pending_;  // waits for the next dense layer
};

}  // namespace fairlane
