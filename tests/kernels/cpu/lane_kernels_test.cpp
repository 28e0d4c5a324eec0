// Every instruction set gives the bits of the portable one, on random networks of all shapes.
#include "kernels/cpu/lane_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "kernels/core/steps.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

/// What all kernels say about a set of rows: integers and floats in a fixed order.
struct Outputs {
  std::vector<std::int64_t> integers;
  std::vector<float> floats;

  template <class T>
  void take(LaneArray<T> const& array, int rows, int n) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < n; ++i) take(array.row(r)[i]);
    }
  }
  template <class T>
  void take(T value) {
    if constexpr (std::is_same_v<T, float>) {
      floats.push_back(value);
    } else {
      integers.push_back(value);
    }
  }
};

/// Runs every function of the table.
Outputs run_all(RandomSubject::Shape const& shape, SubjectView const& view,
                std::vector<naive::Row> const& rows, LaneKernels const& kernels) {
  PackedSubject const packed(view, kernels.tile_outputs);
  Subject const& s = packed.get();
  Lanes lanes(packed, rows);
  long const stride = lanes.stride;
  int const n = lanes.count;
  ScratchMemory const scratch(s, kernels.tile_lanes);
  Outputs out;
  int const outputs = s.network.outputs();

  LaneArray<float> logits(outputs, stride);
  kernels.logits(s, lanes.x.data(), stride, n, scratch.get(), logits.data(), stride);
  out.take(logits, outputs, n);

  LaneArray<std::uint32_t> packed_labels(1, stride);
  LaneArray<std::int32_t> flags(1, stride);
  kernels.classify(s, lanes.x.data(), stride, n, scratch.get(), packed_labels.data(), flags.data());
  if (s.label_bits > 0) out.take(packed_labels, 1, n);
  out.take(flags, 1, n);

  LaneArray<std::int32_t> found(1, stride);
  LaneArray<std::int32_t> some(1, stride);
  for (long i = 0; i < stride; ++i) found[i] = kUndefinedLabel;
  int const half = s.variants / 2;
  kernels.classify_some(s, lanes.x.data(), stride, n, scratch.get(), 0, half, found.data(),
                        some.data());
  out.take(found, 1, n);
  kernels.classify_some(s, lanes.x.data(), stride, n, scratch.get(), half, s.variants, found.data(),
                        some.data());
  out.take(found, 1, n);
  out.take(some, 1, n);

  LaneArray<std::uint8_t> labels(s.variants, stride);
  kernels.variant_labels(s, lanes.x.data(), stride, n, scratch.get(), labels.data(), stride);
  out.take(labels, s.variants, n);

  LaneArray<std::int32_t> probe(4, stride);
  LaneArray<float> scores(3, stride);
  for (bool const describe : {false, true}) {
    kernels.probe(s, lanes.x.data(), stride, n, scratch.get(),
                  {probe.row(0), probe.row(1), probe.row(2), packed_labels.data(), probe.row(3),
                   describe ? scores.row(0) : nullptr, scores.row(1), scores.row(2)});
    out.take(probe, 4, n);
    if (s.label_bits > 0) out.take(packed_labels, 1, n);
  }
  out.take(scores, 3, n);

  LaneArray<std::int32_t> ints(10, stride);
  LaneArray<float> margins(5, stride);
  for (long i = 0; i < stride; ++i) {
    ints(4, i) = static_cast<std::int32_t>(i % (std::max(outputs, 2) + 1)) - 1;
    ints(5, i) = static_cast<std::int32_t>(i % std::max(outputs, 2));
  }
  kernels.margins(
      s, lanes.x.data(), stride, n, scratch.get(),
      {ints.row(0), packed_labels.data(), ints.row(1), ints.row(2), ints.row(3), margins.row(0),
       ints.row(4), ints.row(5), margins.row(1), margins.row(2), ints.row(6), ints.row(7),
       ints.row(8), ints.row(9), margins.row(3), margins.row(4)});
  out.take(ints, 10, n);
  out.take(margins, 5, n);

  for (long i = 0; i < stride; ++i) {
    ints(8, i) = static_cast<std::int32_t>(i % s.variants);
    ints(9, i) = static_cast<std::int32_t>((i + 1 + i / 7) % s.variants);
  }
  LaneArray<std::int32_t> members(8, stride);
  kernels.pair_margins(
      s, lanes.x.data(), stride, n, scratch.get(), {ints.row(8), ints.row(9)},
      {members.row(0), packed_labels.data(), members.row(1), members.row(2), members.row(3),
       margins.row(0), ints.row(4), ints.row(5), margins.row(1), margins.row(2), members.row(4),
       members.row(5), members.row(6), members.row(7), margins.row(3), margins.row(4)});
  out.take(members, 8, n);
  out.take(margins, 5, n);

  LaneArray<float> gradient(s.columns, stride);
  LaneArray<float> other(s.columns, stride);
  for (auto const kind : {GradientKind::kProbability, GradientKind::kLoss, GradientKind::kMargin,
                          GradientKind::kProbabilityDifference}) {
    kernels.gradients(s, {kind, 1.0F}, lanes.x.data(), stride, n, scratch.get(),
                      kind == GradientKind::kLoss ? other.data() : gradient.data(), stride);
    out.take(kind == GradientKind::kLoss ? other : gradient, s.columns, n);
  }

  LaneArray<std::uint32_t> number(2, stride);
  LaneArray<std::uint32_t> words(4, stride);
  for (long i = 0; i < stride; ++i) {
    number(0, i) = static_cast<std::uint32_t>(i * 2654435761U);
    number(1, i) = static_cast<std::uint32_t>(i / 3);
  }
  constexpr std::uint64_t kSeed = 0x123456789ABCDEFULL;
  kernels.random_words(number.row(0), Phase::kLocal, number.row(1), 1, kSeed, n, words.data(),
                       stride);
  out.take(words, 4, n);

  LaneArray<float> weights(std::max(s.movable_count, 1), stride);
  LaneArray<float> total(1, stride);
  LaneArray<std::int32_t> draw(2, stride);
  if (s.movable_count > 0) {
    kernels.attribute_weights(s, 1e-6F, gradient.data(), other.data(), stride, n, weights.data(),
                              stride, total.data());
    kernels.perturb(s, 2, weights.data(), total.data(), words.data(), lanes.x.data(), stride, n,
                    draw.row(0), draw.row(1));
    out.take(weights, s.movable_count, n);
    out.take(total, 1, n);
    out.take(draw, 2, n);
    out.take(lanes.x, s.columns, n);
  }

  LaneArray<float> momentum(s.columns, stride);
  LaneArray<float> partner_momentum(s.columns, stride);
  for (int round = 0; round < 3; ++round) {
    std::int32_t const step = 1 + round;
    kernels.advance(s, {0.5F, step, round % 2 == 0 ? -1 : 1}, gradient.data(), other.data(), stride,
                    momentum.data(), partner_momentum.data(), lanes.x.data(), stride, n);
  }
  out.take(lanes.x, s.columns, n);
  out.take(momentum, s.columns, n);

  Lanes const before(packed, rows);
  LaneArray<std::int32_t> keep(1, stride);
  for (long i = 0; i < stride; ++i)
    keep[i] = static_cast<std::int32_t>((i * 7 / 5 + shape.seed) % 2);
  kernels.restore(before.x.data(), lanes.x.data(), s.columns, stride, n, keep.data());
  out.take(lanes.x, s.columns, n);
  return out;
}

