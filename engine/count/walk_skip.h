// Which boxes of a walk are worth a proof that they hold no discriminatory group.
#pragma once

#include <optional>
#include <vector>

#include "engine/count/walk_tree.h"
#include "kernels/boxes/network_bounds.h"
#include "kernels/walker.h"

namespace fairlane {

/// Proves labels of nodes; one thread's.
class NodeProver {
 public:
  /// network, tree  outlive it
  NodeProver(BoundedNetwork const& network, float threshold, WalkTree const& tree)
      : tree_(tree), prover_(network, threshold) {}
  /// The label of all inputs of a node, where it is proven that they have the same.
  std::optional<int> common_label(WalkNode const& node) {
    tree_.box(node, box_);
    return prover_.common_label(box_);
  }

 private:
  WalkTree const& tree_;
  LabelProver prover_;
  std::vector<Interval> box_;
};

/// What random descents from the root to a head met at one level, until a node was proven.
/// tested   nodes tried, one of a descent
/// proven   of them
/// seconds  for all of them
/// share    sum of 1 / heads over them
struct LevelSample {
  std::int64_t tested = 0;
  std::int64_t proven = 0;
  double seconds = 0.0;
  double share = 0.0;
};

/// levels           to be tried, none where plain walking is faster
/// seconds_per_head expected of one thread
struct SkipChoice {
  LevelSet levels = 0;
  double seconds_per_head = 0.0;
};

/// The set of levels that takes the least expected time, if it is clearly less than walking
/// everything.
/// samples       [levels] of the same descents
/// descents      how many
/// walk_seconds  of one thread to evaluate one head
SkipChoice choose_levels(std::vector<LevelSample> const& samples, std::int64_t descents,
                         double walk_seconds);

/// Samples boxes of heads [begin, end) with all threads, for about `budget` seconds at most, and
/// chooses the levels. network, tree  of the subject that is walked
SkipChoice pilot_skipping(BoundedNetwork const& network, float threshold, WalkTree const& tree,
                          std::int64_t begin, std::int64_t end, int threads, double walk_seconds,
                          double budget);

/// How boxes of heads are evaluated.
/// look   nothing: as they are
/// share  of the time without a look, expected
struct LookChoice {
  std::optional<Walker::Look> look;
  double share = 1.0;
};

/// Evaluates some of heads [begin, end) each way, on one thread for about `budget` seconds, and
/// takes what is clearly fastest.
/// walk_seconds  of one thread, for a head
LookChoice pilot_looks(Walker& walker, std::int64_t begin, std::int64_t end, double walk_seconds,
                       double budget);

}  // namespace fairlane
