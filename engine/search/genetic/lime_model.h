// A subject's model at rows of real numbers, which a search's lanes do not have.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/subject/subject.h"

namespace fairlane {

/// The probability of label 1 at real-valued rows. A network's sums are in double precision, its
/// activations in float32; the results are the same on every machine.
class LimeModel {
 public:
  /// subject: outlives this
  explicit LimeModel(TestSubject const& subject);

  int attributes() const { return attributes_; }
  /// Whether probabilities() is for one thread at a time, a scorer's.
  bool single_thread() const { return subject_.view().scorer != nullptr; }
  /// The value nearest to `value` that the model takes: every number where the attribute's encoding
  /// is one of numbers, otherwise a code of the domain.
  double taken(std::size_t attribute, double value) const;
  /// rows   [count][attributes], of taken() values
  /// p      [count] out, not finite where the model's output is not
  /// Throws Error where a scorer does.
  void probabilities(double const* rows, std::int64_t count, double* p) const;

 private:
  struct Layer {
    LayerView view;
    std::vector<double> weights;  // [inputs][outputs]
  };
  /// The model's inputs of one row, appended.
  void encode(double const* row, std::vector<float>& inputs) const;
  /// logits [outputs] of a network's inputs, which are overwritten.
  void forward(std::vector<float>& values, std::vector<double>& sums) const;
  double probability(float const* scores) const;

  TestSubject const& subject_;
  int attributes_;
  int outputs_;
  ScoreKind kind_;
  std::vector<Layer> layers_;
};

}  // namespace fairlane