/// Equal bits; one NaN is as good as another.
void expect_equal(Outputs const& a, Outputs const& b) {
  ASSERT_EQ(a.integers, b.integers);
  ASSERT_EQ(a.floats.size(), b.floats.size());
  for (std::size_t i = 0; i < a.floats.size(); ++i) {
    if (std::isnan(a.floats[i]) && std::isnan(b.floats[i])) continue;
    ASSERT_EQ(ScalarPack::bits_of(a.floats[i]), ScalarPack::bits_of(b.floats[i]))
        << "float " << i << ": " << a.floats[i] << " and " << b.floats[i];
  }
}

std::vector<RandomSubject::Shape> random_shapes(int count) {
  constexpr Activation kActivations[] = {
      Activation::kRelu, Activation::kLeakyRelu, Activation::kElu,
      Activation::kTanh, Activation::kSigmoid,   Activation::kLinear,
      Activation::kSilu, Activation::kGelu,      Activation::kGeluTanh};
  std::mt19937 random(20);
  auto const upto = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::vector<RandomSubject::Shape> shapes;
  for (int i = 0; i < count; ++i) {
    RandomSubject::Shape shape;
    shape.seed = static_cast<std::uint32_t>(i + 1);
    shape.activation = kActivations[i % 9];
    shape.attributes = upto(2, 24);
    shape.counts.clear();
    constexpr int kMostVariants = 40;
    int variants = 1;
    int const selected = i % 7 == 0 ? 0 : upto(1, std::min(3, shape.attributes - 1));
    for (int k = 0; k < selected; ++k) {
      shape.counts.push_back(upto(1, std::max(1, kMostVariants / variants / (selected - k))));
      variants *= shape.counts.back();
    }
    shape.widths.clear();
    for (int l = upto(0, 3); l > 0; --l) shape.widths.push_back(upto(1, 70));
    shape.widths.push_back(i % 2 == 0 ? 1 : upto(2, 5));
    shape.scale = i % 5 == 0 ? 4.0F : 1.5F;  // some saturate
    shape.threshold = i % 4 == 0 ? -0.75F : 0.0F;
    shape.constrained = i % 3 == 1 && selected > 0;
    shapes.push_back(shape);
  }
  return shapes;
}

