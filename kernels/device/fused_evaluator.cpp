#include "kernels/device/evaluator.h"
#include "kernels/device/less_memory.h"

namespace fairlane {

namespace {

class FusedEvaluator final : public Evaluator {
 public:
  FusedEvaluator(Subject const& host_subject, ArenaView const& arena, Device& device)
      : subject_(host_subject),
        arena_(arena),
        device_(device),
        gradients_fit_(rounds_fit(GradientTiles::kNeeds)),
        differences_fit_(rounds_fit(DifferenceTiles::kNeeds)) {}
  void run(ProbeTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(ClassifyTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(ClassifySomeTiles const& operation, Range range) override {
    run_tiles(operation, range);
  }
  void run(DrawPartnerTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(MarginTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(PairMarginTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(GradientTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(DifferenceTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(MemberTiles const& operation, Range range) override { run_tiles(operation, range); }
  bool walks_on_chip() const override { return subject_.feasible.rules == 0; }
  bool runs_rounds(GradientKind kind) const override {
    return kind == GradientKind::kProbabilityDifference ? differences_fit_ : gradients_fit_;
  }
  void run(RoundKernel const& kernel, int lanes) override {
    auto const needs = std::visit(
        [](auto const& k) {
          return RoundNeeds{k.kNeeds, k.kTerms};
        },
        kernel);
    device_.run(kernel, plan_rounds(needs, lanes), lanes);
  }

 private:
  struct Entry {
    ScratchNeeds needs;
    TilePlan plan;
    DeviceArray<float> scratch;
  };

  template <class K>
  void run_tiles(K const& kernel, Range range) {
    device_.run(TileKernel(kernel), plan_for(K::kNeeds), range);
  }

  /// Plans are made when first asked for, with their scratch memory.
  TilePlan const& plan_for(ScratchNeeds needs) {
    for (auto const& entry : entries_) {
      if (entry->needs == needs) return entry->plan;
    }
    auto entry = std::make_unique<Entry>();
    entry->needs = needs;
    entry->plan = make_tile_plan(subject_, needs, arena_, device_.properties().limits);
    auto& plan = entry->plan;
    if (!plan.shared_scratch) {
      // Fewer blocks take more tiles each.
      entry->scratch = with_less_memory(plan.blocks, 1, [&](std::int64_t blocks) {
        plan.blocks = static_cast<int>(blocks);
        return DeviceArray<float>(device_, static_cast<std::size_t>(plan.scratch_floats) *
                                               static_cast<std::size_t>(plan.blocks) *
                                               static_cast<std::size_t>(plan.warps));
      });
      plan.scratch = entry->scratch.data();
    }
    entries_.push_back(std::move(entry));
    return entries_.back()->plan;
  }

  RoundPlan plan_rounds(RoundNeeds needs, int lanes) const {
    return make_round_plan(subject_, needs, arena_, device_.properties().limits, lanes);
  }
  /// For few lanes and for many. Rounds' sources of logits know no constraints.
  bool rounds_fit(ScratchNeeds gradient) const {
    if (subject_.feasible.rules + subject_.feasible.finding_rules > 0) return false;
    constexpr int kMany = 1 << 22;
    RoundNeeds const needs{gradient, ProbeTiles::kNeeds.terms};
    return plan_rounds(needs, 1).on_chip && plan_rounds(needs, kMany).on_chip;
  }

  Subject const& subject_;  // on the host
  ArenaView const& arena_;
  Device& device_;
  std::vector<std::unique_ptr<Entry>> entries_;
  bool gradients_fit_;
  bool differences_fit_;
};

}  // namespace

std::unique_ptr<Evaluator> make_fused_evaluator(Subject const& host_subject, ArenaView const& arena,
                                                Device& device) {
  return std::make_unique<FusedEvaluator>(host_subject, arena, device);
}

}  // namespace fairlane
