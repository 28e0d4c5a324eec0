#include <algorithm>

#include "kernels/device/evaluator.h"
#include "kernels/device/wide_network.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

using Tiles = LaneTiles<ScalarPack, 1>;

/// Which inputs are evaluated for every lane; see LoadMembers.
struct Members {
  MemberKind kind = MemberKind::kOwn;
  int count = 1;
  int first = 0;
  float step = 0.0F;
  Tiles::PartnerLot lot{};
};

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
                std::int64_t bytes, Arithmetic arithmetic)
      : shapes_(host_subject),
        subject_(arena.subject),
        device_(device),
        network_(host_subject.network, device),
        workspace_(device, static_cast<std::size_t>(wide_floats(host_subject, bytes))),
        fast_(arithmetic == Arithmetic::kFast) {
    if (fast_) device_.open_gemm();
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
    auto const needs = wide_gradient_needs(shapes_);
    auto const floats = static_cast<std::int64_t>(workspace_.size());
    for (std::int64_t first = 0; first < n;) {
      int const lanes = wide_chunk(needs, n - first, 2, floats).lanes;
      backpropagate(k, chunk_of({k.x, k.stride, n}, first, lanes), k.gradient + first);
      first += lanes;
    }
  }

  void run(DifferenceTiles const& k, Range range) override {
    Members const moves{MemberKind::kMoves, 1 + shapes_.movable_count, 0, k.spec.step};
    std::int64_t const n = count(range);
    for (long const behind : {0L, k.stride / 2}) {
      for_chunks({k.x + behind, k.stride, n}, moves, DifferenceTiles::kNeeds.terms,
                 [&](StoredChunk const& c, std::int64_t first) {
                   run_lanes(DifferenceStored{c, k.spec, k.gradient + behind + first, k.stride}, c);
                 });
    }
  }

 private:
  /// Hands the workspace out, array after array.
  class Carver {
   public:
    explicit Carver(float* memory) : memory_(memory) {}
    float* take(std::int64_t units, int lanes) {
      float* const at = memory_;
      memory_ += units * lanes;
      return at;
    }

   private:
    float* memory_;
  };

  Members all_variants() const { return {MemberKind::kVariants, shapes_.variants}; }

  static Tiles::PartnerLot lot_of(DrawPartnerTiles const& k, std::int64_t first) {
    return {k.seed + first, k.phase, k.iteration + first, k.run_seed};
  }

  /// Evaluates exactly within `work`, whatever the arithmetic.
  template <class Work>
  void exactly(Work const& work) {
    bool const fast = std::exchange(fast_, false);
    work();
    fast_ = fast;
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

  /// After a fast evaluation of lanes with those flags [n]: evaluate(those whose group may be an IDI's), exactly.
  template <class Evaluate>
  void again(Lanes lanes, std::int32_t const* flags, Evaluate const& evaluate) {
    if (!fast_ || lanes.n == 0) return;
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

  /// sums [outputs][stride]: where a library can put its sums, perhaps where the result goes
  void run_dense(Dense const& product, float* sums, long stride) {
    if (!fast_) {
      device_.run(choose_blocks(product, device_.properties().limits));
      return;
    }
    device_.gemm(product, sums, stride);
    device_.run(FinishDense{product, sums, stride},
                {static_cast<std::int64_t>(product.rows) * product.outputs, nullptr});
  }

  /// Evaluates the members of all lanes, chunk after chunk: use(logits of the chunk, lane of the arrays from which on its
  /// places count).
  template <class Use>
  void for_chunks(Lanes const& lanes, Members members, int terms, Use use) {
    auto const needs = wide_needs(shapes_, members.count, terms);
    auto const floats = static_cast<std::int64_t>(workspace_.size());
    auto const lot = members.lot;
    for (std::int64_t first = 0; first < lanes.n;) {
      auto const size = wide_chunk(needs, lanes.n - first, members.count, floats);
      if (lot.seed != nullptr) {
        members.lot.seed = lot.seed + first;
        members.lot.iteration = lot.iteration + first;
      }
      use(evaluate(chunk_of(lanes, first, size.lanes), members, terms, size.rows),
          lanes.list == nullptr ? first : 0);
      first += size.lanes;
    }
  }

  void try_partners(DrawPartnerTiles const& k, Lanes const& lanes, int tries) {
    Members const members{MemberKind::kTries, 1 + tries, 0, 0.0F, lot_of(k, 0)};
    for_chunks(lanes, members, 0, [&](StoredChunk const& c, std::int64_t first) {
      run_lanes(TryPartnerStored{c, lot_of(k, first), k.chosen + first, k.open_mark + first}, c);
    });
  }

  /// Logits of the members of a chunk's lanes. `most_rows` inputs at a time pass through the layers.
  StoredChunk evaluate(LaneChunk const& chunk, Members const& members, int terms, int most_rows) {
    auto const& net = shapes_.network;
    int const lanes = chunk.lanes;
    // A moved column may be any; otherwise all members share the columns before the first selected one.
    int const shared = members.kind == MemberKind::kMoves ? 0 : shapes_.prefix;
    Carver memory(workspace_.data());
    int const shared_inputs = shapes_.input_of(shared);
    float* const codes = memory.take(shared_inputs, lanes);
    float* const sums = memory.take(net.layer[0].forward.outputs, lanes);
    StoredChunk stored{subject_, chunk, nullptr, nullptr, members.first};
    stored.logits = memory.take(static_cast<std::int64_t>(members.count) * net.outputs(), lanes);
    stored.terms = memory.take(static_cast<std::int64_t>(terms) * net.outputs(), lanes);
    float* const in = memory.take(shapes_.inputs, most_rows);
    float* hidden[2] = {nullptr, nullptr};
    for (auto& h : hidden) h = memory.take(net.max_width, most_rows);

    LoadMembers load{subject_, chunk, MemberKind::kOwn, 0, 0, shared, 0, codes, lanes, 0.0F, {}};
    if (shared > 0) {
      device_.run(load, {lanes, nullptr});
      Dense prefix = forward_of(0, 0, shared_inputs, lanes);
      prefix.activation = Activation::kLinear;
      prefix.in = codes;
      prefix.in_stride = lanes;
      prefix.out = {sums, lanes};
      run_dense(prefix, sums, lanes);
    }
    load.kind = members.kind;
    load.first_member = members.first;
    load.first_column = shared;
    load.last_column = shapes_.columns;
    load.out = in;
    load.out_stride = most_rows;
    load.step = members.step;
    load.lot = members.lot;
    int const all = lanes * members.count;
    for (load.first_row = 0; load.first_row < all; load.first_row += most_rows) {
      int const rows = std::min(most_rows, all - load.first_row);
      device_.run(load, {rows, nullptr});
      float const* from = in;
      for (int l = 0; l < net.layers; ++l) {
        Dense layer = forward_of(l, l == 0 ? shared_inputs : 0, net.layer[l].forward.inputs, rows);
        layer.in = from;
        layer.in_stride = most_rows;
        if (l == 0 && shared > 0) {
          layer.bias = nullptr;
          layer.start = {sums, lanes, lanes, 0, load.first_row};
        }
        layer.out = {hidden[l % 2], most_rows};
        if (l + 1 == net.layers) {
          layer.out = {stored.logits, lanes, lanes, static_cast<long>(net.outputs()) * lanes,
                       load.first_row};
        }
        run_dense(layer, hidden[l % 2], most_rows);
        from = hidden[l % 2];
      }
    }
    return stored;
  }

  /// A layer's product over its inputs [first, last); the last layer keeps its sums.
  Dense forward_of(int l, int first, int last, int rows) const {
    auto const& layer = network_.layers()[static_cast<std::size_t>(l)];
    bool const is_last = l + 1 == shapes_.network.layers;
    Dense d;
    d.rows = rows;
    d.inputs = last - first;
    d.outputs = layer.forward.outputs;
    d.weights = layer.forward.weights + first * layer.forward.stride;
    d.weight_stride = layer.forward.stride;
    d.bias = layer.forward.bias;
    d.activation = is_last ? Activation::kLinear : layer.activation;
    d.alpha = layer.alpha;
    return d;
  }

  /// Gradients of a chunk's lanes and of their partners, half a stride behind.
  void backpropagate(GradientTiles const& k, LaneChunk const& chunk, float* gradient) {
    auto const& net = shapes_.network;
    int const rows = 2 * chunk.lanes;
    Carver memory(workspace_.data());
    float* const kept = memory.take(net.sum_width, rows);
    float* delta = memory.take(net.max_width, rows);
    float* other = memory.take(net.max_width, rows);
    float* const terms =
        memory.take(std::int64_t{GradientTiles::kNeeds.terms} * net.outputs(), rows);
    device_.run(
        LoadMembers{
            subject_, chunk, MemberKind::kPair, 0, 0, shapes_.columns, 0, kept, rows, 0.0F, {}},
        {rows, nullptr});
    float* in = kept;
    for (int l = 0; l < net.layers; ++l) {
      auto const& shape = net.layer[l].forward;
      Dense layer = forward_of(l, 0, shape.inputs, rows);
      layer.in = in;
      layer.in_stride = rows;
      in += static_cast<std::int64_t>(shape.inputs) * rows;
      layer.out = {in, rows};
      run_dense(layer, in, rows);
    }
    device_.run(LogitGradients{subject_, k.spec.kind, in, delta, terms, rows}, {rows, nullptr});
    for (int l = net.layers - 1; l >= 0; --l) {
      auto const& back = network_.layers()[static_cast<std::size_t>(l)].backward;
      in -= static_cast<std::int64_t>(net.layer[l].forward.inputs) *
            rows;  // activations that entered layer l
      Dense layer;
      layer.rows = rows;
      layer.inputs = back.inputs;
      layer.outputs = back.outputs;
      layer.in = delta;
      layer.in_stride = rows;
      layer.weights = back.weights;
      layer.weight_stride = back.stride;
      layer.bias = back.bias;
      layer.out = {other, rows};
      if (l > 0) {
        layer.finish = DenseFinish::kActivationGradient;
        layer.activation = net.layer[l - 1].activation;
        layer.alpha = net.layer[l - 1].alpha;
        layer.gate = in;
        layer.gate_stride = rows;
      } else {
        layer.out = {gradient, k.stride, chunk.lanes, k.stride / 2};
      }
      run_dense(layer, other, rows);
      std::swap(delta, other);
    }
    if (shapes_.encoding != nullptr)
      device_.run(StepGradients{subject_, chunk, other, rows, gradient, k.stride}, {rows, nullptr});
  }

  Subject const& shapes_;  // on the host
  Subject subject_;        // on the device
  Device& device_;
  WideNetwork network_;
  DeviceArray<float> workspace_;
  bool fast_;
  DeviceArray<std::uint8_t> suspect_mark_;
  DeviceArray<std::int32_t> suspect_list_;
  DeviceArray<std::int32_t> suspect_count_;
};

}  // namespace

std::unique_ptr<Evaluator> make_wide_evaluator(Subject const& host_subject, ArenaView const& arena,
                                               Device& device, std::int64_t bytes,
                                               Arithmetic arithmetic) {
  return std::make_unique<WideEvaluator>(host_subject, arena, device, bytes, arithmetic);
}

}  // namespace fairlane
