// One dense layer over a tile of lanes. Each output is one chain of fma: bias, then the inputs in
// ascending order (numerical contract, rule 2), however outputs and lanes are tiled.
#pragma once

#include "kernels/core/pack.h"

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
#else
#define FL_NOINLINE
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

/// What happens to a finished sum before it is stored.
enum class Finish { kNone, kRelu, kReluGradient };

/// Packs whose code for a dense layer is one function, called for every layer, and which load
/// weights by the vector.
/// load_weights<kCount>(p, at, w)  w = p[at .. at + kCount), in fours where kCount is a multiple of
///                                 4, in twos where it is even; p is aligned to 16 bytes, at to
///                                 what is read at once
/// kMostSums                       sums that its registers hold at once
/// near(p)                         p, for the compiler a pointer into the memory that such a pack
///                                 works in
template <class P>
concept LoadsWeights = requires(float const* p, int at, float (&w)[4]) {
  P::template load_weights<4>(p, at, w);
  P::near(p);
  { P::kMostSums } -> std::convertible_to<int>;
};
inline constexpr int kWeightVector = 4;  // floats that such a pack reads at once
inline constexpr int kWidestTile = 16;   // outputs whose sums it keeps in registers together

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

template <Pack P, int kV, int kT, Finish kFinish, bool kFromMemory, int kOutStride, class Inputs>
FL_HD void dense_tile(float const* weights, Inputs inputs, float const* in, float const* bias,
                      float* out, float const* gate) {
  constexpr int kStride = kV * P::kLanes;
  typename P::F sum[kT][kV];
  FL_UNROLL
  for (int o = 0; o < kT; ++o) {
    FL_UNROLL
    for (int v = 0; v < kV; ++v) {
      sum[o][v] = kFromMemory ? P::load(bias + o * kStride + v * P::kLanes) : P::splat(bias[o]);
    }
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
template <Pack P, int kV, Finish kFinish, bool kFromMemory, int kOutStride, class Inputs>
struct TileOf {
  float const* weights;
  Inputs inputs;
  float const* in;
  float const* bias;
  float* out;
  float const* gate;

  template <int kT>
  FL_HD void run() const {
    dense_tile<P, kV, kT, kFinish, kFromMemory, kOutStride>(weights, inputs, in, bias, out, gate);
  }
};

/// sum += x W of inputs [k, k + kRows), one after the other, for kPart packs of a tile that are
/// kStride floats apart. in: of input k on
template <Pack P, int kStride, int kPart, int kT, int kRows>
FL_HD void add_inputs(float const* weights, int k, float const* in,
                      typename P::F (&sum)[kT][kPart]) {
  float w[kRows * kT];
  P::template load_weights<kRows * kT>(weights, k * kT, w);
  typename P::F x[kRows][kPart];
  FL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    FL_UNROLL
    for (int v = 0; v < kPart; ++v) x[r][v] = P::load(in + r * kStride + v * P::kLanes);
  }
  FL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::fma(x[r][v], w[r * kT + o], sum[o][v]);
    }
  }
}

/// Where a tile of outputs reads and writes. in: of the input `first` on; from_memory: start holds
/// sums, otherwise biases
struct TileAt {
  float const* weights;
  float const* in;
  float const* start;
  float const* gate;
  float* out;
  int first;
  int last;
  bool from_memory;
  Finish finish;
};

/// dense_tile for LoadsWeights packs: the same chains, what happens before and after chosen when it
/// runs.
template <Pack P, int kStride, int kPart, int kT>
FL_HD void dense_part(TileAt const& at) {
  typename P::F sum[kT][kPart];
  if (at.from_memory) {
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::load(at.start + o * kStride + v * P::kLanes);
    }
  } else {
    float bias[kT];
    P::template load_weights<kT>(at.start, 0, bias);
    FL_UNROLL
    for (int o = 0; o < kT; ++o) {
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) sum[o][v] = P::splat(bias[o]);
    }
  }
  float const* in = at.in;
  for (int k = at.first; k < at.last;) {
    int vectors = k % kWeightVector == 0 ? (at.last - k) / kWeightVector : 0;
    for (; vectors > 0; --vectors) {
      add_inputs<P, kStride, kPart, kT, kWeightVector>(at.weights, k, in, sum);
      k += kWeightVector;
      in += kWeightVector * kStride;
    }
    if (k == at.last) break;
    add_inputs<P, kStride, kPart, kT, 1>(at.weights, k, in, sum);
    ++k;
    in += kStride;
  }
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
      FL_UNROLL
      for (int v = 0; v < kPart; ++v) {
        auto const open = P::load(at.gate + o * kStride + v * P::kLanes) > P::splat(0.0F);
        sum[o][v] = P::select(open, sum[o][v], P::splat(0.0F));
      }
    }
  }
  FL_UNROLL
  for (int o = 0; o < kT; ++o) {
    FL_UNROLL
    for (int v = 0; v < kPart; ++v) P::store(sum[o][v], at.out + o * kStride + v * P::kLanes);
  }
}

