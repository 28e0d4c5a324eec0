// What a subject says about single rows, outside the lanes of a search. Rows have the dataset's
// order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlane {

/// What a finished instance's row says besides its attributes.
struct Description {
  std::int32_t label = 0;
  std::int32_t pair_label = 0;
  std::int32_t pair_variant = -1;  // -1: not an IDI
  float score = 0.0F;
  float pair_score = 0.0F;
  float severity = 0.0F;
};

/// Rows worth handing over at once: enough to fill a device's tiles.
inline constexpr std::size_t kDescribedAtOnce = 4096;

/// Evaluates rows. Any thread, several at once.
class RowDescriber {
 public:
  virtual ~RowDescriber() = default;
  /// Evaluates rows [count][attributes] with their similar sets.
  virtual void describe(std::int32_t const* rows, std::size_t count, Description* out) = 0;
  /// Logits, or what else the scores are, [count][outputs] of rows.
  virtual void logits(std::int32_t const* rows, std::size_t count, float* out) = 0;
};

}  // namespace fairlane
