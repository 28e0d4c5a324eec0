#include "kernels/cpu/open_walk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/backend.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

constexpr Walker::Look kLooks[] = {{false, 1}, {true, 1}, {false, 2}, {true, 2}, {true, 3}};

/// Logits of a packed network of relus for inputs in kernel order: the lane core's chain.
std::vector<float> chain(PackedNetwork const& network, std::vector<float> x) {
  for (int l = 0; l < network.layers; ++l) {
    PackedDense const& dense = network.layer[l].forward;
    std::vector<float> sums(dense.bias, dense.bias + dense.outputs);
    for (int o = 0; o < dense.outputs; ++o) {
      float& sum = sums[static_cast<std::size_t>(o)];
      for (int k = 0; k < dense.inputs; ++k)
        sum = std::fma(x[static_cast<std::size_t>(k)], weight_of(dense, k, o), sum);
      if (l + 1 < network.layers) sum = sum > 0.0F ? sum : 0.0F;
    }
    x = sums;
  }
  return x;
}

/// The same bits, but for the sign of a zero.
bool same(float a, float b) { return (a == 0.0F && b == 0.0F) || std::memcmp(&a, &b, 4) == 0; }

struct OpenCase {
  char const* name;
  std::vector<int> widths;
  bool encoded = false;
  bool whole_numbers = false;  // weights, so that sums often are 0, and exact
  float scale = 1.0F;
};

RandomSubject::Shape shape_of(OpenCase const& c, std::uint32_t seed) {
  RandomSubject::Shape shape;
  shape.widths = c.widths;
  shape.encoded = c.encoded;
  shape.scale = c.scale;
  shape.seed = seed;
  shape.counts = seed % 3 == 0   ? std::vector<int>{4}
                 : seed % 3 == 1 ? std::vector<int>{2, 3}
                                 : std::vector<int>{5, 1};
  return shape;
}

void round_weights(RandomSubject& subject, std::size_t layers) {
  for (std::size_t l = 0; l < layers; ++l) {
    for (float& w : subject.weights(l)) w = std::round(w);
  }
}

/// Inputs in kernel order of a row.
std::vector<float> inputs_of(PackedSubject const& packed, naive::Row const& row) {
  std::vector<float> x;
  for (int column = 0; column < packed.get().columns; ++column) {
    auto const a =
        static_cast<std::size_t>(packed.attribute_of()[static_cast<std::size_t>(column)]);
    packed.append_inputs(column, packed.place_of(column, row[a]), x);
  }
  return x;
}

/// A threshold that one of twenty outputs is above.
void raise_threshold(RandomSubject& subject) {
  PackedSubject const packed(subject.view, 1);
  std::vector<float> logits;
  for (auto const& row : subject.rows(400))
    logits.push_back(chain(packed.get().network, inputs_of(packed, row))[0]);
  std::sort(logits.begin(), logits.end());
  subject.view.threshold = logits[logits.size() - logits.size() / 20];
}

class OpenWalks : public ::testing::TestWithParam<OpenCase> {};

