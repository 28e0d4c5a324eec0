// Bounds of a network's output over a box that are sums of a function of each axis, and closer than
// lines.
//
// Where a line needs a bound from above of a unit of the first layer that takes both signs, it has
// its chord, which is close only near the ends of the unit's range, where next to no group is. The
// unit's sum is what each axis adds, t_1 + ... + t_n, however its constant is shared out, and
//     max(t_1 + ... + t_n, 0) <= max(t_1, 0) + ... + max(t_n, 0).
// The fewer terms there are, the closer it is: axes with few entries make one term together. Groups
// on one side of such a sum are counted as those on one side of a line are.
#pragma once

#include <span>
#include <vector>

#include "engine/verify/counting/hinge_counter.h"
#include "engine/verify/deciders/lane_bounds.h"

namespace fairlane {

/// parts  of the axes, in which the forms' hinges are
/// below  what the output is never below
/// above  the negative of what it is never above
/// gain   by how much they are nearer to each other than the lines are, about, as a mean over the
///        groups
struct SeparableLines {
  AxisParts parts;
  HingeForm below;
  HingeForm above;
  double gain = 0.0;
};

/// Finds them; one thread's.
class SeparableFinder {
 public:
  /// domain  outlives it
  explicit SeparableFinder(BoxDomain const& domain) : domain_(domain) {}

  /// After bounds.bound(), of a lane's box, whose lines are finite. No gain: none is closer.
  SeparableLines find(LaneBounds& bounds, int lane, std::span<AxisRange const> box,
                      OutputLines const& lines);

 private:
  /// The sum of a unit of the first layer over a box.
  /// slopes            [inputs]
  /// size, error       bounds of its magnitudes, and of the errors of its float32 sum
  /// low, high         as the lines have them
  /// centre            of its range where variants add the most
  /// deviation         sum of those of the parts
  /// middles           [parts] what each adds to that
  /// deviations        [parts] by how much that varies over the groups, about
  struct Unit {
    double const* slopes = nullptr;
    double bias = 0.0;
    double size = 0.0;
    double error = 0.0;
    double low = 0.0;
    double high = 0.0;
    double centre = 0.0;
    double deviation = 0.0;
    std::vector<double> middles;
    std::vector<double> deviations;
  };
  /// A form that is made.
  /// size  of magnitudes that are added up
  /// lost  by the hinges, about, as a mean over the groups
  struct Draft {
    HingeForm form;
    double size = 0.0;
    double lost = 0.0;
  };
  /// Whether chords make enough of what lies between the lines.
  /// bend  by how much more a unit rises above 0 than below
  bool pays(LaneBounds& bounds, int lane, OutputLines const& lines, double bend) const;
  /// A line, or the negative of one.
  Draft draft(LaneBounds& bounds, int lane, double sign, double* coefficients,
              double* constant) const;
  /// The axes in few parts, those that lines are loosest along together.
  AxisParts part(LaneBounds& bounds, int lane, std::span<AxisRange const> box,
                 OutputLines const& lines);
  void look_at(LaneBounds& bounds, int lane, int unit);
  void look_at_parts(std::span<AxisRange const> box, AxisParts const& parts);
  /// Puts the parts' positive parts in the place of the unit's chord, which a form loses `weight`
  /// times, if that is closer.
  void replace_chord(double weight, Draft& side) const;
  /// Takes what variants may add, and roundings, from a form's constant.
  void finish(LaneBounds& bounds, int lane, Draft& side) const;

  BoxDomain const& domain_;
  Unit unit_;
  std::vector<double> looseness_;  // [axes]
  std::vector<std::size_t> order_;
};

}  // namespace fairlane
