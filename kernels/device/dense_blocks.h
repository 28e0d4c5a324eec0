// Dense layers of the wide route: an exact matrix product by blocks of threads. Rows (an input
// each) go through a layer together; every output is one chain of fma, bias first, then k ascending
// (numerical contract, rule 2), whatever the tiles are, and k is never split.
//
// Matrices lie unit-major: unit k of row r at k * stride + r, strides multiples of four floats. A
// kernel reads and writes past its rows up to the next multiple of four.
#pragma once

#include "kernels/core/mlp.h"

#ifdef __CUDA_ARCH__
#define FL_ROLL _Pragma("unroll 1")
#else
#define FL_ROLL
#endif

namespace fairlane {

inline constexpr int kQuad = 4;  // floats that are read and written at once

struct alignas(kQuad * sizeof(float)) Quad {
  float v[kQuad];
};

/// p is aligned to four floats.
FL_HD Quad load_quad(float const* p) { return *reinterpret_cast<Quad const*>(p); }
FL_HD void store_quad(Quad const& q, float* p) { *reinterpret_cast<Quad*>(p) = q; }

/// A matrix whose rows lie in groups: row r, unit u at data[r / rows * group_stride + u * stride +
/// r % rows].
/// rows   of a group, a multiple of four
/// first  row of the matrix that at() counts from
template <class T>
struct GroupedRows {
  T* data = nullptr;
  long stride = 0;
  int rows = 1 << 30;
  long group_stride = 0;
  int first = 0;

  FL_HD T* at(int row, int unit) const {
    int const r = first + row;
    return data + r / rows * group_stride + unit * stride + r % rows;
  }
};

/// What happens to a finished sum.
enum class DenseFinish : std::uint8_t {
  kActivation,          // activation(sum)
  kActivationGradient,  // sum * activation'(z), by what activate_gradient takes in `gate`
};

/// One product: out = finish(start + in W).
/// in       [inputs][in_stride]
/// weights  [inputs][weight_stride]
/// bias     [outputs]; null: the chains continue the sums in `start`
/// gate     [outputs][gate_stride]
struct Dense {
  int rows = 0;
  int inputs = 0;
  int outputs = 0;
  float const* in = nullptr;
  long in_stride = 0;
  float const* weights = nullptr;
  long weight_stride = 0;
  float const* bias = nullptr;
  GroupedRows<float const> start;
  GroupedRows<float> out;
  DenseFinish finish = DenseFinish::kActivation;
  Activation activation = Activation::kLinear;
  float alpha = 0.0F;
  float const* gate = nullptr;
  long gate_stride = 0;
};

/// The product by blocks of kRowThreads x kOutputThreads threads, each with kRowQuads * 4 rows x
/// kOutputQuads * 4 outputs in registers; kStep inputs at a time pass through shared memory, which
/// holds two steps.
///
/// operator()(team, block): all threads of a block. A team has shared(), kSharedFloats floats that
/// the threads share, and for_each_thread(work), which calls work(thread, registers) for each
/// thread and returns when all are done. On a GPU every thread calls it for itself, and it ends
/// with a barrier; on the host one thread follows the other. What lives on from one phase to the
/// next is in Registers or shared memory.
template <int kRowQuads, int kRowThreads, int kOutputQuads, int kOutputThreads, int kStep>
struct DenseBlocks {
  static constexpr int kThreads = kRowThreads * kOutputThreads;
  static constexpr int kRows = kQuad * kRowQuads * kRowThreads;           // of a block
  static constexpr int kOutputs = kQuad * kOutputQuads * kOutputThreads;  // of a block
  static constexpr int kBufferFloats = kStep * (kRows + kOutputs);
  static constexpr int kSharedFloats = 2 * kBufferFloats;

  struct Registers {
    float sum[kOutputQuads * kQuad][kRowQuads * kQuad];
    Quad next_in[(kStep * kRows / kQuad + kThreads - 1) / kThreads];
    Quad next_weights[(kStep * kOutputs / kQuad + kThreads - 1) / kThreads];
    float const* in;
    float const* weights;
  };

  Dense d;

  FL_HD int row_tiles() const { return (d.rows + kRows - 1) / kRows; }
  FL_HD int output_tiles() const { return (d.outputs + kOutputs - 1) / kOutputs; }
  FL_HD int blocks() const { return row_tiles() * output_tiles(); }

