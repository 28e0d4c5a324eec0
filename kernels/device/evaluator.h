// What evaluates the model for the lanes of a block, by one of the routes.
#pragma once

#include "kernels/arithmetic.h"
#include "kernels/device/device.h"
#include "kernels/device/route.h"
#include "kernels/device/scored/shared_scorer.h"

namespace fairlane {

/// Does what the struct of each operation says (kernels/device/tile_kernels.h) for every index of
/// the range, in the device's order. Shared by the blocks of a backend. Throws Error(kMemory).
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  virtual void run(ProbeTiles const& operation, Range range) = 0;
  virtual void run(ClassifyTiles const& operation, Range range) = 0;
  virtual void run(ClassifySomeTiles const& operation, Range range) = 0;
  virtual void run(DrawPartnerTiles const& operation, Range range) = 0;
  virtual void run(MarginTiles const& operation, Range range) = 0;
  virtual void run(PairMarginTiles const& operation, Range range) = 0;
  virtual void run(GradientTiles const& operation, Range range) = 0;
  virtual void run(DifferenceTiles const& operation, Range range) = 0;
  virtual void run(MemberTiles const& operation, Range range) = 0;
  /// Whether walks may have kernels of their own, which take a network through all its layers.
  virtual bool walks_on_chip() const { return false; }
  /// Whether the next one is there, for rounds that take such gradients.
  virtual bool runs_rounds(GradientKind) const { return false; }
  /// Takes lanes [0, lanes) through rounds of a search.
  virtual void run(RoundKernel const&, int) {}
};

/// By tile kernels: a warp takes a tile of lanes through the whole network. arena: with weights
std::unique_ptr<Evaluator> make_fused_evaluator(Subject const& host_subject, ArenaView const& arena,
                                                Device& device);

/// Layer by layer, all lanes together, in a workspace of about `bytes`. Its results are the same
/// whatever that is. Fast arithmetic: the device's library adds the products up, and where a group
/// then seems to have two labels, or one that is undefined, it is evaluated again exactly. So that
/// a group may be missed, but none is found that is not one.
/// Throws Error(kMemory | kUnavailable).
std::unique_ptr<Evaluator> make_wide_evaluator(Subject const& host_subject, ArenaView const& arena,
                                               Device& device, std::int64_t bytes,
                                               Arithmetic arithmetic = Arithmetic::kExact);

/// As the wide route, with a scorer in the place of the layers. It and the scorer are used by one
/// block after the other.
/// Throws Error(kMemory).
std::unique_ptr<Evaluator> make_scorer_evaluator(Subject const& host_subject,
                                                 ArenaView const& arena, ColumnMap const& columns,
                                                 Device& device, SharedScorer& scorer);

}  // namespace fairlane
