// Classifiers that vote on labels: a forest, neighbours, by OpenCV.
#pragma once

#include <cstdint>
#include <memory>

#include "models/torch/plugin_api.h"

namespace fairlane {

/// A fitted classifier; voting does not change it.
class Voter {
 public:
  virtual ~Voter() = default;
  /// inputs [count][columns], shares [count][classes] adding up to 1.
  virtual void vote(float const* inputs, std::int64_t count, float* shares) const = 0;
};

/// inputs [rows][columns], labels [rows] 0..classes-1. Throws std::exception.
std::unique_ptr<Voter> fit_voter(TorchVoterKind kind, float const* inputs,
                                 std::int32_t const* labels, std::int64_t rows,
                                 std::int32_t columns, std::int32_t classes, std::uint64_t seed);

}  // namespace fairlane