// The local step of each lane by itself, with steps that the bounds clip to nothing or to a part.
TEST(LaneKernels, PerturbMovesTheDrawnColumnOnly) {
  for (int const attributes : {3, 12, 90}) {
    RandomSubject::Shape shape;
    shape.attributes = attributes;
    RandomSubject subject(shape);
    auto const rows = subject.rows(75);
    for (auto const* kernels : kernel_tables()) {
      SCOPED_TRACE(std::string(kernels->isa) + ", " + std::to_string(attributes) + " attributes");
      PackedSubject const packed(subject.view, kernels->tile_outputs);
      Subject const& s = packed.get();
      Lanes const before(packed, rows);
      Lanes lanes(packed, rows);
      LaneArray<float> weights(s.movable_count, lanes.stride);
      LaneArray<float> total(1, lanes.stride);
      LaneArray<std::uint32_t> words(2, lanes.stride);
      LaneArray<std::int32_t> draw(2, lanes.stride);
      std::mt19937 random(7);
      for (long i = 0; i < lanes.count; ++i) {
        for (int a = 0; a < s.movable_count; ++a)
          total[i] += weights(a, i) = static_cast<float>(random() % 100);
        words(0, i) = static_cast<std::uint32_t>(random());
        words(1, i) = static_cast<std::uint32_t>(random());
      }
      constexpr std::int32_t kStep = 2;
      kernels->perturb(s, kStep, weights.data(), total.data(), words.data(), lanes.x.data(),
                       lanes.stride, lanes.count, draw.row(0), draw.row(1));
      for (long i = 0; i < lanes.count; ++i) {
        int const drawn = choose_attribute<ScalarPack>(weights.data() + i, s.movable_count,
                                                       lanes.stride, total[i], words(0, i));
        ASSERT_EQ(draw(0, i), drawn);
        std::int32_t const step = choose_direction<ScalarPack>(words(1, i)) * kStep;
        for (int c = 0; c < s.columns; ++c) {
          std::int32_t const old = before.x.row(c)[i];
          std::int32_t const expected =
              c == s.movable[drawn] ? std::min(std::max(old + step, s.low[c]), s.high[c]) : old;
          ASSERT_EQ(lanes.x(c, i), expected);
          if (c == s.movable[drawn]) {
            ASSERT_EQ(draw(1, i), expected - old);
          }
        }
      }
    }
  }
}

// Lists and gathered columns, also at lengths that are no multiple of any pack.
TEST(LaneKernels, ListsAndGathersLanes) {
  constexpr int kRows = 3;
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (auto const* kernels : kernel_tables()) {
    SCOPED_TRACE(kernels->isa);
    long const stride = 2L * kPadLanes;
    LaneArray<std::int32_t> value(1, stride);
    LaneArray<std::int32_t> from(kRows, stride);
    for (long i = 0; i < stride; ++i) {
      value[i] = i % 11 == 0 ? kMost : static_cast<std::int32_t>(i * 7 % 10) - 3;
      for (int r = 0; r < kRows; ++r) from(r, i) = static_cast<std::int32_t>(1000 * r + i);
    }
    for (int const n : {0, 1, 15, 16, 17, 64, 67, 100}) {
      for (auto const& [low, high] : {std::pair{0, 0}, {2, kMost}, {-3, kMost}, {kMost, kMost}}) {
        std::vector<std::int32_t> expected;
        for (int i = 0; i < n; ++i) {
          if (low <= value[i] && value[i] <= high) expected.push_back(i);
        }
        LaneArray<std::int32_t> lanes(1, stride);
        int const count = kernels->list(value.data(), low, high, n, lanes.data());
        ASSERT_EQ(std::vector<std::int32_t>(lanes.data(), lanes.data() + count), expected);
        LaneArray<std::int32_t> to(kRows, stride);
        kernels->gather(from.data(), kRows, stride, lanes.data(), count, to.data(), stride);
        for (int r = 0; r < kRows; ++r) {
          for (int k = 0; k < count; ++k)
            ASSERT_EQ(to(r, k), 1000 * r + expected[static_cast<std::size_t>(k)]);
        }
      }
    }
  }
}

