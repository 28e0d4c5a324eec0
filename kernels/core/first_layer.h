// How columns enter the first layer: densely, every input times its weights, or where that is less
// work by rows, which is lane after lane: a one-hot column then adds the one row of weights whose
// input is 1. The sums are the same, but for the sign of a zero: to multiply a row by 1 and add it
// rounds once, and an input that is 0 adds nothing to a sum.
#pragma once

#include "kernels/core/gradients.h"
#include "kernels/core/strided.h"

namespace fairlane {

/// Packs that turn rows of lanes into lanes of rows.
/// transpose(rows)  lane l of rows[r] and lane r of rows[l] change places
template <class P>
concept Transposes = requires(typename P::F (&rows)[P::kLanes]) {
  P::transpose(rows);
};

/// What a term that is added by rows costs, and to transpose the sums, in inputs that are
/// multiplied densely: 2.7 and 6 with AVX-512, 3.2 and 10 with AVX2.
inline constexpr int kTermInputs = 3;
inline constexpr int kTransposeInputs = 8;

/// Whether whole columns enter by rows: where that takes less, in whole registers of units.
template <Pack P>
FL_HD bool adds_rows(Subject const& s) {
  if constexpr (Transposes<P>) {
    if (s.rows.weights == nullptr) return false;
    int const units = s.network.layer[0].forward.outputs;
    long const taken = (units + P::kLanes - 1) / P::kLanes * P::kLanes;
    long const cost = taken * (kTermInputs * s.rows.terms + kTransposeInputs);
    return cost < static_cast<long>(units) * s.inputs;
  } else {
    return false;
  }
}

/// Whether a variant's inputs that are zero are left out.
template <Pack P>
FL_HD bool skips_zeros(Subject const& s) {
  if constexpr (Transposes<P>) return s.rows.weights != nullptr;
  return false;
}

/// P: the pack; kV: packs per tile.
template <Pack P, int kV>
struct FirstLayer {
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;
  static constexpr int kTile = kV * kN;

  /// Codes of one pack as inputs of a column of which nobody changes one: in [width] tiles. A
  /// one-hot column that enters by rows has its row's number there.
  static FL_HD void load_whole(Subject const& s, int column, I code, float* in) {
    if (s.encoding == nullptr) {
      P::store(P::to_float(code), in);
      return;
    }
    auto const& e = s.encoding[column];
    if (adds_rows<P>(s) && e.kind == EncodingKind::kOneHot) {
      I const hot = e.template row<P>(code) - P::splat_i(e.dropped);
      auto const none = P::less_i(hot, P::splat_i(0));
      P::store(P::float_of(P::select_i(none, P::splat_i(s.inputs), hot + P::splat_i(e.first))), in);
    } else {
      encode_column<P>(e, code, in, kTile);
    }
  }

  /// Codes of lanes [at, at + kTile), or of packs that lie `apart` lanes apart, as the network's
  /// inputs: in [inputs][kTile]. Columns before `whole` are load_whole's.
  static FL_HOST_DEVICE void load(Subject const& s, std::int32_t const* x, long stride, int at,
                                  int whole, float* in, long apart = kN) {
    load_codes(
        s, [=](int c, int v) { return P::load_i(x + c * stride + at + v * apart); }, whole, in);
  }

  /// The same of codes(column, pack).
  template <class Codes>
  static FL_HD void load_codes(Subject const& s, Codes const& codes, int whole, float* in) {
    if (s.encoding == nullptr) {
      struct Packs {
        I code[kV];
      };
      read_ahead(
          s.columns,
          [&](int c) {
            Packs packs;
            FL_UNROLL
            for (int v = 0; v < kV; ++v) packs.code[v] = codes(c, v);
            return packs;
          },
          [&](int c, Packs const& packs) {
            FL_UNROLL
            for (int v = 0; v < kV; ++v)
              P::store(P::to_float(packs.code[v]), in + c * kTile + v * kN);
          });
      return;
    }
    for (int c = 0; c < s.columns; ++c) {
      auto const& e = s.encoding[c];
      for (int v = 0; v < kV; ++v) {
        float* const to = in + e.first * kTile + v * kN;
        if (c < whole) {
          load_whole(s, c, codes(c, v), to);
        } else {
          encode_column<P>(e, codes(c, v), to, kTile);
        }
      }
    }
  }

  /// Moves a column that load_whole loaded as move_column does.
  static FL_HD void move(Subject const& s, int column, I code, float h, float* in) {
    if (adds_rows<P>(s) && s.encoding[column].kind == EncodingKind::kOneHot) {
      load_whole(s, column, s.encoding[column].template neighbour<P>(code), in);
    } else {
      move_column<P>(s, column, code, h, in, kTile);
    }
  }

