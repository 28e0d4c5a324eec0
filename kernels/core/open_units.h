// Which units of a network of relus can be open in a box of inputs: proofs for the float32 results
// of the lane core, fast enough to pay for boxes of a few hundred inputs.
//
// What is proven, and why. As in kernels/boxes/network_bounds.h, the core's sum z of a layer is
// W a + b + e in real numbers, |e| <= n (2^-24 M + 2^-149) (1 + 1/50), M = |b| + sum |W| A,
// A >= |a|, n inputs, and M below kLargest proves that nothing overflows. The values a that enter a
// layer lie in
//     centre + sum of generator * t, each t of [-1, 1], + loose * [-1, 1]
// with a centre, generators and something loose of each unit's own; the t are the same for all
// units of all layers. There is one for each input that varies. A layer maps centre and generators
// by W and what is loose by |W|; then z lies within centre +- (sum |generator| + loose).
// Where that is not above 0, relu gives 0 for every input: the unit is closed, and leaving out what
// it adds to the next layer's sums changes no bit of them (but for the sign of a zero, which no
// label and no probability shows). Where it is not below 0, relu changes nothing. Where
// low < 0 < high, relu lies between k z and k z + 2 m for k = high / (high - low), m = -k low / 2:
// a line below, as k <= 1, and the chord above. So centre and generators are scaled by k, m is
// added to the centre, and becomes a generator of its own, or, where that takes too long, loose.
// Then |centre| + sum |generator| + loose <= 2 high = 2 A.
// All is computed in float32, where an operation is rounded by at most 2^-24 of its result. So a
// sum of n products is off by (n + 1) 2^-24 of the sum of their magnitudes, which over the centre
// and all m generators is at most 2 M, and what is loose by as much of M; k z's scaling, k and m
// are off by less than 2^-20 of A; m magnitudes are added with an error below m 2^-24 of 2 M. With
// the core's own error all is below 2^-24 M (4 n + 2 m + 64), times 1.05 because M is rounded, too,
// with n and m up to kMostBoundTerms; kTiny is more than all products of subnormal numbers lose.
// That is added to what is loose in each layer.
// Source: Singh et al., Fast and effective robustness certification (DeepZ), NeurIPS 2018.
#pragma once

#include "kernels/core/bits.h"
#include "kernels/core/dense.h"

namespace fairlane {

inline constexpr int kBoundFloats = 16;  // of which rows of bounds hold a multiple: the widest pack
inline constexpr int kMostBoundTerms = 1 << 15;  // inputs and units of all layers together

/// weights, magnitudes   [inputs][stride], and their magnitudes; 0 behind the outputs
/// bias, bias_magnitude  [stride]; -1 and 1 behind the outputs, so that nothing there is open
struct BoundLayer {
  int inputs = 0;
  int outputs = 0;
  int stride = 0;
  float const* weights = nullptr;
  float const* magnitudes = nullptr;
  float const* bias = nullptr;
  float const* bias_magnitude = nullptr;
};

/// rows, next           [generators + 1][widest stride]
/// spread, next_spread  [2][widest stride] M of each sum, and what is loose
/// low, high            [widest stride] bounds of sums, in the end of the logits
/// slope, offset        [widest stride]
/// open                 [layers] lists of what enters a layer and may differ from 0; the first has
///                      all inputs, and whatever number comes behind them
/// opens                [layers] lengths of these
/// keep                 [layers][widest stride] of the same but the first: 1 for what is listed,
///                      else 0
/// undecided            [widest stride]
/// detailed             whether units that may be closed or open have generators
struct OpenMemory {
  float* rows = nullptr;
  float* next = nullptr;
  float* spread = nullptr;
  float* next_spread = nullptr;
  float* low = nullptr;
  float* high = nullptr;
  float* slope = nullptr;
  float* offset = nullptr;
  int* const* open = nullptr;
  int* opens = nullptr;
  float* const* keep = nullptr;
  int* undecided = nullptr;
  bool detailed = false;
};

/// Bounds in a box, units side by side in the packs.
template <Pack P>
class OpenUnits {
 public:
  /// Encloses what every layer gives for the inputs of a box: lists what is open, and bounds the
  /// logits.
  /// low, high  [inputs]
  /// Returns whether all that the core computes for them is proven finite; otherwise nothing holds.
  static bool enclose(BoundLayer const* layer, int layers, float const* low, float const* high,
                      OpenMemory memory) {
    OpenUnits units(memory);
    units.start(layer[0], low, high);
    for (int l = 0;; ++l) {
      if (!units.bound(layer[l])) return false;
      if (l + 1 == layers) return true;
      units.activate(layer[l], l + 1);
      units.advance(layer[l + 1], l + 1, layer[l].stride);
    }
  }

 private:
  using F = typename P::F;
  static constexpr int kN = P::kLanes;
  static_assert(kBoundFloats % kN == 0);
  static constexpr float kLargest = 1.0e37F;
  static constexpr float kRounding = 0x1p-24F * 1.05F;
  static constexpr float kTiny = 1.0e-30F;
  static constexpr float kLineRounding = 0x1p-20F;

