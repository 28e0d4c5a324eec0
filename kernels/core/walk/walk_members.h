// Labels of all members of a tile of heads (kernels/core/walk/walk.h) where little memory is near:
// four members at a time, from sums of the first layer that all members share to logits, which
// never leave it.
//
// A unit of relu that gives 0 for all lanes of all four members is closed: it adds nothing to any
// sum, whose bits stay (but for the sign of a zero, which no label and no probability shows), and
// the next layer leaves it out. Neighbours in a walk have many closed units in common.
#pragma once

#include "kernels/core/walk/walk_chip.h"
#include "kernels/core/walk/walk_tiles.h"

namespace fairlane {

/// Evaluates and counts members of a tile of P::kLanes heads.
/// Team: how the threads that run a pack share its tally, and
///   list_open(mask, first, step, list)  list [..] = (first + i) * step of the i whose bit is set
template <Pack P, class Team>
struct WalkMembers {
  using F = typename P::F;
  using I = typename P::I;
  static constexpr int kN = P::kLanes;
  static constexpr int kM = kWalkMembers;
  static constexpr int kTile = kM * kN;

  Subject const& s;  // on a GPU with pointers to device memory
  Walk const& w;
  WalkModel const& model;
  WalkMemory const& m;

  /// Loads heads [head, head + kN).
  FL_HD void load(std::int64_t head) const {
    float* const in = at(m.a);
    if (s.encoding == nullptr) {
      Team::each(kN, [&](int i) { load_heads(w, head + i, 1, kN, in + i); });
      Team::settle();
    } else {
      auto* const codes = reinterpret_cast<std::int32_t*>(in + s.inputs * kN);
      Team::each(kN, [&](int i) {
        for (int c = w.first; c < s.columns; ++c) codes[c * kN + i] = s.low[c];
        load_heads(w, head + i, 1, kN, codes + i);
      });
      Team::settle();
      FirstLayer<P, 1>::load(s, codes, kN, 0, 0, in);
    }
    auto const* const own = reinterpret_cast<int const*>(model.base + model.own);
    for (int i = 0; i < model.owns; ++i) P::store(P::load(in + own[i] * kN), at(m.own) + i * kN);
    share(in);
    Team::settle();
  }

  /// Evaluates members [first, last) in the order of their groups, variant by variant, and counts
  /// them. first: a multiple of kM; both begin a group
  template <class Target>
  FL_HD void count(int first, int last, Target target) const {
    int const outputs = s.network.outputs();
    bool const whole = outputs == 1 && kM % s.variants == 0;  // no chunk has part of a group
    int group = first / s.variants;
    int variant = 0;
    for (int member = first; member < last; member += kM) {
      float* const z = evaluate(member / kM);
      int const n = last - member < kM ? last - member : kM;
      for (int j = 0; j < n;) {
        if (whole) {
          target.logits = z + j * kN;
          j += s.variants;
        } else {
          float* const to = target.logits + variant * outputs * kN;
          for (int o = 0; o < outputs; ++o) P::store(P::load(z + (o * kM + j) * kN), to + o * kN);
          ++j;
          if (++variant < s.variants) continue;
          variant = 0;
        }
        WalkTally<P, 1, Team>::tally_group(s, w, target, group++);
      }
      Team::settle();
    }
  }

