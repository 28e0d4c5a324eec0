// What encloses a smooth activation as float32 computes it, for the certificate's checker.
#pragma once

#include "kernels/core/views.h"

namespace fairlane {

/// Lines below and above an activation, and the ends of its values, over a range of sums.
struct SmoothEnclosure {
  double slope = 0.0;  // of both lines
  double below = 0.0;  // their values at 0
  double above = 0.0;
  double least = 0.0;
  double most = 0.0;
};

/// Whether an activation is one: elu, tanh, sigmoid, silu, gelu and its approximation.
bool is_smooth(Activation activation);

/// Encloses it for sums from `low` to `high`, both finite. alpha: of elu, at least 0
///
/// Over a piece of width h a function f with |f''| <= C is within C h^2 / 8 of its chord, and so at
/// most that beyond the ends; the same holds of f less a line. The pieces are where f is curved;
/// beyond |z| = 40 it is within 2^-40 of its asymptotes. float32 is off by a multiple of its unit
/// roundoff, as kernels/core/numerics.h says of each function, and the C library's double by far
/// less than 2^-40.
SmoothEnclosure smooth_enclosure(Activation activation, double alpha, double low, double high);

/// The activation in double. For tests, and where its values are wanted.
double smooth_value(Activation activation, double alpha, double z);

}  // namespace fairlane
