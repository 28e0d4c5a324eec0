#include "kernels/device/evaluator.h"

namespace fairlane {

namespace {

class FusedEvaluator final : public Evaluator {
 public:
  FusedEvaluator(Subject const& host_subject, ArenaView const& arena, Device& device)
      : subject_(host_subject), arena_(arena), device_(device) {}
  void run(ProbeTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(ClassifyTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(ClassifySomeTiles const& operation, Range range) override {
    run_tiles(operation, range);
  }
  void run(DrawPartnerTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(MarginTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(GradientTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(DifferenceTiles const& operation, Range range) override { run_tiles(operation, range); }
  void run(MemberTiles const& operation, Range range) override { run_tiles(operation, range); }
  bool runs_rounds() const override { return true; }
  void run(RoundKernel const& kernel, int lanes) override {
    device_.run(kernel, rounds_for(kernel, lanes), lanes);
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
      entry->scratch = DeviceArray<float>(device_, static_cast<std::size_t>(plan.scratch_floats) *
                                                       static_cast<std::size_t>(plan.blocks) *
                                                       static_cast<std::size_t>(plan.warps));
      plan.scratch = entry->scratch.data();
    }
    entries_.push_back(std::move(entry));
    return entries_.back()->plan;
  }

  RoundPlan rounds_for(RoundKernel const& kernel, int lanes) {
    auto const needs = std::visit(
        [](auto const& k) {
          return RoundNeeds{k.kNeeds, k.kTerms};
        },
        kernel);
    auto plan = make_round_plan(subject_, needs, arena_, device_.properties().limits, lanes);
    if (plan.shared_scratch) return plan;
    auto const floats = static_cast<std::size_t>(plan.scratch_floats) *
                        static_cast<std::size_t>(plan.blocks) *
                        static_cast<std::size_t>(plan.warps);
    if (round_scratch_.size() < floats) round_scratch_ = DeviceArray<float>(device_, floats);
    plan.scratch = round_scratch_.data();
    return plan;
  }

  Subject const& subject_;  // on the host
  ArenaView const& arena_;
  Device& device_;
  std::vector<std::unique_ptr<Entry>> entries_;
  DeviceArray<float> round_scratch_;
};

}  // namespace

std::unique_ptr<Evaluator> make_fused_evaluator(Subject const& host_subject, ArenaView const& arena,
                                                Device& device) {
  return std::make_unique<FusedEvaluator>(host_subject, arena, device);
}

}  // namespace fairlane
