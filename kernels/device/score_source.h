// Who gives the scores of the inputs that the wide route asks for: a network's layers, or a scorer.
#pragma once

#include <memory>

#include "kernels/arithmetic.h"
#include "kernels/device/device.h"
#include "kernels/device/scored/shared_scorer.h"

namespace fairlane {

/// Which inputs are wanted of every lane; see LoadMembers.
struct Members {
  MemberKind kind = MemberKind::kOwn;
  int count = 1;
  int first = 0;
  float step = 0.0F;
  LaneTiles<ScalarPack, 1>::PartnerLot lot{};
  MemberPair pair{};
};

/// Hands a workspace out, array after array.
class WorkspaceCarver {
 public:
  explicit WorkspaceCarver(float* memory) : memory_(memory) {}
  float* take(std::int64_t units, int lanes) {
    float* const at = memory_;
    memory_ += units * lanes;
    return at;
  }
  float* rest() const { return memory_; }

 private:
  float* memory_;
};

/// Where scores come from. Everything happens in the device's order.
class ScoreSource {
 public:
  virtual ~ScoreSource() = default;
  /// Scores the members of a chunk's lanes, up to most_rows inputs at a time.
  /// workspace  what wide_needs asks for beside the stored scores
  /// scores     [members][outputs][lanes]
  virtual void score(LaneChunk const& chunk, Members const& members, int most_rows,
                     Arithmetic arithmetic, float* workspace, float* scores) = 0;
  /// Gradients of a chunk's lanes and of their partners.
  /// workspace  what wide_gradient_needs asks for
  /// gradient   [columns] of the chunk's first lane, as in GradientTiles
  virtual void backpropagate(GradientTiles const& operation, LaneChunk const& chunk,
                             Arithmetic arithmetic, float* workspace, float* gradient) = 0;
};

/// A network, layer by layer. host_subject outlives it. Throws Error(kMemory).
std::unique_ptr<ScoreSource> make_layer_source(Subject const& host_subject, Subject const& subject,
                                               Device& device);

/// A scorer on the host, to which rows go down and from which scores come up. Throws
/// Error(kMemory).
std::unique_ptr<ScoreSource> make_scorer_source(Subject const& subject, ColumnMap const& columns,
                                                Device& device, SharedScorer& scorer);

}  // namespace fairlane