  /// out [units][kTile] = the biases and what columns [0, last), which have `inputs` inputs, add to
  /// them.
  static FL_HD void sums(Subject const& s, int last, int inputs, float const* in, float* out) {
    auto const& first = s.network.layer[0].forward;
    if (adds_rows<P>(s)) {
      add_rows(s, last, in, out);
    } else {
      dense<P, kV, Finish::kNone, Start::kBias>(first, InputRange{0, inputs}, in, first.bias, out);
    }
  }

  /// The first layer's activations of whole columns, or its sums where it is the last, or gated and
  /// `keeps` asks for what forward_keep leaves; false where they enter densely.
  static FL_HD bool activations_by_rows(Subject const& s, float const* in, float* out, bool keeps) {
    if (!adds_rows<P>(s)) return false;
    auto const& layer = s.network.layer[0];
    add_rows(s, s.columns, in, out);
    if (s.network.layers > 1 && !(keeps && is_gated(layer.activation)))
      activate<P>(layer.activation, layer.alpha, out, layer.forward.outputs * kTile);
    return true;
  }

  /// fairlane::step_gradient, whose rows are read as they lie where packs can. sums [units][kTile]
  static FL_HD F step_gradient(ColumnEncoding const& e, I code, float const* sums, int units) {
    if constexpr (Transposes<P>) {
      std::int32_t row[kN];
      P::store_i(e.template row<P>(code), row);
      F gain = P::splat(0.0F);
      for (int u = 0; u < units; u += kN) {
        F rise[kN];
        FL_UNROLL
        for (int l = 0; l < kN; ++l)
          rise[l] = P::load(e.rise + static_cast<long>(row[l]) * units + u);
        P::transpose(rise);
        int const count = units - u < kN ? units - u : kN;
        for (int o = 0; o < count; ++o)
          gain = P::fma(P::load(sums + (u + o) * kTile), rise[o], gain);
      }
      return gain;
    }
    return fairlane::step_gradient<P>(e, code, sums, units, kTile);
  }

  /// One value of an input for all lanes.
  static FL_HD void spread(float value, float* in) {
    F const x = P::splat(value);
    for (int v = 0; v < kV; ++v) P::store(x, in + v * kN);
  }

  /// Loads a variant's values behind a shared prefix, and lists in list [inputs] which inputs there
  /// may differ from zero.
  static FL_HD InputList load_variant(Subject const& s, int variant, float* in, int* list) {
    float const* value = s.variant_value + static_cast<long>(variant) * s.selected_inputs;
    int const* selected = s.selected_input;
    int const* const end = selected + s.selected_inputs;
    int count = 0;
    for (int k = s.input_prefix; k < s.inputs; ++k) {
      if (selected < end && *selected == k) {
        ++selected;
        float const x = *value++;
        if (x == 0.0F) continue;
        spread(x, in + k * kTile);
      }
      list[count++] = k;
    }
    return {list, count};
  }

 private:
  static FL_HOST_DEVICE void add_rows(Subject const& s, int last, float const* in, float* out) {
    if constexpr (Transposes<P>) {
      int const units = s.network.layer[0].forward.outputs;
      for (int v = 0; v < kV; ++v) {
        for (int u = 0; u < units; u += kN) {
          float const* const weights = s.rows.weights + u;
          F sum[kN];
          F const bias = P::load(weights + (s.inputs + 1L) * s.rows.stride);
          FL_UNROLL
          for (int l = 0; l < kN; ++l) sum[l] = bias;
          for (int c = 0; c < last; ++c) {
            auto const& e = s.encoding[c];
            float const* x = in + e.first * kTile + v * kN;
            if (e.kind == EncodingKind::kOneHot) {
              FL_UNROLL
              for (int l = 0; l < kN; ++l)
                sum[l] = sum[l] + P::load(weights + ScalarPack::bits_of(x[l]) * s.rows.stride);
              continue;
            }
            for (int j = 0; j < e.width; ++j, x += kTile) {
              F const w = P::load(weights + (e.first + j) * s.rows.stride);
              FL_UNROLL
              for (int l = 0; l < kN; ++l) sum[l] = P::fma(P::splat(x[l]), w, sum[l]);
            }
          }
          P::transpose(sum);
          int const count = units - u < kN ? units - u : kN;
          for (int o = 0; o < count; ++o) P::store(sum[o], out + (u + o) * kTile + v * kN);
        }
      }
    }
  }
};

}  // namespace fairlane
