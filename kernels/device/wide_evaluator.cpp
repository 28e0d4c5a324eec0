#include <algorithm>

#include "kernels/device/evaluator.h"
#include "kernels/device/less_memory.h"
#include "kernels/device/score_source.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

using Tiles = LaneTiles<ScalarPack, 1>;

/// Where the lanes are. list [n] places, null: lane i is place i
struct Lanes {
  std::int32_t const* x;
  long stride;
  std::int64_t n;
  std::int32_t const* list = nullptr;
};

class WideEvaluator final : public Evaluator {
 public:
  WideEvaluator(Subject const& host_subject, ArenaView const& arena, Device& device,
                std::unique_ptr<ScoreSource> source, std::int64_t bytes, Arithmetic arithmetic)
      : shapes_(host_subject),
        subject_(arena.subject),
        device_(device),
        source_(std::move(source)),
        workspace_(with_less_memory(wide_floats(host_subject, bytes), wide_floor(host_subject),
                                    [&](std::int64_t floats) {
                                      return DeviceArray<float>(device,
                                                                static_cast<std::size_t>(floats));
                                    })),
        arithmetic_(arithmetic) {
    if (arithmetic_ == Arithmetic::kFast) device_.open_gemm();
  }

  void run(ProbeTiles const& k, Range range) override {
    auto const probe = [&](Lanes const& lanes) {
      for_chunks(lanes, all_variants(), ProbeTiles::kNeeds.terms,
                 [&](StoredChunk const& c, std::int64_t base) {
                   run_lanes(ProbeStored{c, decisions_from(k.out, base)}, c);
                 });
    };
    decide({k.x, k.stride, count(range)}, k.out.flags, k.exact, probe);
  }

  void run(ClassifyTiles const& k, Range range) override {
    auto const classify = [&](Lanes const& lanes) {
      for_chunks(lanes, all_variants(), 0, [&](StoredChunk const& c, std::int64_t base) {
        run_lanes(ClassifyStored{c, k.packed + base, k.flags + base}, c);
      });
    };
    decide({k.x, k.stride, count(range)}, k.flags, false, classify);
  }

  void run(ClassifySomeTiles const& k, Range range) override {
    auto const classify = [&](Lanes const& lanes, int first, int last) {
      Members const some{MemberKind::kOrdered, last - first, first};
      for_chunks(lanes, some, 0, [&](StoredChunk const& c, std::int64_t base) {
        run_lanes(ClassifySomeStored{c, last, k.found + base, k.flags + base}, c);
      });
    };
    Lanes const lanes{k.x, k.stride, count(range)};
    classify(lanes, k.first, k.last);
    again(lanes, k.flags, [&](Lanes const& suspects) {
      // The label that these variants were compared with may be an earlier stage's.
      device_.run(ForgetLabels{suspects.list, k.found, k.flags}, {suspects.n, nullptr});
      classify(suspects, 0, shapes_.variants);
    });
  }

  void run(MarginTiles const& k, Range range) override {
    auto const margins = [&](Lanes const& lanes) {
      for_chunks(lanes, all_variants(), 0, [&](StoredChunk const& c, std::int64_t base) {
        run_lanes(MarginStored{c, k.out.from(base)}, c);
      });
    };
    decide({k.x, k.stride, count(range)}, k.out.flags, k.exact, margins);
  }

  void run(PairMarginTiles const& k, Range range) override {
    auto const margins = [&](Lanes const& lanes) {
      Members members{MemberKind::kSides, 2};
      members.pair = k.pair;
      for_chunks(lanes, members, 0, [&](StoredChunk const& c, std::int64_t base) {
        run_lanes(PairMarginStored{c, k.pair.from(base), k.out.from(base)}, c);
      });
    };
    decide({k.x, k.stride, count(range)}, k.out.flags, false, margins);
  }

  void run(DrawPartnerTiles const& k, Range range) override {
    Lanes lanes{k.x, k.stride, count(range)};
    if (lanes.n == 0) return;
    auto const tries = static_cast<int>(Tiles::partner_tries(shapes_));
    if (tries > 0) {
      try_partners(k, lanes, tries);
      device_.compact(k.open_mark, {lanes.n, nullptr}, k.open_list, k.open_count);
      lanes.list = k.open_list;
      lanes.n = count({lanes.n, k.open_count});
    }
    for_chunks(lanes, all_variants(), 0, [&](StoredChunk const& c, std::int64_t base) {
      run_lanes(CountPartnerStored{c, lot_of(k, base), k.chosen + base}, c);
    });
  }

