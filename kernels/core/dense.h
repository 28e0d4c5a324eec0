// One dense layer over a tile of lanes. Each output is one chain of fma: bias, then the inputs in
// ascending order (numerical contract, rule 2), however outputs and lanes are tiled.
#pragma once

#include "kernels/core/pack.h"
#include "kernels/core/views.h"

#if defined(__CUDA_ARCH__)
#define FL_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define FL_UNROLL  // nvcc's host code runs no layers
#elif defined(__clang__)
#if __has_feature(undefined_behavior_sanitizer)
#define FL_UNROLL  // its checks of every unrolled access take the compiler minutes a file
#else
#define FL_UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define FL_UNROLL _Pragma("GCC unroll 16")
#endif

#ifdef __CUDA_ARCH__
#define FL_NOINLINE __noinline__
#define FL_KEEP_LOOP _Pragma("unroll 1")
#else
#define FL_NOINLINE
#define FL_KEEP_LOOP
#endif

namespace fairlane {

inline constexpr int kMaxTile = 8;  // outputs whose sums are kept in registers together

/// Weights of one dense layer, packed for the register tile that runs it.
/// weights  tile after tile of `tile` outputs (the last may be narrower): [inputs][width]
/// bias     [outputs]
struct PackedDense {
  int inputs = 0;
  int outputs = 0;
  int tile = 1;
  float const* weights = nullptr;
  float const* bias = nullptr;
};

inline float weight_of(PackedDense const& dense, int input, int output) {
  int const first = output / dense.tile * dense.tile;
  int const width = dense.outputs - first < dense.tile ? dense.outputs - first : dense.tile;
  return dense.weights[static_cast<long>(dense.inputs) * first + static_cast<long>(input) * width +
                       output - first];
}

/// The inputs of a dense layer that are added, ascending: those of a range, or those listed, where
/// all others are zero.
/// stored  the input with which the memory of a range begins
struct InputRange {
  int first;
  int last;
  int stored = 0;
  FL_HD int count() const { return last - first; }
  FL_HD int operator[](int i) const { return first + i; }
};
struct InputList {
  int const* input;
  int size;
  FL_HD int count() const { return size; }
  FL_HD int operator[](int i) const { return input[i]; }
};

/// What a layer's sums begin with: its biases [outputs], sums [outputs][kV * kLanes], or sums
/// [outputs][kLanes] that all packs of a tile have in common.
enum class Start { kBias, kSums, kSharedSums };

/// How the packs of a tile lie in its rows: [kV][kLanes], one after the other, or [kLanes][kV], so
/// that a thread reads its lane of all of them at once.
enum class TileLayout { kApart, kSideBySide };

/// What happens to a finished sum before it is stored. kLogits: nothing, but the packs lie apart
/// then, whatever the layout of what they are computed from.
enum class Finish { kNone, kRelu, kReluGradient, kLogits };

/// Packs whose code for a dense layer is one function, called for every layer, and which load
/// weights by the vector.
/// load_weights<kCount>(p, at, w)  w = p[at .. at + kCount), in fours where kCount is a multiple of
///                                 4, in twos where it is even; p is aligned to 16 bytes, at to
///                                 what is read at once
/// load_side<kOf>(p, x), store_side<kOf>(x, p)  a lane's values of as many packs as x has, of kOf
///                                 that lie side by side; p: of the first of them
/// own_side<kOf>(p), store_own(x, own)  the same in two steps, the first of which computes an
///                                 address that stays one: for rows at places that are not known
/// kMostSums                       sums that its registers hold at once
/// settle()                        the pack's other threads are here, too: where memory is one
///                                 thread's in one layout, and another's in the other
/// near(p)                         p, for the compiler a pointer into the memory that such a pack
///                                 works in
template <class P>
concept LoadsWeights = requires(float const* p, float* to, int at, float (&w)[4]) {
  P::template load_weights<4>(p, at, w);
  P::template load_side<4>(p, w);
  P::template store_side<4>(w, to);
  P::store_own(w, P::template own_side<4>(to));
  P::settle();
  P::near(p);
  { P::kMostSums } -> std::convertible_to<int>;
};
inline constexpr int kWeightVector = 4;  // floats that such a pack reads at once
inline constexpr int kWidestTile = 16;   // outputs whose sums it keeps in registers together

/// A dense layer over a tile, and what becomes of its sums.
/// in                 of the input `first` on; the others are those of dense_layer
/// activation, alpha  of sums that `finish` leaves as they are
/// packs, layout      of the tile
struct DenseJob {
  PackedDense const* layer = nullptr;
  float const* in = nullptr;
  float const* start = nullptr;
  float const* gate = nullptr;
  float* out = nullptr;
  int first = 0;
  int last = 0;
  int packs = 0;
  float alpha = 0.0F;
  TileLayout layout = TileLayout::kApart;
  Start begin = Start::kBias;
  Finish finish = Finish::kNone;
  Activation activation = Activation::kLinear;
};

/// LoadsWeights packs that have a way of their own to run a layer: others take a part of it.
template <class P>
concept HasTeam = LoadsWeights<P> && requires(DenseJob const& job) {
  P::template run_layer<1, TileLayout::kApart>(job);
};

/// Before a thread reads or writes others' part of a tile whose packs lie side by side.
template <class P, TileLayout kLayout>
FL_HD void settle() {
  if constexpr (kLayout == TileLayout::kSideBySide) P::settle();
}

namespace detail {

/// Calls call.run<width>() for a width of kFirst to kLast, which the compiler then knows: halves
/// the widths until one is left, so few comparisons decide.
template <int kFirst, int kLast, class Call>
FL_HD void at_width(int width, Call const& call) {
  if constexpr (kFirst == kLast) {
    call.template run<kFirst>();
  } else {
    constexpr int kMiddle = (kFirst + kLast) / 2;
    if (width > kMiddle) {
      at_width<kMiddle + 1, kLast>(width, call);
    } else {
      at_width<kFirst, kMiddle>(width, call);
    }
  }
}

/// What the sum of an output begins with in pack v of a tile.
template <Pack P, int kV, Start kStart>
FL_HD typename P::F begin_sum(float const* start, int output, int v) {
  if constexpr (kStart == Start::kBias) return P::splat(start[output]);
  if constexpr (kStart == Start::kSharedSums) return P::load(start + output * P::kLanes);
  return P::load(start + (output * kV + v) * P::kLanes);
}

/// How far apart two outputs' beginnings lie.
template <Pack P, int kV>
FL_HD int start_stride(Start start) {
  return start == Start::kBias ? 1 : (start == Start::kSums ? kV : 1) * P::kLanes;
}

template <Pack P, int kV, int kT, Finish kFinish, Start kStart, int kOutStride, class Inputs>
FL_HD void dense_tile(float const* weights, Inputs inputs, float const* in, float const* start,
                      float* out, float const* gate) {
  constexpr int kStride = kV * P::kLanes;
  typename P::F sum[kT][kV];
  FL_UNROLL
  for (int o = 0; o < kT; ++o) {
    FL_UNROLL
    for (int v = 0; v < kV; ++v) sum[o][v] = begin_sum<P, kV, kStart>(start, o, v);
  }
  int const count = inputs.count();
  for (int i = 0; i < count; ++i) {
    int const k = inputs[i];
    typename P::F x[kV];
    FL_UNROLL
    for (int v = 0; v < kV; ++v) x[v] = P::load(in + k * kStride + v * P::kLanes);
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      auto const w = P::splat(weights[k * kT + o]);
      FL_UNROLL
      for (int v = 0; v < kV; ++v) sum[o][v] = P::fma(x[v], w, sum[o][v]);
    }
  }
  FL_UNROLL
  for (int o = 0; o < kT; ++o) {
    FL_UNROLL
    for (int v = 0; v < kV; ++v) {
      auto y = sum[o][v];
      int const at = o * kStride + v * P::kLanes;
      if constexpr (kFinish == Finish::kRelu) y = P::relu(y);
      if constexpr (kFinish == Finish::kReluGradient) {
        y = P::select(P::load(gate + at) > P::splat(0.0F), y, P::splat(0.0F));
      }
      P::store(y, out + o * kOutStride + v * P::kLanes);
    }
  }
}

/// A tile for at_width.
template <Pack P, int kV, Finish kFinish, Start kStart, int kOutStride, class Inputs>
struct TileOf {
  float const* weights;
  Inputs inputs;
  float const* in;
  float const* start;
  float* out;
  float const* gate;

