// Inputs whose output overflows have no label: how they are counted, and what is not done where
// they may occur.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/backend.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

// A weight of infinity makes members undefined: they are counted apart and count neither as fair
// nor as unfair.
TEST(Undefined, MembersAreNeverFairOrUnfair) {
  RandomSubject::Shape shape;
  shape.counts = {4};
  shape.widths = {4, 1};
  shape.activation = Activation::kLinear;
  RandomSubject subject(shape);
  auto const s = static_cast<std::size_t>(subject.view.selected[0]);
  // the selected attribute times 1e38, times up to 4: infinite for the larger values only
  for (float& w : subject.weights(0)) w = std::fabs(w);
  for (std::size_t o = 0; o < 4; ++o) subject.weights(0)[s * 4 + o] = 1.2e38F;
  auto const rows = subject.rows(64);
  naive::FloatReference const exact(subject.view);
  int undefined = 0;
  for (auto const* kernels : kernel_tables()) {
    PackedSubject const packed(subject.view, kernels->tile_outputs);
    Lanes const lanes(packed, rows);
    ScratchMemory const scratch(packed.get(), kernels->tile_lanes);
    LaneArray<std::int32_t> result(4, lanes.stride);
    LaneArray<std::uint32_t> labels(1, lanes.stride);
    LaneArray<float> scores(3, lanes.stride);
    kernels->probe(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                   {result.row(0), result.row(1), result.row(2), labels.data(), result.row(3),
                    scores.row(0), scores.row(1), scores.row(2)});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const lane = static_cast<long>(i);
      auto const want = exact.probe(rows[i]);
      ASSERT_EQ(result(0, lane), want.label);
      ASSERT_EQ(result(1, lane), want.pair);
      ASSERT_EQ(result(2, lane), want.partner) << "never an undefined member";
      ASSERT_EQ(result(3, lane),
                (want.mixed ? kGroupMixed : 0) | (want.undefined ? kGroupUndefined : 0));
      undefined += want.undefined ? 1 : 0;
      if (want.label == kUndefinedLabel) {
        ASSERT_EQ(result(1, lane), -1);
      }
    }
  }
  EXPECT_GT(undefined, 0) << "the test must meet some";
}

/// Two attributes, the second one compared: its value 0 has label 0, kOverflow an infinite logit,
/// and every other one label 1.
struct OneOverflow {
  static constexpr std::int32_t kOverflow = 7;

  /// bump  weight of a unit that is 10 at kOverflow and 0 at the other values
  explicit OneOverflow(int variants, float bump = 3.4e38F)
      : high{9, variants - 1}, value(static_cast<std::size_t>(variants)), last{1.0F, bump} {
    std::iota(value.begin(), value.end(), 0);
  }
  OneOverflow(OneOverflow const&) = delete;
  OneOverflow& operator=(OneOverflow const&) = delete;

  std::vector<std::int32_t> low = {0, 0};
  std::vector<std::int32_t> high;
  std::vector<std::int32_t> value;
  std::vector<std::int32_t> selected = {1};
  std::vector<std::uint8_t> flagged = {0, 1};
  // x - 1/2, and x - 6, x - 7, x - 8 for the bump
  std::vector<float> first = {0, 0, 0, 0, 1, 1, 1, 1};
  std::vector<float> first_bias = {-0.5F, -6, -7, -8};
  std::vector<float> second = {1, 0, 0, 10, 0, -20, 0, 10};
  std::vector<float> second_bias = {0, 0};
  std::vector<float> last;
  std::vector<float> last_bias = {-0.25F};
  std::vector<LayerView> layers = {{2, 4, Activation::kRelu, 0, first, first_bias},
                                   {4, 2, Activation::kRelu, 0, second, second_bias},
                                   {2, 1, Activation::kSigmoid, 0, last, last_bias}};
  std::vector<std::span<std::int32_t const>> values = {value};
  SubjectView view{layers, low, high, flagged, selected, values, 0.0F};
};

/// State of each variant after the given tests, each on every variant from `first` on.
std::map<std::uint32_t, std::uint8_t> states(
    SubjectView const& view, std::string const& isa,
    std::vector<std::pair<Test, std::int32_t>> const& how) {
  CpuOptions options;
  options.isa = isa;
  auto const backend = make_cpu_backend(view, options);
  for (auto const& [test, first] : how) {
    std::vector<std::uint32_t> seeds;
    std::vector<std::int32_t> rows;
    for (std::int32_t v = first; v <= view.high[1]; ++v) {
      seeds.push_back(static_cast<std::uint32_t>(v));
      rows.insert(rows.end(), {3, v});
    }
    auto const block = backend->make_block(static_cast<int>(seeds.size()), Phase::kGlobal);
    block->place(seeds, rows.data());
    block->test(test);
  }
  std::map<std::uint32_t, std::uint8_t> result;
  backend->collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) result[visits.variant[i]] = visits.state[i];
  });
  return result;
}

// Whichever test evaluates a group first, whether its labels would fit a word or not.
TEST(Undefined, EveryTestSaysTheSame) {
  for (int const variants : {10, 32, 33, 40}) {
    OneOverflow const subject(variants);
    std::map<std::uint32_t, std::uint8_t> expected;
    for (int v = 0; v < variants; ++v) {
      expected[static_cast<std::uint32_t>(v)] =
          v == OneOverflow::kOverflow ? kVisitUndefined : kVisitHit;
    }
    for (auto const& isa : cpu_instruction_sets()) {
      SCOPED_TRACE(isa + ", variants " + std::to_string(variants));
      EXPECT_EQ(states(subject.view, isa, {{fairlane::Test::kPartner, 0}}), expected);
      EXPECT_EQ(states(subject.view, isa, {{fairlane::Test::kLabels, 0}}), expected);
      EXPECT_EQ(states(subject.view, isa, {{fairlane::Test::kMargins, 0}}), expected);
      // one member first: the others must not take its answer
      for (auto const& [a, b] : {std::pair{fairlane::Test::kPartner, fairlane::Test::kLabels},
                                 std::pair{fairlane::Test::kLabels, fairlane::Test::kPartner}}) {
        EXPECT_EQ(states(subject.view, isa, {{a, variants - 1}, {b, 0}}), expected);
        EXPECT_EQ(states(subject.view, isa, {{a, OneOverflow::kOverflow}, {b, 0}}), expected);
      }
    }
  }
}

// Packed labels know no undefined one, and a search that stops at a second label may miss one.
TEST(Undefined, NothingIsPackedOrStagedWhereOutputsMayOverflow) {
  for (int const variants : {kStagedVariants, 32, 33, 40}) {
    SCOPED_TRACE(variants);
    OneOverflow const overflows(variants);
    PackedSubject const may(overflows.view, 1);
    EXPECT_FALSE(may.get().finite);
    EXPECT_EQ(may.get().label_bits, 0);
    EXPECT_FALSE(stages_classification(may.get()));
    OneOverflow const harmless(variants, 3.0F);
    PackedSubject const never(harmless.view, 1);
    EXPECT_TRUE(never.get().finite);
    EXPECT_EQ(never.get().label_bits, variants <= kPackedLabelBits ? 1 : 0);
    EXPECT_EQ(stages_classification(never.get()), variants > kPackedLabelBits);
  }
}

}  // namespace
}  // namespace fairlane