  void run(MemberTiles const& k, Range range) override {
    exactly([&] {
      for_chunks({k.x, k.stride, count(range)}, all_variants(), 0,
                 [&](StoredChunk const& c, std::int64_t first) {
                   run_lanes(CopyMembers{c, k.stride, k.logits + first}, c);
                 });
    });
  }

  void run(GradientTiles const& k, Range range) override {
    std::int64_t const n = count(range);
    if (shapes_.network.layers == 0) {
      differences({MemberKind::kSteps, 1 + shapes_.movable_count}, 0, k, n);
      return;
    }
    auto const needs = wide_gradient_needs(shapes_);
    auto const floats = static_cast<std::int64_t>(workspace_.size());
    for (std::int64_t first = 0; first < n;) {
      int const lanes = wide_chunk(needs, n - first, 2, floats).lanes;
      source_->backpropagate(k, chunk_of({k.x, k.stride, n}, first, lanes), arithmetic_,
                             workspace_.data(), k.gradient + first);
      first += lanes;
    }
  }

  void run(DifferenceTiles const& k, Range range) override {
    Members const moves{MemberKind::kMoves, 1 + shapes_.movable_count, 0, k.spec.step};
    differences(moves, DifferenceTiles::kNeeds.several, k, count(range));
  }

 private:
  Members all_variants() const { return {MemberKind::kVariants, shapes_.variants}; }

  /// Whether scores of such members tell labels, not gradients, which infeasible inputs have, too.
  static bool decides(MemberKind kind) {
    return kind != MemberKind::kMoves && kind != MemberKind::kSteps && kind != MemberKind::kPair;
  }

  static Tiles::PartnerLot lot_of(DrawPartnerTiles const& k, std::int64_t first) {
    return {k.seed + first, k.phase, k.iteration + first, k.run_seed};
  }

  /// Evaluates exactly within `work`, whatever the arithmetic.
  template <class Work>
  void exactly(Work const& work) {
    Arithmetic const usual = std::exchange(arithmetic_, Arithmetic::kExact);
    work();
    arithmetic_ = usual;
  }

  /// Evaluates lanes exactly, or fast and then again where their flags [n] ask for it.
  template <class Evaluate>
  void decide(Lanes const& lanes, std::int32_t const* flags, bool exact, Evaluate const& evaluate) {
    if (exact) {
      exactly([&] { evaluate(lanes); });
      return;
    }
    evaluate(lanes);
    again(lanes, flags, evaluate);
  }

  /// After a fast evaluation of lanes with those flags [n]: evaluate(those whose group may be an
  /// IDI's), exactly.
  template <class Evaluate>
  void again(Lanes lanes, std::int32_t const* flags, Evaluate const& evaluate) {
    if (arithmetic_ == Arithmetic::kExact || lanes.n == 0) return;
    auto const n = static_cast<std::size_t>(lanes.n);
    if (suspect_mark_.size() < n) {
      suspect_mark_ = DeviceArray<std::uint8_t>(device_, n);
      suspect_list_ = DeviceArray<std::int32_t>(device_, n);
      suspect_count_ = DeviceArray<std::int32_t>(device_, 1);
    }
    Range const all{lanes.n, nullptr};
    device_.run(MarkSuspects{flags, suspect_mark_.data()}, all);
    device_.compact(suspect_mark_.data(), all, suspect_list_.data(), suspect_count_.data());
    lanes.list = suspect_list_.data();
    lanes.n = count({lanes.n, suspect_count_.data()});
    if (lanes.n > 0) exactly([&] { evaluate(lanes); });
  }

  /// How many indices a range has. Waits for the device, whose work is long next to that.
  std::int64_t count(Range range) {
    if (range.count == nullptr || range.most == 0) return range.most;
    std::int32_t n = 0;
    device_.download(&n, range.count, sizeof n);
    return std::min<std::int64_t>(range.most, n);
  }

  static LaneChunk chunk_of(Lanes const& lanes, std::int64_t first, int size) {
    bool const listed = lanes.list != nullptr;
    auto const rest = lanes.n - first;
    return {listed ? lanes.x : lanes.x + first, lanes.stride, listed ? lanes.list + first : nullptr,
            static_cast<int>(std::min<std::int64_t>(rest, size)), size};
  }

