// Lines that all groups of a box but a share keep to, so that more of them are certain.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/deciders/lane_bounds.h"

namespace fairlane {

/// left_out  share of a box's groups, at most, of which the lines say nothing. None of the others
///           is unfair where the line below the output is above the threshold, or the other line
///           below it; nowhere are both
struct MostLines {
  OutputLines lines;
  double left_out = 0.0;
};

/// Finds such lines; one thread's.
class MostGroups {
 public:
  /// Both outlive it.
  MostGroups(BoxDomain const& domain, VerifyQuery const& query);

  /// After bounds.bound(): has the next one find lines for most groups of a lane's box.
  /// lines   of all its groups
  /// closer  by how much nearer bounds of all of them are to each other than these
  void ask(LaneBounds& bounds, int lane, std::span<AxisRange const> box, OutputLines const& lines,
           double closer);
  /// After that one: these, where more groups seem certain by them.
  std::optional<MostLines> take(LaneBounds& bounds, int lane) const;

 private:
  /// About which share of a box's groups lies between its lines, and in a unit of the output there.
  struct Between {
    double share = 0.0;
    double density = 0.0;
  };
  /// How the inputs [inputs] of a lane that was asked are spread, and what its lines leave.
  struct Asked {
    std::vector<InputSpread> spread;
    double between = 0.0;
  };
  /// closer  as ask() has it
  Between between(OutputLines const& lines, std::span<InputSpread const> spread,
                  double closer) const;

  BoxDomain const& domain_;
  VerifyQuery const& query_;
  std::vector<Asked> asked_;  // [lanes]
};

}  // namespace fairlane
