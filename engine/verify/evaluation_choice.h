// Whether the groups of a box are evaluated, or the box is split.
#pragma once

#include <array>
#include <cstdint>

#include "engine/job/checkpoint.h"
#include "engine/verify/deciders/box_decider.h"

namespace fairlane {

/// Takes what costs less, by what became of boxes of the same size so far.
class EvaluationChoice {
 public:
  /// What became of a box of so many groups: whether it was decided without evaluating all of them.
  void learn(double groups, bool decided);
  /// Weighs again what has been learnt. costs: of the decider
  void weigh(MeasureCosts const& costs);
  /// Whether such a box is evaluated where nothing else decides it.
  bool evaluates(double groups) const;

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  static constexpr std::size_t kSizes = 64;  // powers of two

  MeasureCosts costs_;
  std::array<std::int64_t, kSizes> boxes_{};    // [sizes] that were looked at
  std::array<std::int64_t, kSizes> decided_{};  // [sizes] of them
  std::array<double, kSizes> halves_{};         // [sizes] what deciding both halves costs
};

}  // namespace fairlane