TEST(LaneKernels, EveryInstructionSetGivesThePortableBits) {
  auto const tables = kernel_tables();
  if (tables.size() < 2) GTEST_SKIP() << "only the portable instruction set is here";
  constexpr int kShapes = 30;
  for (auto const& shape : random_shapes(kShapes)) {
    RandomSubject subject(shape);
    int const lanes = subject.uniform(1, shape.seed % 10 == 0 ? 150 : 40);
    SCOPED_TRACE("seed " + std::to_string(shape.seed) + ", " + std::to_string(lanes) + " lanes");
    auto const rows = subject.rows(lanes);
    Outputs const portable = run_all(shape, subject.view, rows, *tables.front());
    for (std::size_t t = 1; t < tables.size(); ++t) {
      SCOPED_TRACE(tables[t]->isa);
      expect_equal(portable, run_all(shape, subject.view, rows, *tables[t]));
      if (HasFatalFailure()) return;
    }
  }
}

/// Encoded subjects of all widths, with few and many protected values.
std::vector<RandomSubject::Shape> encoded_shapes(int count) {
  auto shapes = random_shapes(count);
  for (auto& shape : shapes) {
    shape.encoded = true;
    shape.attributes = std::min(shape.attributes, 12);
    while (static_cast<int>(shape.counts.size()) >= shape.attributes) shape.counts.pop_back();
    shape.range = shape.seed % 3 == 0 ? 5 : 40;
  }
  return shapes;
}

/// A register of kLanes floats, as far as FirstLayer asks when it chooses: all else is one lane's.
template <int kWidth>
struct WidePack : ScalarPack {
  static constexpr int kLanes = kWidth;
  using F = float;
  static void transpose(F (&)[kLanes]);
};

// Whether one-hot columns enter by rows or as inputs, sums are those of the network written down
// plainly.
TEST(LaneKernels, EncodedColumnsGiveTheBitsOfDenseInputs) {
  auto const tables = kernel_tables();
  int by_rows[2] = {};
  for (auto const& shape : encoded_shapes(60)) {
    RandomSubject subject(shape);
    naive::FloatReference const reference(subject.view);
    auto const rows = subject.rows(subject.uniform(1, 70));
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    Outputs const portable = run_all(shape, subject.view, rows, *tables.front());
    for (auto const* kernels : tables) {
      SCOPED_TRACE(kernels->isa);
      PackedSubject const packed(subject.view, kernels->tile_outputs);
      Subject const& s = packed.get();
      by_rows[0] += adds_rows<WidePack<8>>(s) ? 1 : 0;
      by_rows[1] += adds_rows<WidePack<16>>(s) ? 1 : 0;
      Lanes const lanes(packed, rows);
      ScratchMemory const scratch(s, kernels->tile_lanes);
      LaneArray<float> z(s.network.outputs(), lanes.stride);
      LaneArray<std::uint8_t> labels(s.variants, lanes.stride);
      kernels->logits(s, lanes.x.data(), lanes.stride, lanes.count, scratch.get(), z.data(),
                      lanes.stride);
      kernels->variant_labels(s, lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                              labels.data(), lanes.stride);
      for (int i = 0; i < lanes.count; ++i) {
        auto const& row = rows[static_cast<std::size_t>(i)];
        auto const expected = reference.logits(row);
        for (int c = 0; c < s.network.outputs(); ++c)
          ASSERT_EQ(z(c, i), expected[static_cast<std::size_t>(c)]) << "lane " << i;
        auto const members = naive::similar_set(subject.view, row);
        for (int v = 0; v < s.variants; ++v) {
          ASSERT_EQ(labels(v, i), reference.label(members[static_cast<std::size_t>(v)]))
              << "lane " << i << ", variant " << v;
        }
      }
      expect_equal(portable, run_all(shape, subject.view, rows, *kernels));
      if (HasFatalFailure()) return;
    }
  }
  auto const runs = 60 * static_cast<int>(tables.size());
  for (int const times : by_rows) {
    EXPECT_GT(times, runs / 8);
    EXPECT_LT(times, runs);
  }
}

