// Which share of a region's groups is certainly fair, and which certainly not, of those that exist.
//
// Boxes count what is certain of their groups; those with the most that is not are halved next, and
// evaluated as soon as that costs less than what bounds of their parts decide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/count/binomial_interval.h"
#include "engine/job/checkpoint.h"
#include "engine/verify/deciders/box_decider.h"

namespace fairlane {

/// groups           of the region, of which `fair` and `unfair` are certain
/// boxes            that were looked at
/// sampled          groups drawn uniformly, of those that exist, and evaluated
/// unfair_samples   of them; defined_samples: those that are, or whose outputs are all finite
struct CertainShares {
  double groups = 0.0;
  double fair = 0.0;
  double unfair = 0.0;
  std::int64_t boxes = 0;
  std::int64_t sampled = 0;
  std::int64_t defined_samples = 0;
  std::int64_t unfair_samples = 0;

  double undecided() const { return std::max(groups - fair - unfair, 0.0); }
  /// Of so many groups; 0 where none exists.
  double share_of(double part) const { return groups > 0.0 ? part / groups : 0.0; }
  /// Where the share of unfair groups lies, by the sample.
  ShareInterval interval(double confidence) const;
  /// Whether the sample, with the confidence below, agrees with what is certain.
  bool agrees() const;
  static constexpr double kConfidence = 0.999999;  // a disagreement is a bug
};

/// One box's part in the sum, or one that is halved before anything is counted.
/// only_bounds  that its parts are not evaluated
struct MeasuredBox {
  OpenBox box;
  CertainGroups certain;
  BoxCut cut;
  double undecided = 0.0;
  bool only_bounds = false;
};

/// Boxes by what is undecided of them, the most first. What it looks at next does not depend on
/// threads.
///
/// Bounds cost less than counts: a box is halved several times over, each part where it is best,
/// before its parts are counted. Closer looks are taken while they leave less undecided than
/// halving does for the same cost, and now and then to see whether they would. Where parts of boxes
/// are evaluated, some boxes are left to bounds alone, to learn what these would do.
class ShareQueue {
 public:
  /// Both outlive it.
  ShareQueue(BoxDomain const& domain, ExistingGroups const& existing);

  /// Boxes of the next round, which are parts of those with the most undecided groups; none where
  /// nothing is undecided.
  std::vector<OpenBox> const& next(MeasureCosts const& costs);
  /// How many of them, the first ones, are measured but for counts in part, and are evaluated if
  /// they are open then.
  std::size_t to_evaluate() const { return to_evaluate_; }
  /// Whether parts of the round's other open boxes are counted, as BoxDecider::measure() is told.
  bool in_part() const { return halvings_ == kHalvings; }
  /// What became of them. [boxes]
  void take(std::span<Decision const> decisions, std::span<CertainGroups const> certain);
  /// Whether all that was halved is counted: what is below means something only then.
  bool settled() const { return in_part() || uncounted_.empty(); }
  CertainShares shares() const;
  std::int64_t boxes() const { return boxes_; }
  /// Share of all groups, up to roundings.
  double undecided() const { return groups_ > 0.0 ? undecided_ / groups_ : 0.0; }

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  static constexpr int kHalvings = 3;  // of a box until its parts are counted

  /// One box of a round, whose box goes into the round.
  /// before       groups of it that were undecided before
  /// only_bounds  as of a MeasuredBox
  struct Part {
    OpenBox box;
    double before = 0.0;
    bool only_bounds = false;
  };
  /// Whether a box is evaluated where bounds do not decide it.
  bool evaluates(GroupBox const& box, bool only_bounds) const;
  void take_most_undecided();
  void halve(MeasuredBox&& measured);
  std::vector<OpenBox> const& end_round();
  /// What a counted round says of halving and of closer looks.
  /// after          undecided groups by bounds of all variants together
  /// before_closer  those of boxes that were looked at more closely; after_closer: what is left
  /// closer         those boxes; boxes: all
  struct Lesson {
    double after = 0.0;
    double before_closer = 0.0;
    double after_closer = 0.0;
    std::size_t closer = 0;
    std::size_t boxes = 0;

    /// A box of so many groups.
    void add(CertainGroups const& certain, double all, double undecided);
  };
  void learn(Lesson const& lesson);
  bool closer_pays() const;

  BoxDomain const& domain_;
  ExistingGroups const& existing_;
  std::vector<MeasuredBox> heap_;
  MeasureCosts costs_;
  std::vector<Part> parts_;  // [boxes of the round]
  std::vector<OpenBox> round_;
  std::size_t to_evaluate_ = 0;
  double most_evaluated_ = 0.0;         // groups of a box
  std::vector<MeasuredBox> uncounted_;  // of the round before
  int halvings_ = kHalvings;            // of what the round's boxes are parts of
  double bounded_ = 0.0;     // groups that were undecided before those, of boxes left to bounds
  double by_halving_ = 0.0;  // part of undecided groups that one halving decides
  double in_the_long_run_ = 0.0;  // the same, a mean over as much as is undecided
  double by_closer_ = 1.0;        // that a closer look decides
  double groups_ = 0.0;
  double fair_ = 0.0;  // of boxes that are halved no more
  double unfair_ = 0.0;
  double undecided_ = 0.0;
  std::int64_t boxes_ = 0;
};

}  // namespace fairlane