  template <class K>
  void run_lanes(K const& kernel, StoredChunk const& c) {
    device_.run(LaneKernel(kernel), {c.chunk.n, nullptr});
  }

  /// Evaluates the members of all lanes, chunk after chunk: use(logits of the chunk, lane of the
  /// arrays from which on its places count).
  template <class Use>
  void for_chunks(Lanes const& lanes, Members members, int terms, Use use) {
    auto const needs = wide_needs(shapes_, members.count, terms);
    auto const floats = static_cast<std::int64_t>(workspace_.size());
    auto const lot = members.lot;
    auto const pair = members.pair;
    for (std::int64_t first = 0; first < lanes.n;) {
      auto const size = wide_chunk(needs, lanes.n - first, members.count, floats);
      if (lot.seed != nullptr) {
        members.lot.seed = lot.seed + first;
        members.lot.iteration = lot.iteration + first;
      }
      if (pair.first != nullptr && lanes.list == nullptr) members.pair = pair.from(first);
      WorkspaceCarver memory(workspace_.data());
      StoredChunk stored{subject_, chunk_of(lanes, first, size.lanes), nullptr, nullptr,
                         members.first};
      std::int64_t const outputs = shapes_.network.outputs();
      stored.logits = memory.take(members.count * outputs, size.lanes);
      stored.terms = memory.take(terms * outputs, size.lanes);
      source_->score(stored.chunk, members, size.rows, arithmetic_, memory.rest(), stored.logits);
      if (shapes_.feasible.rules > 0 && decides(members.kind)) {
        LoadMembers const asked{
            subject_, stored.chunk, members.kind, members.first, 0, 0, 0, nullptr,
            0,        0.0F,         members.lot,  members.pair};
        device_.run(LaneKernel(DropInfeasible{asked, stored.logits}),
                    {std::int64_t{members.count} * size.lanes, nullptr});
      }
      use(stored, lanes.list == nullptr ? first : 0);
      first += size.lanes;
    }
  }

  /// Gradients of n lanes and of their partners by differences between the members that `moves`
  /// names.
  template <class Tiles>
  void differences(Members const& moves, int terms, Tiles const& k, std::int64_t n) {
    for (long const behind : {0L, k.stride / 2}) {
      for_chunks({k.x + behind, k.stride, n}, moves, terms,
                 [&](StoredChunk const& c, std::int64_t first) {
                   run_lanes(DifferenceStored{c, k.spec, k.gradient + behind + first, k.stride}, c);
                 });
    }
  }

  void try_partners(DrawPartnerTiles const& k, Lanes const& lanes, int tries) {
    Members const members{MemberKind::kTries, 1 + tries, 0, 0.0F, lot_of(k, 0)};
    for_chunks(lanes, members, 0, [&](StoredChunk const& c, std::int64_t first) {
      run_lanes(TryPartnerStored{c, lot_of(k, first), k.chosen + first, k.open_mark + first}, c);
    });
  }

  Subject const& shapes_;  // on the host
  Subject subject_;        // on the device
  Device& device_;
  std::unique_ptr<ScoreSource> source_;
  DeviceArray<float> workspace_;
  Arithmetic arithmetic_;
  DeviceArray<std::uint8_t> suspect_mark_;
  DeviceArray<std::int32_t> suspect_list_;
  DeviceArray<std::int32_t> suspect_count_;
};

}  // namespace

std::unique_ptr<Evaluator> make_wide_evaluator(Subject const& host_subject, ArenaView const& arena,
                                               Device& device, std::int64_t bytes,
                                               Arithmetic arithmetic) {
  return std::make_unique<WideEvaluator>(host_subject, arena, device,
                                         make_layer_source(host_subject, arena.subject, device),
                                         bytes, arithmetic);
}

std::unique_ptr<Evaluator> make_scorer_evaluator(Subject const& host_subject,
                                                 ArenaView const& arena, ColumnMap const& columns,
                                                 Device& device, SharedScorer& scorer) {
  std::int64_t const row = wide_needs(host_subject, 1, 0).per_row;
  auto const bytes = 2 * kScorerRows * row * static_cast<std::int64_t>(sizeof(float));
  return std::make_unique<WideEvaluator>(host_subject, arena, device,
                                         make_scorer_source(arena.subject, columns, device, scorer),
                                         std::min(bytes, kWideWorkspace), Arithmetic::kExact);
}

}  // namespace fairlane
