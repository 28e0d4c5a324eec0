// Lines that enclose an activation as the lane core computes it in float32.
#pragma once

#include "kernels/core/views.h"

namespace fairlane {

/// Values from low to high.
struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// slope * z + offset.
struct Line {
  double slope = 0.0;
  double offset = 0.0;
};

/// What is known of an activation where its argument lies in an interval.
/// below, above  lines that it does not cross
/// range         its values
struct Relaxation {
  Line below;
  Line above;
  Interval range;
};

/// Encloses y = f(z) for every float32 z of the interval, where y is what `activate`
/// (kernels/core/mlp.h) gives: the lines and the range hold for the rounded result.
///
/// For any slope k, f(z) - k z takes its extremes over an interval at the interval's ends, at f's
/// kink, or where f' = k (which halving finds where it has no formula); so the offsets are right
/// whatever slopes are chosen, and the choice (the chord on the side where f is curved away from
/// it, a tangent's slope on the other) decides only how close the lines are.
/// z  finite; every |f(z)| below float32's largest number
/// Source: Singh et al., An abstract domain for certifying neural networks (DeepPoly), POPL 2019.
Relaxation relax(Activation activation, float alpha, Interval z);

/// The activation in double.
double activation_value(Activation activation, double alpha, double z);

}  // namespace fairlane
