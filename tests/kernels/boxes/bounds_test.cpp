#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/boxes/network_bounds.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

constexpr Activation kActivations[] = {
    Activation::kLinear, Activation::kRelu, Activation::kLeakyRelu,
    Activation::kElu,    Activation::kTanh, Activation::kSigmoid,
    Activation::kSilu,   Activation::kGelu, Activation::kGeluTanh};

/// The activation as the lane core computes it.
float activated(Activation activation, float alpha, float z) {
  activate<ScalarPack>(activation, alpha, &z, 1);
  return z;
}

void expect_enclosed(Activation activation, float alpha, Interval z, std::mt19937& random) {
  Relaxation const lines = relax(activation, alpha, z);
  constexpr int kPoints = 64;
  for (int i = 0; i < kPoints; ++i) {
    double at = z.low + (z.high - z.low) * static_cast<double>(random()) / 0x1p32;
    if (i == 0) at = z.low;
    if (i == 1) at = z.high;
    if (i == 2 && z.low < 0.0 && z.high > 0.0) at = 0.0;
    auto const x = static_cast<float>(at);
    if (static_cast<double>(x) < z.low || static_cast<double>(x) > z.high) continue;
    long double const y = activated(activation, alpha, x);
    auto const line = [&](Line const& l) {
      return static_cast<long double>(l.slope) * x + l.offset;
    };
    ASSERT_LE(line(lines.below), y) << x << " in " << z.low << ".." << z.high;
    ASSERT_GE(line(lines.above), y) << x << " in " << z.low << ".." << z.high;
    ASSERT_LE(lines.range.low, y) << x;
    ASSERT_GE(lines.range.high, y) << x;
  }
}

