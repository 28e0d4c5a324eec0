#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/boxes/network_bounds.h"
#include "kernels/cpu/cpu_boxes.h"
#include "tests/kernels/boxes/batch_bounds.h"

namespace fairlane {
namespace {

constexpr Activation kBoxActivations[] = {Activation::kLinear,    Activation::kRelu,
                                          Activation::kLeakyRelu, Activation::kTanh,
                                          Activation::kSigmoid,   Activation::kGelu};

RandomSubject::Shape box_shape(Activation activation, std::uint32_t seed) {
  RandomSubject::Shape shape;
  shape.activation = activation;
  shape.seed = seed;
  shape.widths = seed % 3 == 0   ? std::vector<int>{9, 7, 5, 1}
                 : seed % 3 == 1 ? std::vector<int>{13, 1}
                                 : std::vector<int>{17, 11, 1};
  return shape;
}

TEST(BoxLanes, AllInstructionSetsGiveTheSameBits) {
  for (Activation const activation : kBoxActivations) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      RandomSubject subject(box_shape(activation, seed));
      BoundNetwork const network(subject.view.network);
      std::vector<std::vector<Interval>> boxes;
      for (int i = 0; i < 37; ++i) boxes.push_back(some_box(subject));
      auto const reference =
          bounds_of(*make_cpu_box_batch(network, "portable"), network.get(), boxes, 0.0);
      for (auto const& isa : cpu_instruction_sets()) {
        SCOPED_TRACE(isa + ", seed " + std::to_string(seed));
        auto const bounds =
            bounds_of(*make_cpu_box_batch(network, isa.c_str()), network.get(), boxes, 0.0);
        EXPECT_EQ(bounds.least, reference.least);
        EXPECT_EQ(bounds.most, reference.most);
        EXPECT_EQ(bounds.all, reference.all);
        EXPECT_EQ(bounds.of_most, reference.of_most);
        ASSERT_FALSE(bounds.of_most.empty());
      }
    }
  }
}

TEST(BoxLanes, LayersAreWeighedAlikeByAllInstructionSets) {
  constexpr int kWidth = 16;
  RandomSubject subject(box_shape(Activation::kRelu, 3));
  BoundNetwork const network(subject.view.network);
  for (auto const& isa : cpu_instruction_sets()) {
    SCOPED_TRACE(isa);
    for (int l = 0; l < network.get().layers; ++l) {
      BoxLayer const& layer = network.get().layer[l];
      std::vector<double> from(static_cast<std::size_t>(layer.outputs * kWidth));
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::sin(static_cast<double>(i));
      std::vector<double> to(static_cast<std::size_t>(layer.inputs * kWidth), -1.0);
      box_kernels(isa.c_str()).weigh(layer, from.data(), kWidth, to.data());
      for (int k = 0; k < layer.inputs; ++k) {
        for (int i = 0; i < kWidth; ++i) {
          double sum = 0.0;
          for (int o = 0; o < layer.outputs; ++o)
            sum = std::fma(std::abs(layer.weights[k * layer.outputs + o]),
                           from[static_cast<std::size_t>(o * kWidth + i)], sum);
          ASSERT_EQ(to[static_cast<std::size_t>(k * kWidth + i)], sum);
        }
      }
    }
  }
}

TEST(BoxLanes, SumsThatMayOverflowHaveNoBoundsAndNarrowNothing) {
  int overflowing = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    RandomSubject::Shape shape;
    shape.widths = {8, 6, 5, 1};
    shape.scale = 3.0e12F;
    shape.seed = seed;
    RandomSubject subject(shape);
    BoundNetwork const network(subject.view.network);
    BoundedNetwork const bounded(subject.view.network);
    BoxBounds reference(bounded);
    std::vector<std::vector<Interval>> boxes;
    for (int i = 0; i < 20; ++i) boxes.push_back(some_box(subject));
    auto const bounds = bounds_of(*make_cpu_box_batch(network, ""), network.get(), boxes, 0.0);
    std::size_t const numbers = bounds.all.size() / boxes.size();
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (reference.enclose(boxes[i])) continue;
      ++overflowing;
      EXPECT_EQ(bounds.least[i], -kUnknown);
      EXPECT_EQ(bounds.most[i], kUnknown);
      double const* value = &bounds.all[i * numbers];
      EXPECT_EQ(*value++, 1.0);
      for (Interval const& input : boxes[i]) {
        EXPECT_EQ(value[2], input.low);
        EXPECT_EQ(value[3], input.high);
        value += 4;
      }
    }
  }
  EXPECT_GT(overflowing, 20);
}