  template <int kT>
  FL_HD void run() const {
    dense_tile<P, kV, kT, kFinish, kStart, kOutStride>(weights, inputs, in, start, out, gate);
  }
};

/// A row's values of kPart of a tile's kV packs.
template <Pack P, int kV, TileLayout kLayout, int kPart>
FL_HD void load_row(float const* row, typename P::F (&x)[kPart]) {
  if constexpr (kLayout == TileLayout::kSideBySide) {
    P::template load_side<kV>(row, x);
  } else {
    FL_UNROLL
    for (int v = 0; v < kPart; ++v) x[v] = P::load(row + v * P::kLanes);
  }
}

/// From one pack of a row to the next.
template <Pack P>
FL_HD constexpr int pack_stride(TileLayout layout) {
  return layout == TileLayout::kSideBySide ? 1 : P::kLanes;
}

/// sum += x W of the next kRows inputs, one after the other, for kPart of a tile's kV packs, and
/// steps behind them.
/// weights, in  of the first of them; weights aligned as load_weights asks
template <Pack P, int kV, TileLayout kLayout, int kPart, int kT, int kRows>
FL_HD void add_inputs(float const*& weights, float const*& in, typename P::F (&sum)[kT][kPart]) {
  constexpr int kStride = kV * P::kLanes;
  float w[kRows * kT];
  P::template load_weights<kRows * kT>(weights, 0, w);
  typename P::F x[kRows][kPart];
  FL_UNROLL
  for (int r = 0; r < kRows; ++r) load_row<P, kV, kLayout>(in + r * kStride, x[r]);
  FL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::fma(x[r][v], w[r * kT + o], sum[o][v]);
    }
  }
  weights += kRows * kT;
  in += kRows * kStride;
}

