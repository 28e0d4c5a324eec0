// Which share of a region's groups is certainly fair, and which certainly not, of those that exist.
//
// Every box counts what is certain of its groups; the one with the most that is not is halved next.
#pragma once

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

  double undecided() const { return groups - fair - unfair; }
  /// Of so many groups; 0 where none exists.
  double share_of(double part) const { return groups > 0.0 ? part / groups : 0.0; }
  /// Where the share of unfair groups lies, by the sample.
  ShareInterval interval(double confidence) const;
  /// Whether the sample, with the confidence below, agrees with what is certain.
  bool agrees() const;
  static constexpr double kConfidence = 0.999999;  // a disagreement is a bug
};

/// One box's part in the sum.
struct MeasuredBox {
  OpenBox box;
  CertainGroups certain;
  std::size_t axis = 0;
  double undecided = 0.0;
};

/// Boxes by what is undecided of them, the most first. What it looks at next does not depend on
/// threads.
class ShareQueue {
 public:
  /// Both outlive it.
  ShareQueue(BoxDomain const& domain, ExistingGroups const& existing);

  /// Boxes of the next round, which are the halves of those with the most undecided groups; none
  /// where nothing is undecided.
  std::vector<OpenBox> const& next();
  /// What became of them. [boxes]
  void take(std::span<Decision const> decisions, std::span<CertainGroups const> certain);
  CertainShares shares() const;
  std::int64_t boxes() const { return boxes_; }
  /// Share of all groups, up to roundings.
  double undecided() const { return groups_ > 0.0 ? undecided_ / groups_ : 0.0; }

  void write(CheckpointWriter& state) const;
  void read(CheckpointReader const& state);

 private:
  BoxDomain const& domain_;
  ExistingGroups const& existing_;
  std::vector<MeasuredBox> heap_;
  std::vector<OpenBox> round_;
  double groups_ = 0.0;
  double fair_ = 0.0;  // of boxes that are halved no more
  double unfair_ = 0.0;
  double undecided_ = 0.0;
  std::int64_t boxes_ = 0;
};

}  // namespace fairlane