  explicit OpenUnits(OpenMemory const& memory) : m_(memory) {}

  static void scale_row(float factor, float const* from, long stride, float* to) {
    for (long o = 0; o < stride; o += kN) P::store(P::splat(factor) * P::load(from + o), to + o);
  }

  /// The first layer's sums.
  void start(BoundLayer const& layer, float const* low, float const* high) {
    long const stride = layer.stride;
    float* const centre = m_.slope;
    float* const reach = m_.offset;
    rows_ = 1;
    for (int k = 0; k < layer.inputs; ++k) {
      centre[k] = low[k] + (high[k] - low[k]) * 0.5F;
      float const most = -low[k] > high[k] ? -low[k] : high[k];
      reach[k] = most < 0.0F ? -most : most;
      float const above = high[k] - centre[k];
      float const below = centre[k] - low[k];
      float const radius = above > below ? above : below;
      if (radius != 0.0F)
        scale_row(radius, layer.weights + k * stride, stride, m_.rows + rows_++ * stride);
    }
    for (long o = 0; o < stride; o += kN) {
      F sum = P::load(layer.bias + o);
      F size = P::load(layer.bias_magnitude + o);
      for (int k = 0; k < layer.inputs; ++k) {
        F const weights = P::load(layer.weights + k * stride + o);
        sum = P::fma(P::splat(centre[k]), weights, sum);
        size = P::fma(P::splat(reach[k]), P::abs(weights), size);
      }
      P::store(sum, m_.rows + o);
      P::store(size, m_.spread + o);
      P::store(P::splat(0.0F), m_.spread + stride + o);
    }
  }

  /// Bounds a layer's sums. Returns whether they are finite.
  bool bound(BoundLayer const& layer) {
    long const stride = layer.stride;
    float const factor = kRounding * static_cast<float>(4 * layer.inputs + 2 * (rows_ - 1) + 64);
    bool finite = true;
    for (long o = 0; o < stride; o += kN) {
      F const size = P::load(m_.spread + o);
      finite = finite && !P::any(P::lnot(size < P::splat(kLargest)));
      F const loose =
          P::load(m_.spread + stride + o) + P::fma(size, P::splat(factor), P::splat(kTiny));
      P::store(loose, m_.spread + stride + o);
      F radius = loose;
      F other = P::splat(0.0F);
      float const* row = m_.rows + stride + o;
      int r = 1;
      for (; r + 1 < rows_; r += 2, row += 2 * stride) {
        radius = radius + P::abs(P::load(row));
        other = other + P::abs(P::load(row + stride));
      }
      if (r < rows_) radius = radius + P::abs(P::load(row));
      radius = radius + other;
      F const centre = P::load(m_.rows + o);
      P::store(centre - radius, m_.low + o);
      P::store(centre + radius, m_.high + o);
    }
    return finite;
  }

  /// What relu makes of a layer's sums: a list of what is open.
  void activate(BoundLayer const& layer, int list) {
    long const stride = layer.stride;
    F const zero = P::splat(0.0F);
    int* const open = m_.open[list];
    int opens = 0;
    undecided_ = 0;
    auto number = P::load_i(m_.open[0]);  // 0, 1, ...
    for (long o = 0; o < stride; o += kN) {
      F const low = P::load(m_.low + o);
      F const high = P::load(m_.high + o);
      auto const above = high > zero;
      auto const both = P::land(above, low < zero);
      F const k = P::divide(high, high - low);
      F const slope = P::select(both, k, P::select(above, P::splat(1.0F), zero));
      F const offset = P::select(both, k * (zero - low) * P::splat(0.5F), zero);
      P::store(slope, m_.slope + o);
      P::store(offset, m_.offset + o);
      P::store(P::fma(P::load(m_.rows + o), slope, offset), m_.rows + o);
      float* row = m_.rows + stride + o;
      for (int r = 1; r < rows_; ++r, row += stride) P::store(P::load(row) * slope, row);
      F const error = P::select(both, high * P::splat(kLineRounding), zero);
      F const more = m_.detailed ? error : error + offset;
      float* const loose = m_.spread + stride + o;
      P::store(P::fma(P::load(loose), slope, more), loose);
      P::store(P::select(above, P::splat(1.0F), zero), m_.keep[list] + o);
      opens += P::compress(number, above, open + opens);
      if (m_.detailed) undecided_ += P::compress(number, both, m_.undecided + undecided_);
      number = number + P::splat_i(kN);
    }
    m_.opens[list] = opens;
  }