/// All packs of a tile: together, or half of them where the sums would not fit the registers.
template <Pack P, int kV, int kT>
FL_HD void dense_tile_apart(TileAt at) {
  constexpr int kPart = kT * kV > P::kMostSums && kV > 2 ? kV / 2 : kV;
  for (int v = 0; v < kV; v += kPart) {
    dense_part<P, kV * P::kLanes, kPart, kT>(at);
    at.in += kPart * P::kLanes;
    at.gate += kPart * P::kLanes;
    at.out += kPart * P::kLanes;
    if (at.from_memory) at.start += kPart * P::kLanes;
  }
}

/// A tile for at_width.
template <Pack P, int kV>
struct TileApart {
  TileAt const& at;

  template <int kT>
  FL_HD void run() const {
    dense_tile_apart<P, kV, kT>(at);
  }
};

/// dense for LoadsWeights packs.
template <Pack P, int kV>
FL_HOST_DEVICE FL_NOINLINE void dense_apart(PackedDense const* layer, int first, int last,
                                            float const* in, float const* start, bool from_memory,
                                            float* out, Finish finish, float const* gate) {
  constexpr int kStride = kV * P::kLanes;
  gate = P::near(finish == Finish::kReluGradient ? gate : in);  // never of the null pointer
  in = P::near(in);
  start = P::near(start);
  out = P::near(out);
  float const* weights = P::near(layer->weights);
  int const inputs = layer->inputs;
  int const outputs = layer->outputs;
  int const tile = layer->tile;
  for (int o = 0; o < outputs;) {
    int const width = outputs - o < tile ? outputs - o : tile;
    TileAt const at{weights,
                    in,
                    from_memory ? start + o * kStride : start + o,
                    gate + o * kStride,
                    out + o * kStride,
                    first,
                    last,
                    from_memory,
                    finish};
    at_width<1, kWidestTile>(width, TileApart<P, kV>{at});
    weights += static_cast<long>(inputs) * width;
    o += width;
  }
}

}  // namespace detail

/// out = finish(start + in W) over the given inputs, where start is the bias, or with kFromMemory
/// the sums in `start`.
/// in     [inputs][kV * kLanes]; with LoadsWeights packs from inputs.stored on
/// start  [outputs] or [outputs][kV * kLanes], which may be `out`
/// out    [outputs], kOutStride floats from one to the next; as `in` with LoadsWeights packs
/// gate   [outputs][kV * kLanes] activations whose derivative multiplies the result (kReluGradient
///        only)
/// kWidest  of the layer's register tiles
template <Pack P, int kV, Finish kFinish, bool kFromMemory, int kWidest = kMaxTile,
          int kOutStride = kV* P::kLanes, class Inputs>
FL_HD void dense(PackedDense const& layer, Inputs inputs, float const* in, float const* start,
                 float* out, float const* gate = nullptr) {
  constexpr int kStride = kV * P::kLanes;
  if constexpr (LoadsWeights<P>) {
    in += static_cast<long>(inputs.first - inputs.stored) * kStride;
    detail::dense_apart<P, kV>(&layer, inputs.first, inputs.last, in, start, kFromMemory, out,
                               kFinish, gate);
    return;
  }
  float const* weights = layer.weights;
  int o = 0;
  while (o < layer.outputs) {
    int const rest = layer.outputs - o;
    int const width = rest < layer.tile ? rest : layer.tile;
    float const* from = kFromMemory ? start + o * kStride : start + o;
    float* to = out + o * kOutStride;
    float const* through = gate == nullptr ? nullptr : gate + o * kStride;
    detail::at_width<1, kWidest>(
        width, detail::TileOf<P, kV, kFinish, kFromMemory, kOutStride, Inputs>{weights, inputs, in,
                                                                               from, to, through});
    weights += static_cast<long>(layer.inputs) * width;
    o += width;
  }
}

}  // namespace fairlane