 private:
  template <int kCount>
  static FL_HD void weights_of(float const* p, float (&weights)[kCount]) {
    if constexpr (LoadsWeights<P>) {
      P::template load_weights<kCount>(p, 0, weights);
    } else {
      for (int i = 0; i < kCount; ++i) weights[i] = p[i];
    }
  }
  static constexpr int row_of(int outputs) {
    return (outputs + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
  }

  FL_HD float* at(int place) const { return m.base + place; }
  /// Where a layer finds its list of inputs.
  FL_HD int* list_at(int layer) const {
    return reinterpret_cast<int*>(at(m.open)) + layer % 2 * model.widest;
  }

  // A lane's values of the four members lie side by side: one access for all.
  static FL_HD void load_tile(float const* p, F (&x)[kM]) {
    if constexpr (LoadsWeights<P>) {
      P::template load_side<kM>(p, x);
    } else {
      for (int j = 0; j < kM; ++j) x[j] = P::load(p + j * kN);
    }
  }
  /// Where the caller's part of a tile lies.
  static FL_HD float* own_tile(float* tile) {
    if constexpr (LoadsWeights<P>) {
      return P::template own_side<kM>(tile);
    } else {
      return tile;
    }
  }
  static FL_HD void store_own(F const (&x)[kM], float* own) {
    if constexpr (LoadsWeights<P>) {
      P::store_own(x, own);
    } else {
      for (int j = 0; j < kM; ++j) P::store(x[j], own + j * kN);
    }
  }

  template <int kT>
  static FL_HD void add_input(float const* weights, F const (&x)[kM], F (&sum)[kT][kM]) {
    float row[row_of(kT)];
    weights_of(weights, row);
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int j = 0; j < kM; ++j) sum[o][j] = P::fma(x[j], row[o], sum[o][j]);
    }
  }

