// How many groups of a box lie on one side of a linear form.
#pragma once

#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "kernels/boxes/box_kernels.h"

namespace fairlane {

/// A form in a network's inputs: coefficients [inputs] and a constant. Those of attributes under
/// test are 0.
struct LinearForm {
  std::span<double const> coefficients;
  double constant = 0.0;
};

/// Counts groups; one thread's. Sums over the axes with the fewest entries are made one by one, and
/// put into bins; those of the next ones are added there, each contribution rounded towards fewer
/// groups above the threshold; the axis with the most entries is counted by division. What is
/// returned is never more than the true count.
class HalfSpaceCounter {
 public:
  /// domain  outlives it
  explicit HalfSpaceCounter(BoxDomain const& domain);

  /// Groups of a box where the form lies above a threshold, or does not.
  double above(std::span<AxisRange const> box, LinearForm const& form, double threshold) {
    return count(box, form, 1.0, threshold);
  }
  double not_above(std::span<AxisRange const> box, LinearForm const& form, double threshold) {
    return count(box, form, -1.0, -threshold);
  }

 private:
  /// What an axis adds to the least sum: entry j adds rises[j], in ascending order, or j * unit
  /// where there are none.
  struct Part {
    std::int32_t entries = 0;
    double span = 0.0;
    double unit = 0.0;
    std::vector<double> rises;

    double rise(std::int32_t j) const {
      return rises.empty() ? unit * j : rises[static_cast<std::size_t>(j)];
    }
    /// Entries that add more than x.
    double more_than(double x) const;
  };

  /// Groups where sign * form lies above a limit.
  double count(std::span<AxisRange const> box, LinearForm const& form, double sign, double limit);
  /// An axis's part; the least it adds goes to `least`, a bound of magnitudes to `size`.
  Part part_of(std::size_t axis, AxisRange range, LinearForm const& form, double sign,
               double& least, double& size) const;
  /// Groups of all parts together that add more than `need`.
  double count_parts(double need, double span);
  /// Makes sums_ of the first parts. Returns of how many.
  std::size_t list_sums();
  /// Groups of the sums in `used` bins that are not above `need` with what the last part adds.
  double count_short(double need, double bin, std::size_t used) const;

  BoxDomain const& domain_;
  BoxKernels const& kernels_;
  std::vector<Part> parts_;
  std::vector<double> sums_;
  std::vector<double> groups_;  // by the bin of the sum so far
  std::vector<double> next_;
};

}  // namespace fairlane