/// Where a tile of outputs reads and writes. weights, in: of the input `first` on
struct TileAt {
  float const* weights;
  float const* in;
  float const* start;
  float const* gate;
  float* out;
  int first;
  int last;
  Start begin;
  Finish finish;
};

/// dense_tile for LoadsWeights packs: the same chains, what happens before and after chosen when it
/// runs.
template <Pack P, int kV, TileLayout kLayout, int kPart, int kT>
FL_HD void dense_part(TileAt const& at) {
  constexpr int kStride = kV * P::kLanes;
  typename P::F sum[kT][kPart];
  if (at.begin == Start::kSums) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) load_row<P, kV, kLayout>(at.start + o * kStride, sum[o]);
  } else {
    float shared[kT];
    if (at.begin == Start::kSharedSums) {
      FL_UNROLL
      for (int o = 0; o < kT; ++o) shared[o] = P::load(at.start + o * P::kLanes);
    } else {
      P::template load_weights<kT>(at.start, 0, shared);
    }
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::splat(shared[o]);
    }
  }
  float const* weights = at.weights;
  float const* in = at.in;
  int left = at.last - at.first;
  if (at.first * kT % kWeightVector == 0) {  // else weights are read one by one
    FL_KEEP_LOOP
    for (; left >= kWeightVector; left -= kWeightVector)
      add_inputs<P, kV, kLayout, kPart, kT, kWeightVector>(weights, in, sum);
  }
  FL_KEEP_LOOP
  for (; left > 0; --left) add_inputs<P, kV, kLayout, kPart, kT, 1>(weights, in, sum);
  // One look at `finish` for all sums.
  if (at.finish == Finish::kRelu) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::relu(sum[o][v]);
    }
  } else if (at.finish == Finish::kReluGradient) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      typename P::F gate[kPart];
      load_row<P, kV, kLayout>(at.gate + o * kStride, gate);
      FL_UNROLL
      for (int v = 0; v < kPart; ++v)
        sum[o][v] = P::select(gate[v] > P::splat(0.0F), sum[o][v], P::splat(0.0F));
    }
  }
  if constexpr (kLayout == TileLayout::kSideBySide) {
    if (at.finish != Finish::kLogits) {
      FL_UNROLL
      for (int o = 0; o < kT; ++o) P::template store_side<kV>(sum[o], at.out + o * kStride);
      return;
    }
  }
  FL_UNROLL
  for (int o = 0; o < kT; ++o) {
    FL_UNROLL
    for (int v = 0; v < kPart; ++v) P::store(sum[o][v], at.out + o * kStride + v * P::kLanes);
  }
}

/// All packs of a tile: together, or half of them where the sums would not fit the registers.
template <Pack P, int kV, TileLayout kLayout, int kT>
FL_HD void dense_tile_parts(TileAt at) {
  constexpr int kPart = kT * kV > P::kMostSums && kV > 2 ? kV / 2 : kV;
  constexpr int kNext = kPart * pack_stride<P>(kLayout);
  int const out = at.finish == Finish::kLogits ? kPart * P::kLanes : kNext;
  for (int v = 0; v < kV; v += kPart) {
    dense_part<P, kV, kLayout, kPart, kT>(at);
    at.in += kNext;
    at.gate += kNext;
    at.out += out;
    if (at.begin == Start::kSums) at.start += kNext;
  }
}

/// A tile for at_width.
template <Pack P, int kV, TileLayout kLayout>
struct TileParts {
  TileAt const& at;

