#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/boxes/box_network.h"
#include "kernels/boxes/network_bounds.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

constexpr Activation kBoxActivations[] = {Activation::kLinear,    Activation::kRelu,
                                          Activation::kLeakyRelu, Activation::kTanh,
                                          Activation::kSigmoid,   Activation::kGelu};

/// A box of one of the subject's inputs, which are codes.
std::vector<Interval> some_box(RandomSubject& subject) {
  std::vector<Interval> box;
  for (std::size_t a = 0; a < subject.view.low.size(); ++a) {
    std::int32_t const low = subject.uniform(subject.view.low[a], subject.view.high[a]);
    box.push_back({static_cast<double>(low),
                   static_cast<double>(subject.uniform(low, subject.view.high[a]))});
  }
  return box;
}

/// What the kernels of an instruction set say of boxes, a lane after the other.
struct LaneBounds {
  std::vector<double> least;
  std::vector<double> most;
  std::vector<double> all;  // everything else: lines, sums, and the boxes after narrowing
};

LaneBounds bounds_of(char const* isa, BoxNetwork const& network,
                     std::vector<std::vector<Interval>> const& boxes, double threshold) {
  BoxKernels const& kernels = box_kernels(isa);
  BoxMemory memory(network, kernels.lanes);
  BoxLanes const& b = memory.get();
  LaneBounds result;
  auto const lanes = static_cast<std::size_t>(kernels.lanes);
  for (std::size_t first = 0; first < boxes.size(); first += lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      int const lane = static_cast<int>(i);
      std::size_t const at = std::min(first + i, boxes.size() - 1);
      for (int k = 0; k < network.inputs; ++k) {
        memory.at(b.low, k, lane) = boxes[at][static_cast<std::size_t>(k)].low;
        memory.at(b.high, k, lane) = boxes[at][static_cast<std::size_t>(k)].high;
      }
      for (int u = 0; u < network.units; ++u) {
        memory.at(b.sum_low, u, lane) = -kUnknown;
        memory.at(b.sum_high, u, lane) = kUnknown;
      }
      memory.at(memory.wanted(), 0, lane) = at % 2 == 0 ? 1.0 : -1.0;
    }
    kernels.bound(network, b);
    std::size_t const count = std::min(lanes, boxes.size() - first);
    std::vector<double> lines;
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      result.least.push_back(memory.at(b.least, 0, lane));
      result.most.push_back(memory.at(b.most, 0, lane));
    }
    kernels.narrow(network, threshold, b);
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      bool const possible = memory.at(b.possible, 0, lane) != 0.0;
      result.all.push_back(possible ? 1.0 : 0.0);
      for (int k = 0; k < network.inputs; ++k) {
        for (double* rows : {b.below, b.above, b.low, b.high}) {
          // What is narrowed to nothing has no values of its own.
          result.all.push_back(possible ? memory.at(rows, k, lane) : 0.0);
        }
      }
      for (int u = 0; u < network.units; ++u) {
        result.all.push_back(possible ? memory.at(b.sum_low, u, lane) : 0.0);
        result.all.push_back(possible ? memory.at(b.sum_high, u, lane) : 0.0);
      }
    }
  }
  return result;
}

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
      auto const reference = bounds_of("portable", network.get(), boxes, 0.0);
      for (auto const& isa : cpu_instruction_sets()) {
        SCOPED_TRACE(isa + ", seed " + std::to_string(seed));
        auto const bounds = bounds_of(isa.c_str(), network.get(), boxes, 0.0);
        EXPECT_EQ(bounds.least, reference.least);
        EXPECT_EQ(bounds.most, reference.most);
        EXPECT_EQ(bounds.all, reference.all);
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
    auto const bounds = bounds_of("", network.get(), boxes, 0.0);
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
      auto const bounds = bounds_of("", network.get(), boxes, 0.0);
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
      auto const bounds = bounds_of("", network.get(), boxes, static_cast<double>(threshold));
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