  template <class Team>
  FL_HOST_DEVICE void operator()(Team& team, int block) const {
    Tile const tile = tile_of(block);
    float* const shared = team.shared();
    int const steps = (d.inputs + kStep - 1) / kStep;
    team.for_each_thread([&](int thread, Registers& r) {
      begin(place_of(tile, thread), r);
      r.in = source_of<kRows>(d.in, d.in_stride, tile.row, d.rows, thread);
      r.weights = source_of<kOutputs>(d.weights, d.weight_stride, tile.output, d.outputs, thread);
      fetch(thread, d.inputs, r);
      put(thread, r, shared);
    });
    for (int i = 0; i < steps; ++i) {
      team.for_each_thread([&](int thread, Registers& r) {
        bool const more = i + 1 < steps;
        int const rest = d.inputs - i * kStep;
        if (more) fetch(thread, rest - kStep, r);
        multiply(place_of(tile, thread), rest, shared + i % 2 * kBufferFloats, r);
        if (more) put(thread, r, shared + (i + 1) % 2 * kBufferFloats);
      });
    }
    team.for_each_thread(
        [&](int thread, Registers const& r) { store(place_of(tile, again(thread)), r); });
  }

 private:
  struct Tile {
    int row;  // within d.rows
    int output;
  };

  /// Where a thread's registers lie: its first quad of rows and outputs within the block and the
  /// product.
  struct Place {
    int tile_row;
    int tile_output;
    int row;
    int output;
    bool idle;  // no row or no output is left for it
  };

  /// The same number, of which the compiler does not know that: what was worked out from it before
  /// the steps is worked out anew after them, instead of taking registers from the sums meanwhile.
  static FL_HD int again(int x) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
  }

  /// Blocks that run at once share rows and weights: kBand tiles of rows, one output tile after the
  /// other.
  FL_HD Tile tile_of(int block) const {
    constexpr int kBand = 8;
    int const band_blocks = kBand * output_tiles();
    int const first = block / band_blocks * kBand;
    int const rest = row_tiles() - first;
    int const band = rest < kBand ? rest : kBand;
    int const at = block % band_blocks;
    return {(first + at % band) * kRows, at / band * kOutputs};
  }

  FL_HD Place place_of(Tile tile, int thread) const {
    // A warp covers 8 x 4 threads, whose reads of shared memory then meet in few words.
    constexpr int kWarpRows = 8;
    constexpr int kWarpOutputs = 4;
    constexpr int kWarps = kRowThreads / kWarpRows;  // along the rows
    static_assert(kRowThreads % kWarpRows == 0 && kOutputThreads % kWarpOutputs == 0);
    int const warp = thread / (kWarpRows * kWarpOutputs);
    int const lane = thread % (kWarpRows * kWarpOutputs);
    Place p;
    p.tile_row = kQuad * (warp % kWarps * kWarpRows + lane % kWarpRows);
    p.tile_output = kQuad * (warp / kWarps * kWarpOutputs + lane / kWarpRows);
    p.row = tile.row + p.tile_row;
    p.output = tile.output + p.tile_output;
    p.idle = p.row >= d.rows || p.output >= d.outputs;
    return p;
  }

  static FL_HD constexpr int row_of(int q) { return q * kQuad * kRowThreads; }
  static FL_HD constexpr int output_of(int q) { return q * kQuad * kOutputThreads; }

  FL_HD void begin(Place const& p, Registers& r) const {
    FL_UNROLL
    for (int o = 0; o < kOutputQuads * kQuad; ++o) {
      int const output = p.output + output_of(o / kQuad) + o % kQuad;
      FL_UNROLL
      for (int q = 0; q < kRowQuads; ++q) {
        int const row = p.row + row_of(q);
        Quad start{};
        if (row < d.rows && output < d.outputs) {
          if (d.bias == nullptr) {
            start = load_quad(d.start.at(row, output));
          } else {
            float const b = d.bias[output];
            start = {{b, b, b, b}};
          }
        }
        FL_UNROLL
        for (int j = 0; j < kQuad; ++j) r.sum[o][q * kQuad + j] = start.v[j];
      }
    }
  }

  /// Where a thread begins to fetch a matrix [inputs][stride], kWidth units of it from `first` on:
  /// its first quad. A thread that has no quad there, since no unit is left, fetches another's.
  template <int kWidth>
  static FL_HD float const* source_of(float const* matrix, long stride, int first, int end,
                                      int thread) {
    int const unit = first + thread % (kWidth / kQuad) * kQuad;
    return matrix + thread / (kWidth / kQuad) * stride + (unit < end ? unit : first);
  }

  /// A step's part of a matrix: quads on their way to shared memory. Moves `from` on to the next
  /// step. rest: inputs left
  template <int kWidth, int kQuads>
  static FL_HD void fetch_from(float const*& from, long stride, int thread, int rest,
                               Quad (&next)[kQuads]) {
    constexpr int kApart = kThreads / (kWidth / kQuad);  // inputs between a thread's quads
    static_assert(kThreads % (kWidth / kQuad) == 0 && kStep <= kQuads * kApart);
    constexpr bool kAllBusy = kStep == kQuads * kApart;
    if (kAllBusy && rest >= kStep) {
      FL_UNROLL
      for (int i = 0; i < kQuads; ++i) next[i] = load_quad(from + i * kApart * stride);
    } else {
      int const step = thread / (kWidth / kQuad);
      int const end = rest < kStep ? rest : kStep;
      FL_UNROLL
      for (int i = 0; i < kQuads; ++i) {
        next[i] = {};
        if (step + i * kApart < end) next[i] = load_quad(from + i * kApart * stride);
      }
    }
    from += kStep * stride;
  }

