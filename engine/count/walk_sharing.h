// A walk that is shared by ranks: rank 0 deals ranges of heads out and adds up what comes back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/count/group_counts.h"
#include "engine/count/walk_findings.h"
#include "engine/count/walk_tree.h"
#include "engine/ranks/ranks.h"
#include "kernels/walker.h"

namespace fairlane {

/// Heads [begin, end) of a walk.
struct HeadRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What all ranks skip, and how they look at what they evaluate.
struct WalkManner {
  LevelSet levels = 0;
  std::optional<Walker::Look> look;
};

/// What a rank has made of a range: what is left of it, and what the rest counts.
struct WalkShare {
  std::vector<HeadRange> left;
  GroupCounts counts;
  WalkFound found;
};

/// Rank 0's side.
class WalkDealer {
 public:
  WalkDealer(Ranks& ranks, WalkPlan const& plan);

  int ranks() const { return ranks_.size(); }
  /// Before the first range.
  void begin(WalkManner const& manner);
  /// A rank that will soon have nothing to do, or -1.
  int needy() const;
  /// Heads that a rank gets at once, of what is left to all, where it walks so many a second.
  std::int64_t piece(std::int64_t left, double heads_per_second) const;
  void deal(int rank, HeadRange const& range);
  /// What a rank has sent, if it has come. Throws the Error of a failed rank.
  std::optional<WalkShare> poll();
  /// Ranges that ranks work on; of a rank that was asked to stop, as far as it has not answered.
  std::vector<HeadRange> out() const;
  /// Whether all ranks that have ranges were asked to stop, and have ended.
  bool deserted();
  bool asked_to_stop() const { return ranks_.asked_to_stop(); }
  /// There is no more.
  void end();

 private:
  Ranks& ranks_;
  WalkPlan const& plan_;
  std::vector<std::deque<HeadRange>> out_;  // [ranks] in the order in which they are worked on
};

/// The other ranks' side.
class WalkHelper {
 public:
  explicit WalkHelper(Ranks& ranks) : ranks_(ranks) {}

  /// The next range; nothing where there is no more. Throws Error.
  std::optional<HeadRange> next();
  /// Known from the first range on.
  WalkManner const& manner() const { return manner_; }
  /// Of the last range.
  void send(WalkShare const& share);
  bool asked_to_stop() const { return ranks_.asked_to_stop(); }

 private:
  Ranks& ranks_;
  WalkManner manner_;
};

}  // namespace fairlane