// The reference takes the same lines, and knows nothing of packs.
TEST(BoxLanes, BoundsAreThoseOfOneBox) {
  for (Activation const activation : kBoxActivations) {
    // The reference bounds the sums of linear layers by lines, too: their float32 error is smaller.
    double const tolerance = activation == Activation::kLinear ? 1e-5 : 1e-9;
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE(seed);
      RandomSubject subject(box_shape(activation, seed));
      BoundNetwork const network(subject.view.network);
      BoundedNetwork const bounded(subject.view.network);
      BoxBounds reference(bounded);
      std::vector<std::vector<Interval>> boxes;
      for (int i = 0; i < 20; ++i) boxes.push_back(some_box(subject));
      auto const bounds = bounds_of(*make_cpu_box_batch(network, ""), network.get(), boxes, 0.0);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        ASSERT_TRUE(reference.enclose(boxes[i]));
        Interval const z = reference.logit(0);
        double const size = std::max({1.0, std::abs(z.low), std::abs(z.high)});
        EXPECT_NEAR(bounds.least[i], z.low, tolerance * size);
        EXPECT_NEAR(bounds.most[i], z.high, tolerance * size);
      }
    }
  }
}

// No input that is wanted is narrowed away, whatever the threshold.
TEST(BoxLanes, NarrowingKeepsWhatIsWanted) {
  int narrower = 0;
  int impossible = 0;
  for (Activation const activation : kBoxActivations) {
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(seed);
      RandomSubject subject(box_shape(activation, seed));
      auto const backend = make_cpu_backend(subject.view, {});
      BoundNetwork const network(subject.view.network);
      std::vector<std::vector<Interval>> boxes;
      for (int i = 0; i < 16; ++i) boxes.push_back(some_box(subject));
      naive::Row const row = subject.row();
      float threshold = 0.0F;
      backend->logits(row.data(), 1, &threshold);
      auto const bounds = bounds_of(*make_cpu_box_batch(network, ""), network.get(), boxes,
                                    static_cast<double>(threshold));
      auto const inputs = static_cast<std::size_t>(network.get().inputs);
      std::size_t const of_box = 1 + 4 * inputs + 2 * static_cast<std::size_t>(network.get().units);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        double const* const lane = &bounds.all[i * of_box];
        bool const possible = lane[0] != 0.0;
        impossible += possible ? 0 : 1;
        for (int p = 0; p < 300; ++p) {
          naive::Row point;
          for (Interval const& x : boxes[i]) {
            point.push_back(subject.uniform(static_cast<std::int32_t>(x.low),
                                            static_cast<std::int32_t>(x.high)));
          }
          float z = 0.0F;
          backend->logits(point.data(), 1, &z);
          bool const above = z > threshold;
          if (above != (i % 2 == 0)) continue;
          ASSERT_TRUE(possible);
          for (std::size_t k = 0; k < inputs; ++k) {
            ASSERT_LE(lane[1 + 4 * k + 2], point[k]);
            ASSERT_GE(lane[1 + 4 * k + 3], point[k]);
          }
        }
        for (std::size_t k = 0; k < inputs && possible; ++k) {
          if (lane[1 + 4 * k + 2] > boxes[i][k].low || lane[1 + 4 * k + 3] < boxes[i][k].high)
            ++narrower;
        }
      }
    }
  }
  EXPECT_GT(narrower, 100);
  EXPECT_GT(impossible, 20);
}

}  // namespace
}  // namespace fairlane