// In boxes of all sizes: logits without what is closed, and labels for thresholds at, and next to,
// outputs that occur.
TEST_P(OpenWalks, NothingChangesInABox) {
  OpenCase const& c = GetParam();
  std::int64_t closed = 0;
  std::int64_t labelled = 0;
  std::int64_t finite = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    RandomSubject subject(shape_of(c, seed));
    if (c.whole_numbers) round_weights(subject, c.widths.size());
    for (auto const& isa : cpu_instruction_sets()) {
      LaneKernels const& kernels = select_kernels(isa.c_str());
      PackedSubject const packed(subject.view, kernels.tile_outputs);
      PackedNetwork const& whole = packed.get().network;
      auto const inputs = static_cast<std::size_t>(packed.get().inputs);
      ASSERT_TRUE(PackBounds::knows(whole));
      PackBounds const bounds(whole);
      for (bool const detailed : {false, true}) {
        SCOPED_TRACE(isa + (detailed ? ", detailed" : "") + ", seed " + std::to_string(seed));
        OpenNetwork open(whole, bounds, kernels, detailed);
        for (int box = 0; box < 12; ++box) {
          // A row, and others that differ from it in some attributes.
          naive::Row const centre = subject.row();
          std::vector<std::vector<float>> points;
          for (int i = 0; i < 24; ++i) {
            naive::Row row = subject.row();
            for (std::size_t a = 0; a < row.size(); ++a) {
              if (static_cast<int>(a) >= box / 2) row[a] = centre[a];
            }
            auto const x = inputs_of(packed, row);
            ASSERT_EQ(x.size(), inputs);
            points.push_back(x);
          }
          std::vector<float> low = points[0];
          std::vector<float> high = points[0];
          for (auto const& x : points) {
            for (std::size_t k = 0; k < inputs; ++k) {
              low[k] = std::min(low[k], x[k]);
              high[k] = std::max(high[k], x[k]);
            }
          }
          if (!open.enclose(low.data(), high.data())) continue;
          ++finite;
          PackedNetwork const& less = open.get();
          for (int l = 1; l < whole.layers; ++l)
            closed += whole.layer[l].forward.inputs - less.layer[l].forward.inputs;
          for (auto const& x : points) {
            auto const all = chain(whole, x);
            auto const some = chain(less, x);
            for (std::size_t o = 0; o < all.size(); ++o)
              ASSERT_TRUE(same(all[o], some[o])) << all[o] << " " << some[o];
            if (all.size() > 1) continue;
            // At the threshold: not above. One step below it: above.
            float const z = all[0];
            ASSERT_NE(open.label(z).value_or(0), 1);
            ASSERT_NE(open.label(std::nextafter(z, -std::numeric_limits<float>::max())).value_or(1),
                      0);
            labelled += open.label(subject.view.threshold) ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(closed, 0);
  EXPECT_EQ(labelled > 0, c.widths.back() == 1 && finite > 0);
}

struct Counted {
  std::vector<std::uint64_t> mixed;
  std::vector<std::uint64_t> counters;
  bool operator==(Counted const&) const = default;
};

TEST_P(OpenWalks, CountsStayAsTheyAre) {
  OpenCase const& c = GetParam();
  std::int64_t skipped = 0;
  std::uint64_t discriminatory = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    RandomSubject::Shape shape = shape_of(c, seed);
    shape.attributes = 7;
    RandomSubject subject(shape);
    if (c.whole_numbers) round_weights(subject, c.widths.size());
    if (seed % 2 == 0 && c.widths.back() == 1) raise_threshold(subject);
    auto const lists = free_lists(subject.view);
    for (auto const& isa : cpu_instruction_sets()) {
      CpuOptions options;
      options.isa = isa;
      auto const backend = make_cpu_backend(subject.view, options);
      auto const walker = backend->make_walker(lists);
      Walk const& walk = walker->plan().get();
      // From the first head, and from within a period on.
      for (std::int64_t const first : {std::int64_t{0}, walk.heads / 3}) {
        std::int64_t const count =
            first == 0 ? walk.heads : std::min(walk.heads - first, std::int64_t{777});
        Counted const none{
            std::vector<std::uint64_t>(static_cast<std::size_t>(walk.groups * head_words(count))),
            std::vector<std::uint64_t>(static_cast<std::size_t>(walker->plan().counters().size()))};
        Counted all = none;
        walker->count(first, count, all.mixed.data(), all.counters.data());
        discriminatory += all.counters[CountLayout::kGroups];
        for (Walker::Look const look : kLooks) {
          SCOPED_TRACE(isa + ", seed " + std::to_string(seed) + ", parts " +
                       std::to_string(look.parts) + (look.detailed ? ", detailed" : ""));
          Counted open = none;
          std::int64_t const left_out =
              walker->count_open(first, count, look, open.mixed.data(), open.counters.data());
          ASSERT_TRUE(all == open);
          ASSERT_LE(left_out, count * walk.groups);
          skipped += left_out;
          if (walker->proves()) walker->try_open(first, count, look);
        }
      }
    }
  }
  EXPECT_GT(discriminatory, 0U);
  EXPECT_EQ(skipped > 0, c.widths.back() == 1);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, OpenWalks,
    ::testing::Values(OpenCase{"narrow", {5, 1}}, OpenCase{"deep", {30, 20, 15, 15, 10, 1}},
                      OpenCase{"wide", {70, 33, 1}}, OpenCase{"encoded", {24, 9, 1}, true},
                      OpenCase{"whole_numbers", {12, 9, 7, 1}, false, true, 2.0F},
                      OpenCase{"large_weights", {12, 9, 7, 1}, false, false, 3000.0F},
                      OpenCase{"three_outputs", {14, 9, 3}},
                      OpenCase{"three_outputs_encoded", {14, 9, 3}, true}),
    [](auto const& c) { return std::string(c.param.name); });

// What is not known is evaluated: other activations, and weights whose product with 0 is not 0.
/// What a whole walk counts without looking, and with the dearest look.
std::pair<Counted, Counted> count_both_ways(Walker& walker) {
  Walk const& walk = walker.plan().get();
  Counted all{
      std::vector<std::uint64_t>(static_cast<std::size_t>(walk.groups * head_words(walk.heads))),
      std::vector<std::uint64_t>(static_cast<std::size_t>(walker.plan().counters().size()))};
  Counted open = all;
  walker.count(0, walk.heads, all.mixed.data(), all.counters.data());
  walker.count_open(0, walk.heads, {true, 2}, open.mixed.data(), open.counters.data());
  return {all, open};
}

TEST(OpenWalk, LooksAtNetworksOfRelusOnly) {
  for (Activation const activation :
       {Activation::kLinear, Activation::kLeakyRelu, Activation::kTanh, Activation::kRelu}) {
    RandomSubject::Shape shape;
    shape.activation = activation;
    RandomSubject const subject(shape);
    auto const backend = make_cpu_backend(subject.view, {});
    auto const walker = backend->make_walker(free_lists(subject.view));
    EXPECT_EQ(walker->proves(), activation == Activation::kRelu);
    auto const [all, open] = count_both_ways(*walker);
    EXPECT_TRUE(all == open);
  }
  RandomSubject infinite{RandomSubject::Shape{}};
  infinite.weights(1)[0] = std::numeric_limits<float>::infinity();
  auto const backend = make_cpu_backend(infinite.view, {});
  EXPECT_FALSE(backend->make_walker(free_lists(infinite.view))->proves());
}

// Sums beyond all floats: nothing is proven of what may be infinite or no number.
TEST(OpenWalk, WhatMayOverflowIsEvaluated) {
  RandomSubject::Shape shape;
  shape.attributes = 8;
  shape.widths = {8, 6, 5, 1};
  shape.scale = 3.0e12F;
  std::uint64_t undefined = 0;
  for (shape.seed = 1; shape.seed <= 6; ++shape.seed) {
    RandomSubject const subject(shape);
    auto const backend = make_cpu_backend(subject.view, {});
    auto const walker = backend->make_walker(free_lists(subject.view));
    ASSERT_TRUE(walker->proves());
    auto const [all, open] = count_both_ways(*walker);
    EXPECT_TRUE(all == open) << "seed " << shape.seed;
    CountLayout const layout = walker->plan().counters();
    for (int v = 0; v < layout.variants; ++v)
      undefined += all.counters[static_cast<std::size_t>(layout.undefined(v))];
  }
  EXPECT_GT(undefined, 0U);
}

}  // namespace
}  // namespace fairlane
