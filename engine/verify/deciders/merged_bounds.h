// Bounds of the output over boxes by all their variants together: the cheapest, by which most boxes
// are decided, and what is nearer to the output where groups are counted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/existing_groups.h"
#include "engine/verify/boxes/verify_query.h"
#include "engine/verify/counting/half_space.h"
#include "engine/verify/deciders/box_decider.h"
#include "engine/verify/deciders/line_gaps.h"
#include "engine/verify/deciders/most_groups.h"
#include "engine/verify/deciders/separable_lines.h"

namespace fairlane {

/// Boxes that are looked at together.
/// decisions  [boxes] what is known of each
struct BoxRound {
  std::span<OpenBox const> boxes;
  std::span<Decision> decisions;

  std::size_t size() const { return boxes.size(); }
  bool is_open(std::size_t i) const { return decisions[i].verdict == BoxVerdict::kOpen; }
};

/// One thread's. Boxes are numbered as in the round that was bounded last.
class MergedBounds {
 public:
  /// What is asked of open boxes beside their lines.
  enum class Beside {
    kNothing,
    kGaps,   // what the lines lose along each input
    kCount,  // that, and whatever makes more groups certain
  };

  /// All outlive it.
  MergedBounds(BoxDomain const& domain, VerifyQuery const& query, LaneBounds& bounds);

  /// Makes boxes [first, first + count) the lanes of the bounds.
  void load(BoxRound const& round, std::size_t first, std::size_t count);
  /// Bounds boxes of one pair of classes, and decides those whose outputs lie on one side.
  void bound(BoxRound const& round, Beside beside);
  OutputLines const& lines(std::size_t i) const { return lines_[i]; }
  /// Groups of a part of box i that exist and that are proven to be fair: at least so many. After
  /// bound() for a count.
  /// all  groups of the box, whether or not they exist
  double count_fair(ExistingGroups const& existing, std::size_t i, double all,
                    std::span<AxisRange const> part);

 private:
  /// Whether outputs may lie on both sides, each by less than the margin beyond.
  bool reaches_both(OutputLines const& bounds) const;
  /// Of open boxes among the lanes, which are boxes from `first` on.
  void find_gaps(BoxRound const& round, std::size_t first, std::size_t count);
  void find_separable(BoxRound const& round, std::size_t first, std::size_t count);
  void find_most(BoxRound const& round, std::size_t first, std::size_t count);

  BoxDomain const& domain_;
  VerifyQuery const& query_;
  LaneBounds& bounds_;
  LineGaps gaps_;
  SeparableFinder separable_finder_;
  MostGroups most_groups_;
  HalfSpaceCounter counter_;
  HingeCounter hinge_counter_;
  std::vector<OutputLines> lines_;              // [boxes]
  std::vector<SeparableLines> separable_;       // [boxes] of those that are counted
  std::vector<std::optional<MostLines>> most_;  // [boxes] where more is certain by them
};

}  // namespace fairlane
