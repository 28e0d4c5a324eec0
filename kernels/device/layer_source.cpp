// Scores from a network's layers, all rows together passing one after the other.

#include <algorithm>
#include <utility>

#include "kernels/device/score_source.h"
#include "kernels/device/wide_network.h"
#include "kernels/device/wide_plan.h"

namespace fairlane {

namespace {

class LayerSource final : public ScoreSource {
 public:
  LayerSource(Subject const& host_subject, Subject const& subject, Device& device)
      : shapes_(host_subject),
        subject_(subject),
        device_(device),
        network_(host_subject.network, device) {}

  void score(LaneChunk const& chunk, Members const& members, int most_rows, Arithmetic arithmetic,
             float* workspace, float* scores) override {
    auto const& net = shapes_.network;
    int const lanes = chunk.lanes;
    // A moved column may be any; otherwise all members share the columns before the first selected
    // one.
    int const shared = members.kind == MemberKind::kMoves ? 0 : shapes_.prefix;
    WorkspaceCarver memory(workspace);
    int const shared_inputs = shapes_.input_of(shared);
    float* const codes = memory.take(shared_inputs, lanes);
    float* const sums = memory.take(net.layer[0].forward.outputs, lanes);
    float* const in = memory.take(shapes_.inputs, most_rows);
    float* hidden[2] = {nullptr, nullptr};
    for (auto& h : hidden) h = memory.take(net.max_width, most_rows);

    LoadMembers load{subject_, chunk, MemberKind::kOwn, 0, 0, shared, 0, codes, lanes, 0.0F,
                     {},       {}};
    if (shared > 0) {
      device_.run(load, {lanes, nullptr});
      Dense prefix = forward_of(0, 0, shared_inputs, lanes);
      prefix.activation = Activation::kLinear;
      prefix.in = codes;
      prefix.in_stride = lanes;
      prefix.out = {sums, lanes};
      run_dense(prefix, arithmetic, sums, lanes);
    }
    load.kind = members.kind;
    load.first_member = members.first;
    load.first_column = shared;
    load.last_column = shapes_.columns;
    load.out = in;
    load.out_stride = most_rows;
    load.step = members.step;
    load.lot = members.lot;
    load.pair = members.pair;
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
          layer.out = {scores, lanes, lanes, static_cast<long>(net.outputs()) * lanes,
                       load.first_row};
        }
        run_dense(layer, arithmetic, hidden[l % 2], most_rows);
        from = hidden[l % 2];
      }
    }
  }

  void backpropagate(GradientTiles const& k, LaneChunk const& chunk, Arithmetic arithmetic,
                     float* workspace, float* gradient) override {
    auto const& net = shapes_.network;
    int const rows = 2 * chunk.lanes;
    WorkspaceCarver memory(workspace);
    float* const kept = memory.take(net.sum_width, rows);
    float* delta = memory.take(net.max_width, rows);
    float* other = memory.take(net.max_width, rows);
    float* const terms =
        memory.take(std::int64_t{GradientTiles::kNeeds.several} * net.outputs(), rows);
    device_.run(
        LoadMembers{
            subject_, chunk, MemberKind::kPair, 0, 0, shapes_.columns, 0, kept, rows, 0.0F, {}, {}},
        {rows, nullptr});
    float* in = kept;
    for (int l = 0; l < net.layers; ++l) {
      auto const& shape = net.layer[l].forward;
      Dense layer = forward_of(l, 0, shape.inputs, rows);
      if (is_gated(layer.activation)) layer.activation = Activation::kLinear;  // keeps its sums
      layer.in = in;
      layer.in_stride = rows;
      std::int64_t const entered = static_cast<std::int64_t>(shape.inputs) * rows;
      if (l > 0 && is_gated(net.layer[l - 1].activation)) {
        device_.run(ActivateSums{net.layer[l - 1].activation, in, delta}, {entered, nullptr});
        layer.in = delta;
      }
      in += entered;
      layer.out = {in, rows};
      run_dense(layer, arithmetic, in, rows);
    }
    device_.run(LogitGradients{subject_, k.spec.kind, in, terms, rows}, {rows, nullptr});
    float const* from = in;  // the gradient at a layer's sums
    float const* sums = from;
    for (int l = net.layers - 1; l >= 0; --l) {
      auto const& back = network_.layers()[static_cast<std::size_t>(l)].backward;
      in -= static_cast<std::int64_t>(net.layer[l].forward.inputs) *
            rows;  // what is kept of that which entered layer l
      Dense layer;
      layer.rows = rows;
      layer.inputs = back.inputs;
      layer.outputs = back.outputs;
      layer.in = from;
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
      run_dense(layer, arithmetic, other, rows);
      sums = std::exchange(from, other);
      std::swap(delta, other);
    }
    if (shapes_.encoding != nullptr)
      device_.run(StepGradients{subject_, chunk, sums, rows, gradient, k.stride}, {rows, nullptr});
  }

 private:
  /// sums [outputs][stride]: where a library can put its sums, perhaps where the result goes
  void run_dense(Dense const& product, Arithmetic arithmetic, float* sums, long stride) {
    if (arithmetic == Arithmetic::kExact) {
      device_.run(choose_blocks(product, device_.properties().limits));
      return;
    }
    device_.gemm(product, sums, stride);
    device_.run(FinishDense{product, sums, stride},
                {static_cast<std::int64_t>(product.rows) * product.outputs, nullptr});
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

  Subject const& shapes_;  // on the host
  Subject subject_;        // on the device
  Device& device_;
  WideNetwork network_;
};

}  // namespace

std::unique_ptr<ScoreSource> make_layer_source(Subject const& host_subject, Subject const& subject,
                                               Device& device) {
  return std::make_unique<LayerSource>(host_subject, subject, device);
}

}  // namespace fairlane
