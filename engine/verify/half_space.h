// How many groups of a box lie on one side of a linear form.
#pragma once

#include <span>

#include "engine/verify/box_domain.h"

namespace fairlane {

/// A form in a network's inputs: coefficients [inputs] and a constant. Those of attributes under
/// test are 0.
struct LinearForm {
  std::span<double const> coefficients;
  double constant = 0.0;
};

/// At least so many of a box's groups have a form above (or not above) a threshold, up to roundings
/// of the count itself, a double. Sums over all axes but the largest one are kept in bins, each
/// contribution rounded towards fewer groups.
double count_above(BoxDomain const& domain, std::span<AxisRange const> box, LinearForm const& form,
                   double threshold);
double count_not_above(BoxDomain const& domain, std::span<AxisRange const> box,
                       LinearForm const& form, double threshold);

}  // namespace fairlane