  template <int kT>
  static FL_HD void begin(float const* bias, F (&sum)[kT][kM]) {
    float row[row_of(kT)];
    weights_of(bias, row);
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int j = 0; j < kM; ++j) sum[o][j] = P::splat(row[o]);
    }
  }

  /// The first layer's sums over inputs [0, w.first_input).
  FL_HD void share(float const* in) const {
    WalkLayer const& first = layers_of(model)[0];
    float const* const weights = model.base + first.weights;
    for (int u = 0; u < first.row; u += kPrefixUnits) {
      float row[kPrefixUnits];
      F sum[kPrefixUnits];
      weights_of(model.base + first.bias + u, row);
      FL_UNROLL
      for (int i = 0; i < kPrefixUnits; ++i) sum[i] = P::splat(row[i]);
      for (int k = 0; k < w.first_input; ++k) {
        F const x = P::load(in + k * kN);
        weights_of(weights + k * first.row + u, row);
        FL_UNROLL
        for (int i = 0; i < kPrefixUnits; ++i) sum[i] = P::fma(x, row[i], sum[i]);
      }
      FL_UNROLL
      for (int i = 0; i < kPrefixUnits; ++i) P::store(sum[i], at(m.prefix) + (u + i) * kN);
    }
  }

  /// The terms of a chunk, at least one.
  struct Terms {
    WalkTerm const* first;
    int count;
  };
  FL_HD Terms terms_of(int chunk) const {
    auto const* const begin = reinterpret_cast<int const*>(model.base + model.chunk) + chunk;
    return {reinterpret_cast<WalkTerm const*>(model.base + model.term) + begin[0],
            begin[1] - begin[0]};
  }

  /// Adds a term whose value is the same for all heads. weights: the first input's, of the units
  static FL_HD void add_term(WalkTerm const& term, float const* weights, F (&h)[kWalkUnits][kM]) {
    float value[kM];
    weights_of(term.value, value);
    F x[kM];
    FL_UNROLL
    for (int j = 0; j < kM; ++j) x[j] = P::splat(value[j]);
    add_input<kWalkUnits>(weights + term.input, x, h);
  }

  FL_HD void add_any_term(WalkTerm const& term, float const* weights,
                          F (&h)[kWalkUnits][kM]) const {
    if (term.own < 0) {
      add_term(term, weights, h);
      return;
    }
    F const own = P::load(at(m.own) + term.own * kN);
    F x[kM];
    FL_UNROLL
    for (int j = 0; j < kM; ++j) x[j] = own;
    add_input<kWalkUnits>(weights + term.input, x, h);
  }

  /// The first layer's sums of units [u, u + kWalkUnits) of a chunk's members.
  FL_HD void first_sums(WalkLayer const& layer, Terms terms, int u, F (&h)[kWalkUnits][kM]) const {
    float const* const prefix = at(m.prefix) + u * kN;
    float const* const weights = model.base + layer.weights + u;
    FL_UNROLL
    for (int i = 0; i < kWalkUnits; ++i) {
      F const shared = P::load(prefix + i * kN);
      FL_UNROLL
      for (int j = 0; j < kM; ++j) h[i][j] = shared;
    }
    if (model.owns > 0) {
      for (int t = 0; t < terms.count; ++t) add_any_term(terms.first[t], weights, h);
      return;
    }
    add_term(terms.first[0], weights, h);
    FL_UNROLL
    for (int t = 1; t < kNearTerms; ++t) {
      if (t < terms.count) add_term(terms.first[t], weights, h);
    }
    for (int t = kNearTerms; t < terms.count; ++t) add_term(terms.first[t], weights, h);
  }

  /// Applies relu to sums of a unit. Returns whether it is closed: nothing but 0 remains. kept: not
  /// 0 where that is not asked
  static FL_HD bool relu(F (&x)[kM], I kept) {
    FL_UNROLL
    for (int j = 0; j < kM; ++j) {
      x[j] = P::relu(x[j]);
      kept = P::or_i(kept, P::bits_of(x[j]));
    }
    return !P::any(P::lnot(LabelSet<P>::equal(kept, P::splat_i(0))));
  }

  /// A tile of outputs of layer 1, straight from the first layer's sums before relu. Units behind
  /// the last are closed.
  template <int kT>
  FL_HD void second_sums(int chunk, int tile, F (&sum)[kT][kM]) const {
    WalkLayer const& first = layers_of(model)[0];
    WalkLayer const& layer = layers_of(model)[1];
    float const* weights = model.base + layer.weights + tile * layer.inputs * layer.row;
    int const row = layer.row;
    int const units = first.outputs;
    begin<kT>(model.base + layer.bias + tile * row, sum);
    Terms const terms = terms_of(chunk);
    for (int u = 0; u < units; u += kWalkUnits) {
      F h[kWalkUnits][kM];
      first_sums(first, terms, u, h);
      FL_UNROLL
      for (int i = 0; i < kWalkUnits; ++i) {
        if (!relu(h[i], P::splat_i(0))) add_input<kT>(weights + i * row, h[i], sum);
      }
      weights += kWalkUnits * row;
    }
  }

  /// A tile of outputs of a layer, from the inputs that are listed.
  template <int kT>
  FL_HD void listed_sums(WalkLayer const& layer, int tile, float const* in, int const* list,
                         int inputs, F (&sum)[kT][kM]) const {
    float const* const bias = model.base + layer.bias + tile * layer.row;
    auto const* const weights =
        reinterpret_cast<char const*>(model.base + layer.weights + tile * layer.inputs * layer.row);
    if (inputs == 0) {
      begin<kT>(bias, sum);
      return;
    }
    F x[kM];
    float row[row_of(kT)];
    float start[row_of(kT)];
    load_tile(in, x);
    weights_of(bias, start);
    weights_of(reinterpret_cast<float const*>(weights + list[0]), row);
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int j = 0; j < kM; ++j) sum[o][j] = P::fma(x[j], row[o], P::splat(start[o]));
    }
    for (int i = 1; i < inputs; ++i) {
      load_tile(in + i * kTile, x);
      add_input<kT>(reinterpret_cast<float const*>(weights + list[i]), x, sum);
    }
  }

  /// Stores a tile of outputs, from output `first` on: open units in rows from `rows` on, listed
  /// for the next layer, whose rows of weights are `step` bytes apart; or logits. Returns the rows
  /// so far.
  template <int kT>
  FL_HD int finish(WalkLayer const& layer, int first, F (&sum)[kT][kM], bool last, int step,
                   float* out, int rows, int* list) const {
    if (last) {
      Team::settle();  // what lies there was others' until all have read it
      FL_UNROLL
      for (int o = 0; o < kT; ++o) {
        FL_UNROLL
        for (int j = 0; j < kM; ++j) P::store(sum[o][j], out + ((first + o) * kM + j) * kN);
      }
      return 0;
    }
    std::uint32_t open = 0;
    float* to = own_tile(out + rows * kTile);
    I const kept = P::splat_i(layer.closes != 0 ? 0 : 1);
    if (layer.activation == Activation::kRelu) {
      FL_UNROLL
      for (int o = 0; o < kT; ++o) {
        if (relu(sum[o], kept)) continue;
        store_own(sum[o], to);
        to += kTile;
        open |= 1U << o;
      }
    } else {
      FL_UNROLL
      for (int o = 0; o < kT; ++o) store_own(sum[o], to + o * kTile);
      open = static_cast<std::uint32_t>(low_bits(kT));
    }
    Team::list_open(open, first, step, list + rows);
    return rows + static_cast<int>(pop_count(open));
  }

  /// Runs a tile of outputs of a layer of known width.
  /// straight  from the first layer's sums; otherwise from `inputs` rows in `in`
  /// step      0: the last layer
  struct TileOfLayer {
    WalkMembers const& on;
    WalkLayer const& layer;
    bool straight;
    int chunk;
    int tile;
    float const* in;
    int const* list;
    int inputs;
    int step;
    float* out;
    int* next;
    int& rows;

    template <int kT>
    FL_HD void run() const {
      F sum[kT][kM];
      if (straight) {
        on.template second_sums<kT>(chunk, tile, sum);
      } else {
        on.template listed_sums<kT>(layer, tile, in, list, inputs, sum);
      }
      rows =
          on.template finish<kT>(layer, tile * layer.tile, sum, step == 0, step, out, rows, next);
    }
  };

  static FL_HD int row_bytes(WalkLayer const& layer) {
    return layer.row * static_cast<int>(sizeof(float));
  }

  /// An activation other than relu, once in the program.
  static FL_HOST_DEVICE FL_NOINLINE void apply(Activation activation, float alpha, float* values,
                                               int count) {
    activate<P>(activation, alpha, values, count);
  }

  /// All units of the first layer: the logits, or rows whose activation is not relu.
  FL_HD void first_rows(int chunk, int step, float* out) const {
    WalkLayer const& layer = layers_of(model)[0];
    Terms const terms = terms_of(chunk);
    float* const own = own_tile(out);
    for (int u = 0; u < layer.outputs; u += kWalkUnits) {
      F h[kWalkUnits][kM];
      first_sums(layer, terms, u, h);
      FL_UNROLL
      for (int i = 0; i < kWalkUnits; ++i) {
        if (u + i >= layer.outputs) continue;
        if (step != 0) {
          store_own(h[i], own + (u + i) * kTile);
          continue;
        }
        FL_UNROLL
        for (int j = 0; j < kM; ++j) P::store(h[i][j], out + ((u + i) * kM + j) * kN);
      }
    }
    if (step == 0) return;
    Team::each(layer.outputs, [&](int u) { list_at(1)[u] = u * step; });
    Team::settle();
    apply(layer.activation, layer.alpha, out, layer.outputs * kTile);
    Team::settle();
  }

  /// Logits of a chunk's members: [outputs][kM] packs.
  FL_HD float* evaluate(int chunk) const {
    WalkLayer const* const layer = layers_of(model);
    float* in = at(m.a);
    float* other = at(m.b);
    int inputs = layer[0].outputs;
    bool straight = model.layers > 1 && layer[0].activation == Activation::kRelu;
    if (!straight) first_rows(chunk, model.layers > 1 ? row_bytes(layer[1]) : 0, in);
    for (int l = 1; l < model.layers; ++l) {
      WalkLayer const& here = layer[l];
      // Sums of a single tile are complete before they are stored: where their inputs lay.
      bool const stays = straight || here.outputs <= here.tile;
      float* const out = stays ? in : other;
      int const step = l + 1 < model.layers ? row_bytes(layer[l + 1]) : 0;
      int rows = 0;
      for (int first = 0, tile = 0; first < here.outputs; first += here.tile, ++tile) {
        int const left = here.outputs - first;
        int const width = left < here.tile ? left : here.tile;
        detail::at_width<1, kWidestSums>(
            width, TileOfLayer{*this, here, straight, chunk, tile, in, list_at(l), inputs, step,
                               out, list_at(l + 1), rows});
      }
      Team::settle();
      if (step != 0 && here.activation != Activation::kRelu) {
        apply(here.activation, here.alpha, out, here.outputs * kTile);
        Team::settle();
      }
      inputs = rows;
      straight = false;
      if (!stays) other = in;
      in = out;
    }
    return in;
  }
};

}  // namespace fairlane
