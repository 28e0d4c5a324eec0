// The wide route's matrix product, its blocks run thread after thread on the host, against plain
// chains of fma.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/device/wide_plan.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

constexpr unsigned kSeed = 20240601;

long quads(long n) { return (n + kQuad - 1) / kQuad * kQuad; }

/// [units][stride], stride padded; the padding holds NaN, which must not reach a result.
struct Matrix {
  Matrix(int unit_count, int row_count)
      : units(unit_count),
        rows(row_count),
        stride(quads(row_count)),
        quad_values(static_cast<std::size_t>(units * stride / kQuad)) {
    for (long i = 0; i < units * stride; ++i) data()[i] = std::nanf("");
  }
  float* data() { return quad_values.data()->v; }
  float& at(int unit, int row) { return data()[unit * stride + row]; }
  void fill(std::mt19937& random, float low, float high) {
    std::uniform_real_distribution<float> value(low, high);
    for (int u = 0; u < units; ++u) {
      for (int r = 0; r < rows; ++r) at(u, r) = value(random);
    }
  }

  int units;
  int rows;
  long stride;
  std::vector<Quad> quad_values;  // aligned
};

bool same_bits(float a, float b) { return ScalarPack::bits_of(a) == ScalarPack::bits_of(b); }

struct Case {
  int rows;
  int inputs;
  int outputs;
};

/// A random product with everything it reads, and its result by definition.
struct Product {
  Product(Case const& shape, unsigned seed)
      : in(shape.inputs, shape.rows),
        weights(shape.inputs, shape.outputs),
        bias(1, shape.outputs),
        start(shape.outputs, shape.rows),
        gate(shape.outputs, shape.rows),
        out(shape.outputs, shape.rows) {
    std::mt19937 random(seed);
    in.fill(random, -2.0F, 2.0F);
    weights.fill(random, -1.0F, 1.0F);
    bias.fill(random, -1.0F, 1.0F);
    start.fill(random, -1.0F, 1.0F);
    gate.fill(random, -1.0F, 1.0F);
    // Sums of -0 and gates of 0 are where a careless kernel shows.
    for (int o = 0; o < shape.outputs; o += 3) {
      for (int r = 0; r < shape.rows; r += 2) gate.at(o, r) = 0.0F;
    }
    d.rows = shape.rows;
    d.inputs = shape.inputs;
    d.outputs = shape.outputs;
    d.in = in.data();
    d.in_stride = in.stride;
    d.weights = weights.data();
    d.weight_stride = weights.stride;
    d.bias = bias.data();
    d.out = {out.data(), out.stride};
    d.gate = gate.data();
    d.gate_stride = gate.stride;
  }

  float expected(int output, int row) {
    float sum = d.bias != nullptr ? bias.at(0, output) : start.at(output, row);
    for (int k = 0; k < d.inputs; ++k) sum = std::fma(in.at(k, row), weights.at(k, output), sum);
    if (d.finish == DenseFinish::kActivation) {
      activate<ScalarPack>(d.activation, d.alpha, &sum, 1);
    } else {
      float const a = gate.at(output, row);
      activate_gradient<ScalarPack>(d.activation, d.alpha, &a, &sum, 1);
    }
    return sum;
  }

  Dense d;
  Matrix in;
  Matrix weights;
  Matrix bias;
  Matrix start;
  Matrix gate;
  Matrix out;
};

