// Workers of a sweep on the other ranks of an MPI job.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/ranks/ranks.h"
#include "engine/sweep/worker.h"

namespace fairlane {

/// Rank 0's view of the others, each of which is in serve_sweep().
class RankCrew {
 public:
  /// ranks: outlives this
  explicit RankCrew(Ranks& ranks);
  /// The worker on a rank, which may not outlive this.
  std::unique_ptr<SweepWorker> worker(int rank);
  /// Lets all of them go.
  void dismiss();

 private:
  class Worker;
  struct Post {
    std::deque<std::string> replies;
    std::string doing;
  };
  /// Takes what has come, from anybody.
  void take_messages();

  Ranks& ranks_;
  std::vector<Post> posts_;  // [ranks]
};

/// On another rank: hands what rank 0 sends to `worker`, until rank 0 says that it is over.
/// Throws Error where another rank has failed.
void serve_sweep(Ranks& ranks, SweepWorker& worker);

}  // namespace fairlane
