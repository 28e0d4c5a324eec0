// A subject that is no network of dense layers: a program or an ensemble of trees that gives scores
// for rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlane {

/// What the scores of a Scorer are.
enum class ScoreKind : std::uint8_t {
  kLogits,         // one output: label 1 when the score lies above ln(t / (1 - t)); several: argmax
  kProbabilities,  // one output: p(1), label 1 when it lies above the threshold t; several: argmax
  kLabels,         // several outputs, one-hot: the model tells nothing but labels
};

/// A model as a function of rows. Equal rows always get equal scores, whatever the batch they come
/// in.
class Scorer {
 public:
  virtual ~Scorer() = default;
  /// For people, such as "exec: python3 model.py".
  virtual std::string name() const = 0;
  virtual int inputs() const = 0;
  virtual int outputs() const = 0;
  virtual ScoreKind kind() const = 0;
  /// Scores rows; called by one thread at a time, may use several itself.
  /// rows    [count][inputs] in the domain's order
  /// scores  [count][outputs], may be NaN: that row is undefined
  /// Throws Error(kUnavailable | kData | kStopped).
  virtual void score(float const* rows, std::size_t count, float* scores) = 0;
};

}  // namespace fairlane