  template <int kWidth, int kQuads>
  static FL_HD void put_into(float* shared, int thread, Quad const (&next)[kQuads]) {
    constexpr int kAll = kStep * kWidth / kQuad;
    FL_UNROLL
    for (int i = 0; i < kQuads; ++i) {
      int const at = thread + i * kThreads;
      if (kAll == kQuads * kThreads || at < kAll) store_quad(next[i], shared + at * kQuad);
    }
  }

  FL_HD void fetch(int thread, int rest, Registers& r) const {
    fetch_from<kRows>(r.in, d.in_stride, thread, rest, r.next_in);
    fetch_from<kOutputs>(r.weights, d.weight_stride, thread, rest, r.next_weights);
  }

  static FL_HD void put(int thread, Registers const& r, float* shared) {
    put_into<kRows>(shared, thread, r.next_in);
    put_into<kOutputs>(shared + kStep * kRows, thread, r.next_weights);
  }

  static FL_HD void multiply_one(Place const& p, int k, float const* shared, Registers& r) {
    float const* const in = shared + k * kRows + p.tile_row;
    float const* const weights = shared + kStep * kRows + k * kOutputs + p.tile_output;
    Quad x[kRowQuads];
    Quad w[kOutputQuads];
    FL_UNROLL
    for (int q = 0; q < kRowQuads; ++q) x[q] = load_quad(in + row_of(q));
    FL_UNROLL
    for (int q = 0; q < kOutputQuads; ++q) w[q] = load_quad(weights + output_of(q));
    FL_UNROLL
    for (int o = 0; o < kOutputQuads * kQuad; ++o) {
      FL_UNROLL
      for (int i = 0; i < kRowQuads * kQuad; ++i) {
        r.sum[o][i] =
            ScalarPack::fma(x[i / kQuad].v[i % kQuad], w[o / kQuad].v[o % kQuad], r.sum[o][i]);
      }
    }
  }

  /// Never more than the inputs there are: fma with a zero would turn a sum of -0 into 0.
  static FL_HD void multiply(Place const& p, int rest, float const* shared, Registers& r) {
    if (p.idle) return;
    if (rest >= kStep) {
      FL_UNROLL
      for (int k = 0; k < kStep; ++k) multiply_one(p, k, shared, r);
    } else {
      for (int k = 0; k < rest; ++k) multiply_one(p, k, shared, r);
    }
  }

  FL_HD void store(Place const& p, Registers const& r) const {
    if (p.idle) return;
    bool const gradient = d.finish == DenseFinish::kActivationGradient;
    bool const relu = d.activation == Activation::kRelu;
    FL_UNROLL
    for (int o = 0; o < kOutputQuads * kQuad; ++o) {
      int const output = p.output + output_of(o / kQuad) + o % kQuad;
      FL_UNROLL
      for (int q = 0; q < kRowQuads; ++q) {
        int const row = p.row + row_of(q);
        if (row >= d.rows || output >= d.outputs) continue;
        Quad gate{};
        if (relu && gradient) gate = load_quad(d.gate + output * d.gate_stride + row);
        Quad y;
        FL_UNROLL
        for (int j = 0; j < kQuad; ++j) {
          float const sum = r.sum[o][q * kQuad + j];
          y.v[j] = sum;
          if (relu) y.v[j] = gradient ? (gate.v[j] > 0.0F ? sum : 0.0F) : ScalarPack::relu(sum);
        }
        store_quad(y, d.out.at(row, output));
      }
    }
    if (relu || d.activation == Activation::kLinear) return;
    // The others are long: once in the code, over what this thread has just written.
    FL_ROLL
    for (int i = 0; i < kOutputQuads * kQuad * kRowQuads; ++i) {
      int const o = i / kRowQuads;
      int const output = p.output + output_of(o / kQuad) + o % kQuad;
      int const row = p.row + row_of(i % kRowQuads);
      if (row >= d.rows || output >= d.outputs) continue;
      float* const y = d.out.at(row, output);
      if (gradient) {
        activate_gradient<ScalarPack>(d.activation, d.alpha, d.gate + output * d.gate_stride + row,
                                      y, kQuad);
      } else {
        activate<ScalarPack>(d.activation, d.alpha, y, kQuad);
      }
    }
  }
};

/// 128 x 128, for full layers; 64 x 64, where there are few rows; 128 x 16, for few outputs.
using LargeDense = DenseBlocks<2, 16, 2, 16, 16>;
using SmallDense = DenseBlocks<2, 8, 1, 16, 16>;
using NarrowDense = DenseBlocks<1, 32, 1, 4, 16>;

}  // namespace fairlane