TEST(Bounds, LinesEncloseActivations) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (Activation const activation : kActivations) {
    for (float const alpha : {0.3F, 1.0F, 2.5F, -0.5F, 0.0F}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(activation)) + " " + std::to_string(alpha));
      for (float const scale : {1e-30F, 1e-5F, 0.3F, 3.0F, 40.0F, 200.0F, 1e6F, 1e30F}) {
        for (int i = 0; i < 40; ++i) {
          float const a = normal(random) * scale;
          float const b = i % 4 == 0 ? a : i % 4 == 1 ? a * 1.000001F : normal(random) * scale;
          Interval const z{static_cast<double>(std::min(a, b)),
                           static_cast<double>(std::max(a, b))};
          expect_enclosed(activation, alpha, z, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Bounds, ReluLinesAreTheClosest) {
  Relaxation const open = relax(Activation::kRelu, 0.0F, {-1.0, 3.0});
  EXPECT_EQ(open.above.slope, 0.75);
  EXPECT_NEAR(open.above.offset, 0.75, 1e-9);
  EXPECT_EQ(open.below.slope, 1.0);
  EXPECT_EQ(open.range.low, 0.0);
  EXPECT_EQ(open.range.high, 3.0);
  EXPECT_EQ(relax(Activation::kRelu, 0.0F, {-3.0, 1.0}).below.slope, 0.0);
  EXPECT_EQ(relax(Activation::kRelu, 0.0F, {-3.0, -1.0}).above.slope, 0.0);
  EXPECT_EQ(relax(Activation::kRelu, 0.0F, {1.0, 2.0}).above.slope, 1.0);
}

/// A box of a subject's domain: every attribute a single value, all values, or something between.
std::vector<Interval> random_box(RandomSubject& subject) {
  std::vector<Interval> box;
  int const kind = subject.uniform(0, 3);
  for (std::size_t a = 0; a < subject.view.low.size(); ++a) {
    std::int32_t low = subject.uniform(subject.view.low[a], subject.view.high[a]);
    std::int32_t high = subject.uniform(low, subject.view.high[a]);
    if (kind == 0 || (kind == 1 && subject.uniform(0, 3) > 0)) high = low;
    if (kind == 3) low = subject.view.low[a];
    box.push_back({static_cast<double>(low), static_cast<double>(high)});
  }
  return box;
}

/// All points of a small box, some of a large one.
std::vector<naive::Row> points_of(RandomSubject& subject, std::vector<Interval> const& box) {
  constexpr double kMost = 600.0;
  double count = 1.0;
  for (auto const& x : box) count *= x.high - x.low + 1.0;
  std::vector<naive::Row> points;
  for (int i = 0; i < static_cast<int>(std::min(count, kMost)); ++i) {
    naive::Row row;
    int rest = i;
    for (auto const& x : box) {
      auto const low = static_cast<std::int32_t>(x.low);
      auto const high = static_cast<std::int32_t>(x.high);
      row.push_back(count <= kMost ? low + rest % (high - low + 1) : subject.uniform(low, high));
      rest /= high - low + 1;
    }
    points.push_back(std::move(row));
  }
  return points;
}

struct Proofs {
  int finite = 0;
  int labels = 0;
  int wide = 0;  // labels of more than one point
};

void expect_bounds_hold(RandomSubject& subject, int boxes, Proofs& proofs) {
  auto const backend = make_cpu_backend(subject.view, {});
  naive::FloatReference const exact(subject.view);
  BoundedNetwork const network(subject.view.network);
  BoxBounds bounds(network);
  LabelProver prover(network, subject.view.threshold);
  auto const outputs = static_cast<std::size_t>(network.outputs());
  for (int b = 0; b < boxes; ++b) {
    auto const box = random_box(subject);
    auto const points = points_of(subject, box);
    std::vector<std::int32_t> rows;
    for (auto const& point : points) rows.insert(rows.end(), point.begin(), point.end());
    std::vector<float> logits(points.size() * outputs);
    backend->logits(rows.data(), points.size(), logits.data());
    if (bounds.enclose(box)) {
      ++proofs.finite;
      for (std::size_t c = 0; c < outputs; ++c) {
        Interval const z = bounds.logit(static_cast<int>(c));
        std::size_t const other = (c + 1) % outputs;
        double const least =
            outputs > 1 ? bounds.least_difference(static_cast<int>(c), static_cast<int>(other))
                        : 0.0;
        for (std::size_t i = 0; i < points.size(); ++i) {
          double const value = logits[i * outputs + c];
          ASSERT_TRUE(std::isfinite(value));
          ASSERT_LE(z.low, value);
          ASSERT_GE(z.high, value);
          if (outputs == 1) continue;
          ASSERT_LE(least, value - static_cast<double>(logits[i * outputs + other]));
        }
      }
    }
    if (auto const label = prover.common_label(box)) {
      ++proofs.labels;
      proofs.wide += points.size() > 1 ? 1 : 0;
      for (auto const& point : points) ASSERT_EQ(exact.label(point), *label);
    }
  }
}

TEST(Bounds, HoldForWhatABackendComputes) {
  constexpr float kTiny = 1e-4F;
  std::uint32_t seed = 1;
  for (Activation const activation : kActivations) {
    for (auto const& widths : std::vector<std::vector<int>>{{1}, {8, 5, 1}, {12, 9, 7, 4}}) {
      for (float const scale : {kTiny, 0.4F, 1.0F, 30.0F, 1e5F}) {
        RandomSubject::Shape shape;
        shape.widths = widths;
        shape.activation = activation;
        shape.scale = scale;
        shape.seed = seed++;
        shape.threshold = seed % 2 == 0 ? 0.0F : 0.1F;
        SCOPED_TRACE("activation " + std::to_string(static_cast<int>(activation)) + ", " +
                     std::to_string(widths.size()) + " layers, seed " + std::to_string(shape.seed));
        RandomSubject subject(shape);
        Proofs proofs;
        expect_bounds_hold(subject, 60, proofs);
        if (HasFatalFailure()) return;
        EXPECT_EQ(proofs.finite, 60);
        if (scale == kTiny) continue;  // labels hang on the last bits
        EXPECT_GT(proofs.labels, 0);
        EXPECT_GT(proofs.wide, 0);
      }
    }
  }
}

// Sums that cancel: float32 is far from the real numbers there, and the bounds have to know.
TEST(Bounds, HoldWhereFloat32LosesItsDigits) {
  int far = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    RandomSubject::Shape shape;
    shape.widths = {6, 6, 1};
    shape.activation = Activation::kLinear;
    shape.seed = seed;
    RandomSubject subject(shape);
    auto& first = subject.weights(0);  // units in pairs with nearly opposite weights
    auto& second = subject.weights(1);
    for (std::size_t k = 0; k < first.size(); k += 2) first[k + 1] = first[k] *= 1e6F;
    for (std::size_t k = 0; k < second.size(); ++k)
      second[k] = (k / 6 % 2 == 0 ? 1.0F : -1.0F) * second[k % 6];
    Proofs proofs;
    expect_bounds_hold(subject, 40, proofs);
    if (HasFatalFailure()) return;
    naive::FloatReference const narrow(subject.view);
    naive::DoubleReference const wide(subject.view);
    auto const row = subject.row();
    far += std::abs(narrow.logits(row)[0] - wide.logits(row)[0]) > 1e-3 ? 1 : 0;
  }
  EXPECT_GT(far, 0) << "the test must meet some";
}

TEST(Bounds, ProveNothingOfBoxesThatMayOverflow) {
  RandomSubject::Shape shape;
  shape.counts = {4};
  shape.widths = {4, 1};
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    shape.seed = seed;
    RandomSubject subject(shape);
    auto const s = static_cast<std::size_t>(subject.view.selected[0]);
    for (std::size_t o = 0; o < 4; ++o) subject.weights(0)[s * 4 + o] = 1.2e38F;
    Proofs proofs;
    expect_bounds_hold(subject, 60, proofs);  // what is proven finite is finite
    if (HasFatalFailure()) return;
    EXPECT_LT(proofs.finite, 60);
  }
}

// Of equal logits the first class wins, and a logit at the threshold has label 0.
TEST(Bounds, KnowTies) {
  std::vector<float> const weights = {1.0F, 1.0F};
  std::vector<float> const bias = {0.0F, 0.0F};
  LayerView const two{1, 2, Activation::kSoftmax, 0.0F, weights, bias};
  std::vector<Interval> const zero = {{0.0, 0.0}};
  BoundedNetwork const classes({&two, 1});
  BoxBounds bounds(classes);
  ASSERT_TRUE(bounds.enclose(zero));
  EXPECT_FALSE(bounds.has_label(1, 0.0F));
  LayerView const one{
      1, 1, Activation::kSigmoid, 0.0F, std::span(weights).first(1), std::span(bias).first(1)};
  BoundedNetwork const logit({&one, 1});
  BoxBounds single(logit);
  ASSERT_TRUE(single.enclose(zero));
  EXPECT_FALSE(single.has_label(1, 0.0F));
  ASSERT_TRUE(single.enclose(std::vector<Interval>{{1.0, 2.0}}));
  EXPECT_TRUE(single.has_label(1, 0.0F));
  EXPECT_FALSE(single.has_label(0, 0.0F));
  EXPECT_FALSE(single.has_label(1, 1.0F));
  EXPECT_TRUE(single.has_label(1, 0.99F));
}

}  // namespace
}  // namespace fairlane
