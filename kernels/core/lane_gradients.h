// Gradients of lanes' outputs by their codes: derivatives through the network, or differences of
// probabilities where a column is moved.
#pragma once

#include "kernels/core/network_tiles.h"
#include "kernels/core/steps.h"

namespace fairlane {

/// P: the pack; kV: packs per tile. x [columns][stride] holds integer codes in kernel column order.
template <Pack P, int kV>
struct LaneGradients : NetworkTiles<P, kV> {
  using Network = NetworkTiles<P, kV>;
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;
  using First = FirstLayer<P, kV>;
  static constexpr int kTile = kV * kN;

  static FL_HOST_DEVICE void gradients(Subject const& s, GradientSpec spec, std::int32_t const* x,
                                       long stride, int n, Scratch const& m, float* gradient,
                                       long gradient_stride) {
    for (int at = 0; at < n; at += kTile) {
      if (spec.kind == GradientKind::kProbabilityDifference) {
        First::load(s, x, stride, at, s.columns, m.in);
        difference_tile(s, spec, x + at, stride, m, gradient + at, gradient_stride);
      } else {
        First::load(s, x, stride, at, s.columns, m.kept);
        backward_tile(s, spec, x + at, stride, m, gradient + at, gradient_stride);
      }
    }
  }

  /// Gradients by the codes of a tile's lanes x [columns], whose inputs m.kept begins with. An
  /// encoding without a slope has the difference that a step makes to the first layer's sums
  /// instead of a derivative, in columns that can move.
  /// apart  lanes from one pack to the next
  static FL_HOST_DEVICE void backward_tile(Subject const& s, GradientSpec spec,
                                           std::int32_t const* x, long x_stride, Scratch const& m,
                                           float* gradient, long stride, long apart = kN) {
    int const outputs = s.network.outputs();
    bool const begun =
        First::activations_by_rows(s, m.kept, m.kept + static_cast<long>(s.inputs) * kTile, true);
    float* const z = forward_keep<P, kV>(s.network, begun ? 1 : 0, m.kept, m.b);
    for (int v = 0; v < kV; ++v)
      logit_gradient<P>(spec.kind, s.threshold, z + v * kN, outputs, kTile, m.terms + v * kN);
    input_gradient<P, kV>(s.network, m.kept, m.b);
    for (int c = 0; c < s.columns; ++c) {
      for (int v = 0; v < kV; ++v)
        P::store(P::load(m.kept + c * kTile + v * kN), gradient + c * stride + v * apart);
    }
    if (s.encoding == nullptr) return;
    float const* const sums = m.kept + static_cast<long>(s.inputs) * kTile;
    int const units = s.network.layer[0].forward.outputs;
    for (int c = 0; c < s.columns; ++c) {
      auto const& e = s.encoding[c];
      for (int v = 0; e.rise != nullptr && v < kV; ++v) {
        I const code = P::load_i(x + c * x_stride + v * apart);
        P::store(First::step_gradient(e, code, sums + v * kN, units),
                 gradient + c * stride + v * apart);
      }
    }
  }

  static FL_HOST_DEVICE void difference_tile(Subject const& s, GradientSpec spec,
                                             std::int32_t const* x, long x_stride, Scratch const& m,
                                             float* gradient, long stride, long apart = kN) {
    difference_tile_by(s, NetworkMoves{s, m, x, x_stride, spec.step, apart}, m.terms, gradient,
                       stride, apart);
  }

  /// The source of the differences' logits, as NetworkLogits: of the lanes themselves and with one
  /// column moved.
  /// x  [columns] codes of the tile's lanes, whose packs lie `apart` lanes apart
  struct NetworkMoves {
    Subject const& s;
    Scratch const& m;
    std::int32_t const* x;
    long x_stride;
    float step;
    long apart;
    mutable int shared = -1;  // first inputs, whose sums are in m.prefix; -1: none yet

    static constexpr FL_HD int stride() { return kTile; }
    FL_HD float* own() const { return Network::logits_of(s, m); }
    FL_HD I code(int i, int v) const { return P::load_i(x + s.movable[i] * x_stride + v * apart); }
    /// With movable column i moved.
    FL_HD float* moved(int i) const {
      int const c = s.movable[i];
      float* const column = m.in + s.input_of(c) * kTile;
      bool const by_rows = adds_rows<P>(s);
      if (!by_rows) share(s.input_of(c));
      for (int v = 0; v < kV; ++v) First::move(s, c, code(i, v), step, column + v * kN);
      float* const z = by_rows ? Network::logits_of(s, m)
                               : Network::tail_logits(s, m, InputRange{shared, s.network.inputs()});
      for (int v = 0; v < kV; ++v) First::load_whole(s, c, code(i, v), column + v * kN);
      return z;
    }
    /// By how much, in codes.
    FL_HD F distance(int i, int v) const {
      return difference_step<P>(s, s.movable[i], code(i, v), step);
    }

   private:
    /// Sums of the inputs before `input`, which do not change any more, as far as whole vectors of
    /// weights go. Columns are moved in ascending order.
    FL_HD void share(int input) const {
      auto const& layer = s.network.layer[0].forward;
      int const last = input / kWeightVector * kWeightVector;
      if (shared < 0) {
        dense<P, kV, Finish::kNone, Start::kBias>(layer, InputRange{0, last}, m.in, layer.bias,
                                                  m.prefix);
      } else if (last > shared) {
        dense<P, kV, Finish::kNone, Start::kSums>(layer, InputRange{shared, last}, m.in, m.prefix,
                                                  m.prefix);
      }
      shared = last;
    }
  };

  /// terms [2 * outputs], with the stride of the logits, which are overwritten.
  template <class Moves>
  static FL_HOST_DEVICE void difference_tile_by(Subject const& s, Moves const& moves, float* terms,
                                                float* gradient, long stride, long apart = kN) {
    int const outputs = s.network.outputs();
    int const z_stride = moves.stride();
    float* z = moves.own();
    I label[kV];
    F here[kV];
    for (int v = 0; v < kV; ++v) {
      label[v] = label_of<P>(z + v * kN, outputs, z_stride, s.threshold);
      here[v] =
          label_probability<P>(s.scores, label[v], z + v * kN, outputs, z_stride, terms + v * kN);
    }
    for (int c = 0; c < s.columns; ++c) {
      for (int v = 0; v < kV; ++v) P::store(P::splat(0.0F), gradient + c * stride + v * apart);
    }
    for (int i = 0; i < s.movable_count; ++i) {
      z = moves.moved(i);
      for (int v = 0; v < kV; ++v) {
        F const there =
            label_probability<P>(s.scores, label[v], z + v * kN, outputs, z_stride, terms + v * kN);
        P::store(P::divide(there - here[v], moves.distance(i, v)),
                 gradient + s.movable[i] * stride + v * apart);
      }
    }
  }
};

}  // namespace fairlane