  template <int kT>
  FL_HD void run() const {
    dense_tile_parts<P, kV, kLayout, kT>(at);
  }
};

/// Of dense_layer, from the input `first` to the one before `last`: tiles part, part + parts, .. of
/// outputs.
template <Pack P, int kV, TileLayout kLayout>
FL_HD void dense_tiles(PackedDense const* layer, int first, int last, float const* in,
                       float const* start, Start begin, float* out, Finish finish,
                       float const* gate, int part, int parts) {
  constexpr int kStride = kV * P::kLanes;
  gate = P::near(finish == Finish::kReluGradient ? gate : in);  // never of the null pointer
  in = P::near(in);
  start = P::near(start);
  out = P::near(out);
  int const inputs = layer->inputs;
  int const outputs = layer->outputs;
  int const tile = layer->tile;
  float const* const weights = P::near(layer->weights);
  for (int o = part * tile; o < outputs; o += parts * tile) {
    int const width = outputs - o < tile ? outputs - o : tile;
    TileAt const at{weights + static_cast<long>(inputs) * o + first * width,
                    in,
                    start + o * start_stride<P, kV>(begin),
                    gate + o * kStride,
                    out + o * kStride,
                    first,
                    last,
                    begin,
                    finish};
    at_width<1, kWidestTile>(width, TileParts<P, kV, kLayout>{at});
  }
}

/// dense_layer from the input `first` to the one before `last`.
template <Pack P, int kV, TileLayout kLayout>
FL_HOST_DEVICE FL_NOINLINE void dense_range(PackedDense const* layer, int first, int last,
                                            float const* in, float const* start, Start begin,
                                            float* out, Finish finish, float const* gate) {
  settle<P, kLayout>();
  dense_tiles<P, kV, kLayout>(layer, first, last, in, start, begin, out, finish, gate, 0, 1);
}

}  // namespace detail

/// dense for LoadsWeights packs, with what happens before and after chosen when it runs: one
/// function, called for every layer.
/// in       [inputs][kV * kLanes] from inputs.stored on
/// kLayout  of `in`, `out` and `gate`
/// activation, alpha  that packs with a team apply to what `finish` leaves; others leave it, too
template <Pack P, int kV, TileLayout kLayout = TileLayout::kApart>
FL_HD void dense_layer(PackedDense const& layer, InputRange inputs, float const* in,
                       float const* start, Start begin, float* out, Finish finish,
                       float const* gate = nullptr, Activation activation = Activation::kLinear,
                       float alpha = 0.0F) {
  in += static_cast<long>(inputs.first - inputs.stored) * kV * P::kLanes;
  if constexpr (HasTeam<P>) {
    P::template run_layer<kV, kLayout>({&layer, in, start, gate, out, inputs.first, inputs.last, kV,
                                        alpha, kLayout, begin, finish, activation});
  } else {
    detail::dense_range<P, kV, kLayout>(&layer, inputs.first, inputs.last, in, start, begin, out,
                                        finish, gate);
  }
}

/// out = finish(start + in W) over the given inputs.
/// in     [inputs][kV * kLanes]; with LoadsWeights packs as in dense_layer
/// start  as kStart says, which of kSums may be `out`
/// out    [outputs], kOutStride floats from one to the next; as `in` with LoadsWeights packs, whose
///        widths are theirs
/// gate   [outputs][kV * kLanes] activations whose derivative multiplies the result (kReluGradient
///        only)
/// kWidest  of the layer's register tiles
template <Pack P, int kV, Finish kFinish, Start kStart, int kWidest = kMaxTile,
          int kOutStride = kV* P::kLanes, class Inputs>
FL_HD void dense(PackedDense const& layer, Inputs inputs, float const* in, float const* start,
                 float* out, float const* gate = nullptr) {
  constexpr int kStride = kV * P::kLanes;
  if constexpr (LoadsWeights<P>) {
    dense_layer<P, kV>(layer, inputs, in, start, kStart, out, kFinish, gate);
    return;
  }
  float const* weights = layer.weights;
  int o = 0;
  while (o < layer.outputs) {
    int const rest = layer.outputs - o;
    int const width = rest < layer.tile ? rest : layer.tile;
    float const* from = start + o * detail::start_stride<P, kV>(kStart);
    float* to = out + o * kOutStride;
    float const* through = gate == nullptr ? nullptr : gate + o * kStride;
    detail::at_width<1, kWidest>(width, detail::TileOf<P, kV, kFinish, kStart, kOutStride, Inputs>{
                                            weights, inputs, in, from, to, through});
    weights += static_cast<long>(layer.inputs) * width;
    o += width;
  }
}

}  // namespace fairlane