template <class Blocks>
void expect_exact(Product& product) {
  TestDevice device;
  device.run(BlockKernel(Blocks{product.d}));
  int wrong = 0;
  for (int o = 0; o < product.d.outputs; ++o) {
    for (int r = 0; r < product.d.rows; ++r)
      wrong += same_bits(product.out.at(o, r), product.expected(o, r)) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
}

void expect_exact_in_all_shapes(Product& product) {
  expect_exact<LargeDense>(product);
  expect_exact<SmallDense>(product);
  expect_exact<NarrowDense>(product);
}

std::string text(Case const& c) {
  return std::to_string(c.rows) + " rows, " + std::to_string(c.inputs) + " inputs, " +
         std::to_string(c.outputs) + " outputs, seed " + std::to_string(kSeed);
}

TEST(DenseBlocks, AreOneChainOfMultiplyAddsPerOutput) {
  for (int const rows : {1, 7, 33, 130}) {
    for (int const inputs : {1, 5, 64, 129}) {
      for (int const outputs : {1, 3, 65, 200}) {
        Case const shape{rows, inputs, outputs};
        SCOPED_TRACE(text(shape));
        Product product(shape, kSeed);
        product.d.activation = Activation::kRelu;
        expect_exact_in_all_shapes(product);
      }
    }
  }
}

TEST(DenseBlocks, ApplyEveryActivationAndItsGradient) {
  Case const shape{33, 9, 21};
  for (auto const activation :
       {Activation::kLinear, Activation::kRelu, Activation::kLeakyRelu, Activation::kElu,
        Activation::kTanh, Activation::kSigmoid, Activation::kSoftmax, Activation::kSilu,
        Activation::kGelu, Activation::kGeluTanh}) {
    for (auto const finish : {DenseFinish::kActivation, DenseFinish::kActivationGradient}) {
      SCOPED_TRACE(static_cast<int>(activation) * 10 + static_cast<int>(finish));
      Product product(shape, kSeed);
      product.d.activation = activation;
      product.d.alpha = 0.3F;
      product.d.finish = finish;
      expect_exact_in_all_shapes(product);
    }
  }
}

TEST(DenseBlocks, ContinueSumsAndKeepMinusZero) {
  Case const shape{33, 5, 21};
  Product product(shape, kSeed);
  product.d.bias = nullptr;
  product.d.start = {product.start.data(), product.start.stride};
  // A product of zeros added to -0 stays -0 only if the chain has no further term.
  for (int o = 0; o < shape.outputs; ++o) {
    for (int k = 0; k < shape.inputs; ++k) product.weights.at(k, o) = -0.0F;
    for (int r = 0; r < shape.rows; ++r) product.start.at(o, r) = -0.0F;
  }
  for (int k = 0; k < shape.inputs; ++k) {
    for (int r = 0; r < shape.rows; ++r)
      product.in.at(k, r) = std::fabs(product.in.at(k, r)) + 1.0F;
  }
  ASSERT_TRUE(same_bits(product.expected(0, 0), -0.0F));
  expect_exact_in_all_shapes(product);
}

TEST(DenseBlocks, ReadAndWriteRowsInGroups) {
  // 5 members of 12 lanes; this product does rows 20 to 52. Starts are shared by the members.
  constexpr int kLanes = 12;
  constexpr int kMembers = 5;
  constexpr int kFirst = 20;
  constexpr int kRows = 32;
  constexpr int kOutputs = 3;
  Product product({kRows, 7, kOutputs}, kSeed);
  Matrix sums(kOutputs, kLanes);
  std::mt19937 random(kSeed);
  sums.fill(random, -1.0F, 1.0F);
  Matrix grouped(kMembers * kOutputs, kLanes);
  product.d.bias = nullptr;
  product.d.start = {sums.data(), sums.stride, kLanes, 0, kFirst};
  product.d.out = {grouped.data(), grouped.stride, kLanes, kOutputs * grouped.stride, kFirst};
  TestDevice device;
  device.run(choose_blocks(product.d, device.properties().limits));
  for (int o = 0; o < kOutputs; ++o) {
    for (int r = 0; r < kMembers * kLanes; ++r) {
      float const got = grouped.at(r / kLanes * kOutputs + o, r % kLanes);
      if (r < kFirst || r >= kFirst + kRows) {
        EXPECT_TRUE(std::isnan(got));
        continue;
      }
      product.start.at(o, r - kFirst) = sums.at(o, r % kLanes);
      EXPECT_TRUE(same_bits(got, product.expected(o, r - kFirst)));
    }
  }
}

TEST(DenseBlocks, LargeTilesRunWhereTheyFillTheDevice) {
  DeviceLimits limits;
  limits.multiprocessors = 132;
  auto const chosen = [&](int rows, int outputs) {
    Dense d;
    d.rows = rows;
    d.inputs = 1;
    d.outputs = outputs;
    return choose_blocks(d, limits).index();
  };
  EXPECT_EQ(chosen(8192, 4096), 0U);
  EXPECT_EQ(chosen(128, 4096), 1U);
  EXPECT_EQ(chosen(1 << 20, 64), 1U);
  EXPECT_EQ(chosen(1 << 20, 65), 0U);
  EXPECT_EQ(chosen(1 << 20, 129), 1U);
  EXPECT_EQ(chosen(1 << 20, 200), 0U);
  EXPECT_EQ(chosen(1 << 20, 16), 2U);
  EXPECT_EQ(chosen(1, 1), 2U);
}

}  // namespace
}  // namespace fairlane