TEST(LaneKernels, APairsMarginsAreThoseOfTwoMembersAlone) {
  auto const tables = kernel_tables();
  for (auto shape : encoded_shapes(20)) {
    shape.constrained = false;  // an undefined member has no margin
    RandomSubject subject(shape);
    naive::FloatReference const reference(subject.view);
    auto const rows = subject.rows(subject.uniform(1, 70));
    for (auto const* kernels : tables) {
      SCOPED_TRACE("seed " + std::to_string(shape.seed) + ", " + kernels->isa);
      PackedSubject const packed(subject.view, kernels->tile_outputs);
      Subject const& s = packed.get();
      Lanes const lanes(packed, rows);
      ScratchMemory const scratch(s, kernels->tile_lanes);
      LaneArray<std::int32_t> pair(2, lanes.stride);
      for (long i = 0; i < lanes.stride; ++i) {
        pair(0, i) = static_cast<std::int32_t>(i % s.variants);
        pair(1, i) = static_cast<std::int32_t>((i + 1) % s.variants);
      }
      LaneArray<std::int32_t> ints(10, lanes.stride);
      LaneArray<std::uint32_t> labels(1, lanes.stride);
      LaneArray<float> margins(5, lanes.stride);
      kernels->pair_margins(
          s, lanes.x.data(), lanes.stride, lanes.count, scratch.get(), {pair.row(0), pair.row(1)},
          {ints.row(0), labels.data(), ints.row(1), ints.row(2), ints.row(3), margins.row(0),
           ints.row(4), ints.row(5), margins.row(1), margins.row(2), ints.row(6), ints.row(7),
           ints.row(8), ints.row(9), margins.row(3), margins.row(4)});
      for (int i = 0; i < lanes.count; ++i) {
        auto const members = naive::similar_set(subject.view, rows[static_cast<std::size_t>(i)]);
        auto const& first = members[static_cast<std::size_t>(pair(0, i))];
        auto const& second = members[static_cast<std::size_t>(pair(1, i))];
        std::int32_t const label = reference.label(first);
        bool const mixed = reference.label(second) != label;
        ASSERT_EQ(ints(0, i), label);
        ASSERT_EQ((ints(1, i) & kGroupMixed) != 0, mixed);
        float const a = reference.class_margin(label, reference.logits(first));
        float const b = reference.class_margin(label, reference.logits(second));
        ASSERT_EQ(margins(0, i), std::min(a, b));
        if (mixed) continue;
        ASSERT_EQ(margins(3, i), std::max(a, b));
      }
    }
  }
}

// A lane's results do not depend on how many others there are or where it stands.
TEST(LaneKernels, LanesAreIndependent) {
  RandomSubject::Shape shape;
  shape.widths = {17, 3};
  RandomSubject subject(shape);
  auto const rows = subject.rows(70);
  for (auto const* kernels : kernel_tables()) {
    PackedSubject const packed(subject.view, kernels->tile_outputs);
    ScratchMemory const scratch(packed.get(), kernels->tile_lanes);
    int const outputs = packed.get().network.outputs();
    auto const logits = [&](std::vector<naive::Row> const& some) {
      Lanes const lanes(packed, some);
      LaneArray<float> z(outputs, lanes.stride);
      kernels->logits(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                      z.data(), lanes.stride);
      std::vector<std::vector<float>> result(some.size());
      for (std::size_t i = 0; i < some.size(); ++i) {
        for (int c = 0; c < outputs; ++c) result[i].push_back(z(c, static_cast<long>(i)));
      }
      return result;
    };
    auto const together = logits(rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(logits({rows[i]})[0], together[i]) << kernels->isa;
  }
}

// Weights so large that some logits overflow: labels become undefined, on every instruction set for
// the same members.
TEST(LaneKernels, OverflowIsUndefinedEverywhere) {
  for (int const outputs : {1, 3}) {
    RandomSubject::Shape shape;
    shape.widths = {8, outputs};
    shape.counts = {5};
    RandomSubject subject(shape);
    constexpr float kHuge = 3e19F;
    for (std::size_t layer : {0, 1}) {
      for (float& w : subject.weights(layer)) w *= kHuge;
    }
    auto const rows = subject.rows(100);
    Outputs const portable = run_all(shape, subject.view, rows, *kernels_portable());
    EXPECT_TRUE(std::any_of(portable.floats.begin(), portable.floats.end(),
                            [](float x) { return !std::isfinite(x); }));
    for (auto const* kernels : kernel_tables()) {
      SCOPED_TRACE(kernels->isa);
      expect_equal(portable, run_all(shape, subject.view, rows, *kernels));
    }
  }
}

TEST(LaneKernels, UnknownInstructionSetsAreAnError) {
  EXPECT_THROW(select_kernels("mmx"), Error);
  EXPECT_STREQ(select_kernels("portable").isa, "portable");
  EXPECT_EQ(select_kernels("").isa, cpu_instruction_sets().front());
}

}  // namespace
}  // namespace fairlane
