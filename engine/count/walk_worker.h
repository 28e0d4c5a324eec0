// One thread's part in a walk, and what the threads share.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/count/group_counts.h"
#include "engine/count/kind_counter.h"
#include "engine/count/walk_domain.h"
#include "engine/count/walk_findings.h"
#include "engine/count/walk_skip.h"
#include "engine/count/walk_tree.h"

namespace fairlane {

/// What the threads of a walk share.
/// leaves_out  whether what is known of boxes is used: kinds of an ensemble's groups, who exists
/// group_size  groups of a head
/// evaluated   heads, in this slice
/// levels      that are tried
/// look        at what is evaluated
/// lock        of counts and findings
struct WalkTask {
  /// All outlive it. view, rows: of the walker's subject
  WalkTask(Walker& walks, SubjectView const& view, RowDescriber& rows, bool may_leave_out,
           GroupCounts& counted, WalkFindings& found)
      : walker(walks),
        threshold(view.threshold),
        network(view.network),
        tree(walks.plan(), view),
        domain(walks.plan(), view),
        kinded(walks.plan(), domain, view, rows),
        leaves_out(may_leave_out),
        group_size(walks.plan().get().groups),
        counts(counted),
        findings(found) {}

  Walker& walker;
  float threshold;
  BoundedNetwork network;
  WalkTree tree;
  WalkDomain domain;
  KindedWalk kinded;
  bool leaves_out;
  std::int64_t group_size;
  std::atomic<std::int64_t> evaluated{0};
  LevelSet levels = 0;
  std::optional<Walker::Look> look;
  std::mutex lock;
  GroupCounts& counts;
  WalkFindings& findings;
};

/// Heads [begin, end) that lie in a node. fresh: its level is not its parent's, so that it may be
/// tried
struct WalkPart {
  WalkNode node;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool fresh = true;
};

/// One thread's part in a slice.
class WalkWorker {
 public:
  /// task  outlives it
  explicit WalkWorker(WalkTask& task);

  /// Counts a part, or puts its parts on the stack.
  void step(WalkPart const& part, std::vector<WalkPart>& rest);
  /// Hands everything over.
  void finish();

 private:
  /// Counts a part's kinds where it is a whole node with few of them, or puts its halves on the
  /// stack.
  void step_by_kinds(WalkPart const& part, std::vector<WalkPart>& rest);
  /// Counts a part in which nobody exists, or puts the halves of one in which some groups do not on
  /// the stack. Returns whether it did either.
  bool leave_out_nobody(WalkPart const& part, std::vector<WalkPart>& rest);
  bool is_whole(WalkPart const& part) const {
    return part.end - part.begin == task_.tree.heads(part.node);
  }
  /// Puts a part's halves on the stack. Returns false where it is a single head.
  bool halve(WalkPart const& part, std::vector<WalkPart>& rest);
  /// Evaluates heads, together with those before them where they are neighbours: walkers take many
  /// at once.
  void evaluate(std::int64_t begin, std::int64_t end);
  void flush();
  void count(std::int64_t heads);
  void hand_over_found();

  WalkTask& task_;
  std::int64_t chunk_;
  GroupCounter counter_;
  GroupCounts counts_;
  std::optional<NodeProver> prover_;
  std::optional<KindCounter> kinds_;
  bool leaves_out_nobody_;
  GroupCounter::Take take_;
  std::vector<std::int64_t> found_;
  std::int64_t run_begin_ = 0;  // heads that are about to be evaluated
  std::int64_t run_end_ = 0;
};

}  // namespace fairlane
