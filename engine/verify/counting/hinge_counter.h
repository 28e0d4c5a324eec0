// How many groups of a box lie above a threshold by a form with hinges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/counting/sum_counter.h"
#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// The axes of a box in parts, of which each has so few entries together that all are looked at.
using AxisParts = std::vector<std::vector<std::size_t>>;

/// Of what an axis adds to a linear sum, with its share of the sum's constant, each part's positive
/// part is lost.
/// weight  how often, at least 0
/// slopes  [inputs] of the sum
struct PartedHinge {
  double weight = 0.0;
  double const* slopes = nullptr;
};

/// A linear form in a network's inputs, less hinges. Attributes under test add nothing.
/// coefficients  [inputs]
/// shifts        [hinges][parts] shares of the hinges' constants
struct HingeForm {
  std::vector<double> coefficients;
  double constant = 0.0;
  std::vector<PartedHinge> hinges;
  std::vector<double> shifts;
};

/// Counts groups; one thread's. What a part adds is looked at entry by entry and put into bins,
/// rounded towards fewer groups above the threshold; what all parts add together follows from that.
/// What is returned is never more than the true count.
class HingeCounter {
 public:
  /// Entries of a part, at most; an axis with more is a part by itself.
  static constexpr std::int32_t kMostEntries = 1000;

  /// domain  outlives it
  explicit HingeCounter(BoxDomain const& domain);

  /// Groups of a box where the form lies above a threshold.
  double above(std::span<AxisRange const> box, AxisParts const& parts, HingeForm const& form,
               double threshold);

 private:
  /// Fills the list of part p. Returns a bound of magnitudes.
  double fill(std::span<AxisRange const> box, std::span<std::size_t const> axes, std::size_t p,
              std::size_t parts, HingeForm const& form, SumList& list);
  /// The same of a part with one axis that has too many entries: by blocks of them their least.
  void take_blocks(std::size_t axis, std::int32_t entries, std::int32_t block, SumList& list);

  BoxDomain const& domain_;
  BoxKernels const& kernels_;
  SumCounter counter_;
  std::vector<SumList> lists_;  // [parts]
  std::vector<double> row_sums_;
  std::vector<double> next_rows_;
  std::vector<double> column_sums_;
  std::vector<double> weights_;
  std::vector<std::int32_t> columns_;  // entries of the axis with the most
};

}  // namespace fairlane