  /// A layer's sums from what the one before gives. before: its stride
  void advance(BoundLayer const& layer, int list, int before) {
    int const* const open = m_.open[list];
    int const opens = m_.opens[list];
    int const stride = layer.stride;
    multiply({m_.rows, before, open, opens, layer.weights, stride, layer.bias, m_.next}, rows_);
    for (int i = 0; i < undecided_; ++i) {
      int const k = m_.undecided[i];
      scale_row(m_.offset[k], layer.weights + static_cast<long>(k) * stride, stride,
                m_.next + static_cast<long>(rows_ + i) * stride);
    }
    rows_ += undecided_;
    swap(m_.rows, m_.next);
    // M has the upper bounds of what enters.
    for (int o = 0; o < before; o += kN) P::store(P::load(m_.high + o), m_.spread + o);
    multiply({m_.spread, before, open, opens, layer.magnitudes, stride, layer.bias_magnitude,
              m_.next_spread},
             2);
    swap(m_.spread, m_.next_spread);
  }

  static void swap(float*& a, float*& b) {
    float* const c = a;
    a = b;
    b = c;
  }

  /// to [..][stride] = rows [..][before] times a matrix [..][stride], over the listed inputs; the
  /// first row begins with `first`, the others with 0.
  struct Product {
    float const* rows;
    long before;
    int const* list;
    int listed;
    float const* matrix;
    long stride;
    float const* first;
    float* to;
  };

  template <int kRows, int kV>
  static void multiply_block(Product const& p, long row, long column) {
    F sum[kRows][kV];
    float const* from[kRows];
    FL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      from[r] = p.rows + (row + r) * p.before;
      FL_UNROLL
      for (int v = 0; v < kV; ++v)
        sum[r][v] = row + r == 0 ? P::load(p.first + column + v * kN) : P::splat(0.0F);
    }
    float const* const matrix = p.matrix + column;
    int const* const end = p.list + p.listed;
    for (int const* at = p.list; at != end; ++at) {
      long const k = *at;
      float const* const row_of_k = matrix + k * p.stride;
      F weights[kV];
      FL_UNROLL
      for (int v = 0; v < kV; ++v) weights[v] = P::load(row_of_k + v * kN);
      FL_UNROLL
      for (int r = 0; r < kRows; ++r) {
        F const x = P::splat(from[r][k]);
        FL_UNROLL
        for (int v = 0; v < kV; ++v) sum[r][v] = P::fma(x, weights[v], sum[r][v]);
      }
    }
    FL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      FL_UNROLL
      for (int v = 0; v < kV; ++v)
        P::store(sum[r][v], p.to + (row + r) * p.stride + column + v * kN);
    }
  }

  template <int kV>
  static void multiply_columns(Product const& p, long rows, long column) {
    long row = 0;
    for (; row + 6 <= rows; row += 6) multiply_block<6, kV>(p, row, column);
    switch (rows - row) {
      case 5:
        return multiply_block<5, kV>(p, row, column);
      case 4:
        return multiply_block<4, kV>(p, row, column);
      case 3:
        return multiply_block<3, kV>(p, row, column);
      case 2:
        return multiply_block<2, kV>(p, row, column);
      case 1:
        return multiply_block<1, kV>(p, row, column);
      default:
        return;
    }
  }

  static void multiply(Product const& p, int rows) {
    long column = 0;
    for (; column + 2 * kN <= p.stride; column += 2 * kN) multiply_columns<2>(p, rows, column);
    if (column < p.stride) multiply_columns<1>(p, rows, column);
  }

  OpenMemory m_;
  int rows_ = 0;
  int undecided_ = 0;
};

/// A layer without what is closed, as dense() has it.
/// list     [listed] the inputs that are left
/// keep     [stride] above 0 where an output is left; null: all are
/// outputs  that are left
/// tile     of outputs
/// rows     [listed][stride] scratch, and kBoundFloats more
/// weights  [listed][outputs] by tiles, and kBoundFloats more that are written to
/// bias     [outputs], the same
template <Pack P>
void pack_open_layer(BoundLayer const& layer, int const* list, int listed, float const* keep,
                     int outputs, int tile, float* rows, float* weights, float* bias) {
  constexpr int kN = P::kLanes;
  auto const pack = [&](float const* from, float* to) {
    if (keep == nullptr) {
      for (int o = 0; o < outputs; o += kN) P::store(P::load(from + o), to + o);
      return;
    }
    for (int o = 0; o < layer.stride; o += kN) {
      auto const kept = P::load(keep + o) > P::splat(0.0F);
      to += P::compress(P::bits_of(P::load(from + o)), kept, reinterpret_cast<std::int32_t*>(to));
    }
  };
  pack(layer.bias, bias);
  bool const whole = outputs <= tile;
  int const stride = whole ? outputs : layer.stride;
  float* const packed = whole ? weights : rows;
  for (int i = 0; i < listed; ++i)
    pack(layer.weights + static_cast<long>(list[i]) * layer.stride,
         packed + static_cast<long>(i) * stride);
  if (whole) return;
  for (int first = 0; first < outputs; first += tile) {
    int const width = outputs - first < tile ? outputs - first : tile;
    for (int i = 0; i < listed; ++i, weights += width) {
      float const* const from = rows + static_cast<long>(i) * stride + first;
      for (int o = 0; o < width; o += kN) P::store(P::load(from + o), weights + o);
    }
  }
}

}  // namespace fairlane
