// Forward pass and input gradient of a multi-layer perceptron over tiles of lanes.
//
// A tile is kV packs of lanes. Activations of a tile lie as [unit][kV * P::kLanes] floats. Each
// output is one chain of fma: bias, then the inputs in ascending order (numerical contract, rule
// 2), however outputs and lanes are tiled.
#pragma once

#include "kernels/core/dense.h"
#include "kernels/core/numerics.h"
#include "kernels/core/views.h"

namespace fairlane {

/// A layer with its transpose, whose outputs are the layer's inputs (zero bias), for gradients. The
/// first layer's are the columns of the search: an encoding that has a slope is part of the weights
/// there.
struct PackedLayer {
  PackedDense forward;
  PackedDense backward;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
};

/// layer      [layers]; none where the subject is no network, of which only the outputs are known
/// max_width  largest number of units of any layer, inputs included
/// sum_width  units of all layers, inputs included
/// classes    outputs of the last layer
struct PackedNetwork {
  int layers = 0;
  int max_width = 0;
  int sum_width = 0;
  int classes = 0;
  PackedLayer const* layer = nullptr;

  FL_HD int inputs() const { return layer[0].forward.inputs; }
  FL_HD int outputs() const { return classes; }
};

namespace detail {

/// A gated activation (is_gated).
template <Pack P>
FL_HD typename P::F gated(Activation activation, typename P::F x) {
  switch (activation) {
    case Activation::kSilu:
      return silu<P>(x);
    case Activation::kGelu:
      return gelu<P>(x);
    default:
      return gelu_tanh<P>(x);
  }
}

/// The same, once in the program: results [count] from sums [count], which may be the same.
template <Pack P>
FL_HOST_DEVICE FL_NOINLINE void activate_gated(Activation activation, float const* sums,
                                               float* results, int count) {
  for (int i = 0; i < count; i += P::kLanes)
    P::store(gated<P>(activation, P::load(sums + i)), results + i);
}

/// gradient *= f'(z) of a gated activation.
template <Pack P>
FL_HOST_DEVICE FL_NOINLINE void gated_gradient(Activation activation, float const* sums,
                                               float* gradient, int count) {
  for (int i = 0; i < count; i += P::kLanes) {
    auto const x = P::load(sums + i);
    auto g = P::load(gradient + i);
    switch (activation) {
      case Activation::kSilu:
        g = g * silu_slope<P>(x);
        break;
      case Activation::kGelu:
        g = g * gelu_slope<P>(x);
        break;
      default:
        g = g * gelu_tanh_slope<P>(x);
        break;
    }
    P::store(g, gradient + i);
  }
}

}  // namespace detail

/// Applies an activation other than relu in place. values [count] floats, a multiple of P::kLanes.
template <Pack P>
FL_HD void activate(Activation activation, float alpha, float* values, int count) {
  // Kernels of LoadsWeights packs take registers for a call, but none for more cases below.
  if constexpr (!LoadsWeights<P>) {
    if (is_gated(activation)) {
      detail::activate_gated<P>(activation, values, values, count);
      return;
    }
  }
  auto const zero = P::splat(0.0F);
  for (int i = 0; i < count; i += P::kLanes) {
    auto x = P::load(values + i);
    switch (activation) {
      case Activation::kLeakyRelu:
        x = P::select(x < zero, x * P::splat(alpha), x);
        break;
      case Activation::kElu: {
        auto const low = P::select(x > zero, zero, x);
        x = P::select(x < zero, P::splat(alpha) * expm1_negative<P>(low), x);
        break;
      }
      case Activation::kTanh:
        x = tanh<P>(x);
        break;
      case Activation::kSigmoid:
        x = sigmoid<P>(x);
        break;
      case Activation::kRelu:
        x = P::relu(x);
        break;
      case Activation::kSilu:
      case Activation::kGelu:
      case Activation::kGeluTanh:
        if constexpr (LoadsWeights<P>) x = detail::gated<P>(activation, x);
        break;
      default:
        break;  // kLinear; kSoftmax acts on logits only, which are kept
    }
    P::store(x, values + i);
  }
}

/// gradient *= f'(z), with the derivative expressed through the activation a = f(z); of a gated one
/// a is z.
template <Pack P>
FL_HD void activate_gradient(Activation activation, float alpha, float const* a, float* gradient,
                             int count) {
  if (is_gated(activation)) {
    detail::gated_gradient<P>(activation, a, gradient, count);
    return;
  }
  auto const zero = P::splat(0.0F);
  auto const one = P::splat(1.0F);
  for (int i = 0; i < count; i += P::kLanes) {
    auto const y = P::load(a + i);
    auto g = P::load(gradient + i);
    switch (activation) {
      case Activation::kRelu:
        g = P::select(y > zero, g, zero);
        break;
      case Activation::kLeakyRelu:
        g = P::select(y > zero, g, g * P::splat(alpha));
        break;
      case Activation::kElu:
        g = P::select(y > zero, g, g * (y + P::splat(alpha)));
        break;
      case Activation::kTanh:
        g = g * (one - y * y);
        break;
      case Activation::kSigmoid:
        g = g * (y * (one - y));
        break;
      default:
        break;
    }
    P::store(g, gradient + i);
  }
}

/// One layer: sums over the given inputs continued from `start`, then the activation unless
/// `sums_only`, where packs lie apart.
template <Pack P, int kV, Start kStart, TileLayout kLayout = TileLayout::kApart, class Inputs>
FL_HD void layer_forward(PackedLayer const& layer, Inputs inputs, float const* in,
                         float const* start, bool sums_only, float* out) {
  constexpr int kStride = kV * P::kLanes;
  auto const& d = layer.forward;
  bool const relu = !sums_only && layer.activation == Activation::kRelu;
  if constexpr (LoadsWeights<P>) {
    Finish const finish = sums_only ? Finish::kLogits : relu ? Finish::kRelu : Finish::kNone;
    bool const activated = HasTeam<P> && !sums_only && !relu;
    dense_layer<P, kV, kLayout>(d, inputs, in, start, kStart, out, finish, nullptr,
                                activated ? layer.activation : Activation::kLinear, layer.alpha);
    if (activated) return;
  } else if (relu) {
    dense<P, kV, Finish::kRelu, kStart>(d, inputs, in, start, out);
  } else {
    dense<P, kV, Finish::kNone, kStart>(d, inputs, in, start, out);
  }
  if (sums_only || relu) return;
  settle<P, kLayout>();  // each takes others' sums
  activate<P>(layer.activation, layer.alpha, out, d.outputs * kStride);
}

/// Most outputs of every other layer, from layer `first` on.
FL_HD int widest_of_every_other(PackedNetwork const& net, int first) {
  int width = 0;
  for (int l = first; l < net.layers; l += 2) {
    int const outputs = net.layer[l].forward.outputs;
    width = outputs > width ? outputs : width;
  }
  return width;
}

/// Layers 1.. of the network, after the first layer's activations are in `hidden`.
/// hidden, other  [..][kV * kLanes], of layers 0, 2, .. and 1, 3, ..
/// Returns the buffer that holds the logits [outputs][kV * kLanes], whose packs lie apart.
template <Pack P, int kV, TileLayout kLayout = TileLayout::kApart>
FL_HD float* upper_layers(PackedNetwork const& net, float* hidden, float* other) {
  for (int l = 1; l < net.layers; ++l) {
    auto const& d = net.layer[l].forward;
    layer_forward<P, kV, Start::kBias, kLayout>(net.layer[l], InputRange{0, d.inputs}, hidden,
                                                d.bias, l + 1 == net.layers, other);
    float* swap = hidden;
    hidden = other;
    other = swap;
  }
  return hidden;
}

/// Logits of a tile. in [inputs][kV * kLanes]; a, b as in upper_layers. Returns the buffer with the
/// logits.
template <Pack P, int kV>
FL_HD float* forward(PackedNetwork const& net, float const* in, float* a, float* b) {
  auto const& d = net.layer[0].forward;
  layer_forward<P, kV, Start::kBias>(net.layer[0], InputRange{0, d.inputs}, in, d.bias,
                                     net.layers == 1, a);
  return upper_layers<P, kV>(net, a, b);
}

/// Whether the passes of a gradient need spare memory: for hidden activations whose derivative is
/// no part of a layer's product.
FL_HD bool needs_spare(PackedNetwork const& net) {
  for (int l = 0; l + 1 < net.layers; ++l) {
    auto const activation = net.layer[l].activation;
    if (activation != Activation::kRelu && activation != Activation::kLinear) return true;
  }
  return false;
}

/// Forward pass that keeps what input_gradient needs of every layer: its activations, or its sums
/// where they are gated.
/// done     layers of which that is there already: at most one
/// kept     [sum_width][kV * kLanes]; the input, and what is done, occupy its first rows on entry.
///          Returns the logits within it.
/// spare    [max_width][kV * kLanes] scratch, where needs_spare
template <Pack P, int kV>
FL_HD float* forward_keep(PackedNetwork const& net, int done, float* kept, float* spare) {
  constexpr int kStride = kV * P::kLanes;
  float* in = kept;
  if (done > 0) in += static_cast<long>(net.inputs()) * kStride;
  for (int l = done; l < net.layers; ++l) {
    auto const& d = net.layer[l].forward;
    float* out = in + static_cast<long>(d.inputs) * kStride;
    if (l > 0 && is_gated(net.layer[l - 1].activation)) {
      detail::activate_gated<P>(net.layer[l - 1].activation, in, spare, d.inputs * kStride);
      in = spare;
    }
    bool const sums_only = l + 1 == net.layers || is_gated(net.layer[l].activation);
    layer_forward<P, kV, Start::kBias>(net.layer[l], InputRange{0, d.inputs}, in, d.bias, sums_only,
                                       out);
    in = out;
  }
  return in;
}

/// Gradient with respect to the input, from the gradient with respect to the logits.
/// kept   as forward_keep left it, but for the gradient at the logits in their place; gradients
///        take the place of what was kept: at the input in the first rows, at the first layer's
///        sums behind it
/// spare  [max_width][kV * kLanes] scratch, where needs_spare
template <Pack P, int kV>
FL_HD void input_gradient(PackedNetwork const& net, float* kept, float* spare) {
  constexpr int kStride = kV * P::kLanes;
  float* in = kept + static_cast<long>(net.sum_width - net.outputs()) * kStride;
  float const* delta = in;
  for (int l = net.layers - 1; l >= 0; --l) {
    auto const& back = net.layer[l].backward;
    in -= static_cast<long>(net.layer[l].forward.inputs) *
          kStride;  // what is kept of that which entered layer l
    if (l > 0 && net.layer[l - 1].activation == Activation::kRelu) {
      dense<P, kV, Finish::kReluGradient, Start::kBias>(back, InputRange{0, back.inputs}, delta,
                                                        back.bias, in, in);
    } else if (l > 0 && net.layer[l - 1].activation != Activation::kLinear) {
      int const count = back.outputs * kStride;
      dense<P, kV, Finish::kNone, Start::kBias>(back, InputRange{0, back.inputs}, delta, back.bias,
                                                spare);
      activate_gradient<P>(net.layer[l - 1].activation, net.layer[l - 1].alpha, in, spare, count);
      for (int i = 0; i < count; i += P::kLanes) P::store(P::load(spare + i), in + i);
    } else {
      dense<P, kV, Finish::kNone, Start::kBias>(back, InputRange{0, back.inputs}, delta, back.bias,
                                                in);
    }
    delta = in;
  }
}

}  // namespace fairlane
