// Forward pass, gradients, labels and probes against the naive reference: in float32 bit for bit,
// in double within a tolerance.
#include "kernels/core/mlp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

std::vector<RandomSubject::Shape> shapes() {
  constexpr Activation kActivations[] = {
      Activation::kRelu, Activation::kLeakyRelu, Activation::kElu,
      Activation::kTanh, Activation::kSigmoid,   Activation::kLinear,
      Activation::kSilu, Activation::kGelu,      Activation::kGeluTanh};
  std::vector<RandomSubject::Shape> all;
  std::uint32_t seed = 100;
  for (Activation const activation : kActivations) {
    for (int const outputs : {1, 2, 4}) {
      RandomSubject::Shape shape;
      shape.attributes = 5 + static_cast<int>(seed % 7);
      shape.widths = {13, 9, outputs};
      if (seed % 5 == 0) shape.widths = {outputs};
      shape.counts = seed % 3 == 0 ? std::vector<int>{4} : std::vector<int>{3, 2};
      shape.activation = activation;
      shape.threshold = seed % 4 == 0 ? 0.4F : 0.0F;
      shape.seed = ++seed;
      all.push_back(shape);
    }
  }
  return all;
}

constexpr GradientKind kKinds[] = {GradientKind::kProbability, GradientKind::kLoss,
                                   GradientKind::kMargin, GradientKind::kProbabilityDifference};

/// The portable kernels' answers for rows, in dataset order.
class Kernels {
 public:
  Kernels(SubjectView const& view, std::vector<naive::Row> const& rows, LaneKernels const& kernels)
      : packed(view, kernels.tile_outputs),
        lanes(packed, rows),
        scratch_(packed.get(), kernels.tile_lanes),
        kernels_(kernels) {}

  /// [rows][outputs]
  std::vector<std::vector<float>> logits() {
    int const outputs = packed.get().network.outputs();
    LaneArray<float> z(outputs, lanes.stride);
    kernels_.logits(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch_.get(),
                    z.data(), lanes.stride);
    return by_row(z, outputs);
  }
  /// [rows][attributes]
  std::vector<std::vector<float>> gradients(GradientSpec const& spec) {
    int const columns = packed.get().columns;
    LaneArray<float> g(columns, lanes.stride);
    kernels_.gradients(packed.get(), spec, lanes.x.data(), lanes.stride, lanes.count,
                       scratch_.get(), g.data(), lanes.stride);
    auto const in_columns = by_row(g, columns);
    auto result = in_columns;
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (int c = 0; c < columns; ++c) {
        auto const column = static_cast<std::size_t>(c);
        result[i][static_cast<std::size_t>(packed.attribute_of()[column])] = in_columns[i][column];
      }
    }
    return result;
  }
  struct Probe {
    LaneArray<std::int32_t> label, pair, partner, flags;
    LaneArray<std::uint32_t> labels;
    LaneArray<float> score, pair_score, severity;
  };
  Probe probe() {
    long const n = lanes.stride;
    Probe p{{1, n}, {1, n}, {1, n}, {1, n}, {1, n}, {1, n}, {1, n}, {1, n}};
    kernels_.probe(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch_.get(),
                   {p.label.data(), p.pair.data(), p.partner.data(), p.labels.data(),
                    p.flags.data(), p.score.data(), p.pair_score.data(), p.severity.data()});
    return p;
  }

  PackedSubject packed;
  Lanes lanes;

 private:
  std::vector<std::vector<float>> by_row(LaneArray<float> const& array, int columns) const {
    std::vector<std::vector<float>> result(static_cast<std::size_t>(lanes.count));
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (int c = 0; c < columns; ++c) result[i].push_back(array.row(c)[i]);
    }
    return result;
  }
  ScratchMemory scratch_;
  LaneKernels const& kernels_;
};

template <class A, class B>
double largest_relative_difference(A const& a, B const& b) {
  double size = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    size = std::max(size, std::fabs(static_cast<double>(b[i])));
    difference =
        std::max(difference, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return size > 0.0 ? difference / size : difference;
}

TEST(Mlp, ForwardHasTheContractsBits) {
  for (auto const& shape : shapes()) {
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    RandomSubject subject(shape);
    auto const rows = subject.rows(40);
    naive::FloatReference const exact(subject.view);
    naive::DoubleReference const real(subject.view);
    auto const logits = Kernels(subject.view, rows, *kernels_portable()).logits();
    // 13 inputs, three layers, weights of about one: some hundred roundings of 2^-24
    constexpr double kRounding = 1e-5;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(logits[i], exact.logits(rows[i]));
      auto const in_double = real.logits(rows[i]);
      for (std::size_t c = 0; c < in_double.size(); ++c)
        ASSERT_NEAR(logits[i][c], in_double[c], kRounding);
    }
  }
}

TEST(Mlp, GradientsHaveTheContractsBits) {
  for (auto const& shape : shapes()) {
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    RandomSubject subject(shape);
    auto const rows = subject.rows(24);
    naive::FloatReference const exact(subject.view);
    Kernels kernels(subject.view, rows, *kernels_portable());
    for (GradientKind const kind : kKinds) {
      GradientSpec const spec{
          kind, kind == GradientKind::kProbabilityDifference && shape.seed % 2 == 0 ? 2.0F : 1.0F};
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
      auto const gradients = kernels.gradients(spec);
      for (std::size_t i = 0; i < rows.size(); ++i)
        ASSERT_EQ(gradients[i], exact.gradient(spec, rows[i]));
    }
  }
}

// Against double, away from kinks: a relu that is on in one arithmetic and off in the other is no
// rounding.
TEST(Mlp, GradientsAreThoseOfTheFunction) {
  for (auto const& shape : shapes()) {
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    RandomSubject subject(shape);
    auto const rows = subject.rows(24);
    naive::DoubleReference const real(subject.view);
    naive::FloatReference const exact(subject.view);
    Kernels kernels(subject.view, rows, *kernels_portable());
    for (GradientKind const kind : kKinds) {
      // p (1 - p) loses what 1 - p rounds away; differences of probabilities lose most
      double const tolerance = kind == GradientKind::kProbabilityDifference ? 1e-3 : 2e-4;
      GradientSpec const spec{kind, 1.0F};
      auto const gradients = kernels.gradients(spec);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (exact.label(rows[i]) != real.label(rows[i])) continue;
        auto const p = real.probabilities(real.logits(rows[i]));
        double const largest =
            p.size() == 1 ? std::max(p[0], 1.0 - p[0]) : *std::max_element(p.begin(), p.end());
        constexpr double kSaturated = 0.999;
        if (kind != GradientKind::kMargin && largest > kSaturated) continue;
        ASSERT_LE(largest_relative_difference(gradients[i], real.gradient(spec, rows[i])),
                  tolerance)
            << "kind " << static_cast<int>(kind) << ", row " << i;
      }
    }
  }
}

// The gradient of the margin is what finite differences of the double network say.
TEST(Mlp, ReferenceGradientMatchesDifferences) {
  for (Activation const activation :
       {Activation::kTanh, Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
    SCOPED_TRACE(static_cast<int>(activation));
    RandomSubject::Shape shape;
    shape.activation = activation;
    shape.widths = {7, 5, 3};
    RandomSubject subject(shape);
    naive::DoubleReference const real(subject.view);
    constexpr double kStep = 1e-6;
    constexpr double kTolerance = 1e-6;
    for (auto const& row : subject.rows(20)) {
      auto const gradient = real.gradient({GradientKind::kMargin, 1.0F}, row);
      std::int32_t const own = real.label(row);
      for (std::size_t a = 0; a < row.size(); ++a) {
        auto up = naive::DoubleReference::reals(row);
        auto down = up;
        up[a] += kStep;
        down[a] -= kStep;
        double const slope = (real.class_margin(own, real.activations(up).back()) -
                              real.class_margin(own, real.activations(down).back())) /
                             (2 * kStep);
        EXPECT_NEAR(slope, gradient[a], kTolerance);
      }
    }
  }
}

TEST(Mlp, ProbeHasTheContractsBits) {
  for (auto const& shape : shapes()) {
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    RandomSubject subject(shape);
    auto const rows = subject.rows(40);
    naive::FloatReference const exact(subject.view);
    Kernels kernels(subject.view, rows, *kernels_portable());
    auto const got = kernels.probe();
    int const bits = kernels.packed.get().label_bits;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const lane = static_cast<long>(i);
      auto const want = exact.probe(rows[i]);
      ASSERT_EQ(got.label[lane], want.label);
      ASSERT_EQ(got.pair[lane], want.pair);
      ASSERT_EQ(got.partner[lane], want.partner);
      ASSERT_EQ(got.flags[lane],
                (want.mixed ? kGroupMixed : 0) | (want.undefined ? kGroupUndefined : 0));
      ASSERT_EQ(got.score[lane], want.score);
      ASSERT_EQ(got.pair_score[lane], want.pair_score);
      ASSERT_EQ(got.severity[lane], want.severity);
      std::uint32_t labels = 0;
      for (std::size_t v = 0; v < want.labels.size(); ++v) {
        labels |= static_cast<std::uint32_t>(want.labels[v])
                  << (v * static_cast<std::size_t>(bits));
      }
      ASSERT_GT(bits, 0);
      ASSERT_EQ(got.labels[lane], labels);
    }
  }
}

// Contract, rule 3: with all flagged columns last whatever is selected, an input's logits never
// depend on the selection.
TEST(Mlp, LogitsDoNotDependOnTheSelection) {
  RandomSubject::Shape shape;
  shape.attributes = 9;
  shape.counts = {2, 3, 2};
  shape.widths = {11, 1};
  RandomSubject subject(shape);
  auto const rows = subject.rows(64);
  std::vector<std::uint8_t> flagged(subject.view.flagged.begin(), subject.view.flagged.end());
  for (std::int32_t const s : subject.view.selected) flagged[static_cast<std::size_t>(s)] = 1;
  SubjectView all = subject.view;
  all.flagged = flagged;
  auto const expected = Kernels(all, rows, *kernels_portable()).logits();
  for (std::size_t s = 0; s < subject.view.selected.size(); ++s) {
    SubjectView one = all;
    one.selected = all.selected.subspan(s, 1);
    one.values = all.values.subspan(s, 1);
    for (auto const* kernels : kernel_tables())
      EXPECT_EQ(Kernels(one, rows, *kernels).logits(), expected);
  }
  SubjectView none = all;
  none.selected = {};
  none.values = {};
  EXPECT_EQ(Kernels(none, rows, *kernels_portable()).logits(), expected);
}

// The label of a member is the label of that input itself: the shared prefix changes nothing.
TEST(Mlp, MembersHaveTheLabelsOfTheirInputs) {
  RandomSubject::Shape shape;
  shape.counts = {4, 3};
  shape.widths = {10, 6, 3};
  RandomSubject subject(shape);
  auto const rows = subject.rows(30);
  for (auto const* kernels : kernel_tables()) {
    PackedSubject const packed(subject.view, kernels->tile_outputs);
    Lanes const lanes(packed, rows);
    ScratchMemory const scratch(packed.get(), kernels->tile_lanes);
    int const variants = packed.get().variants;
    LaneArray<std::uint8_t> labels(variants, lanes.stride);
    kernels->variant_labels(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                            labels.data(), lanes.stride);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const members = naive::similar_set(subject.view, rows[i]);
      Kernels of_members(subject.view, members, *kernels);
      auto const probe = of_members.probe();
      for (int v = 0; v < variants; ++v) {
        ASSERT_EQ(labels(v, static_cast<long>(i)), probe.label[v]);
        ASSERT_EQ(packed.variant_of(members[static_cast<std::size_t>(v)].data()), v);
      }
    }
  }
}

// Register tiles cover every width and the packed weights are the matrix, its rows permuted.
TEST(Mlp, TilesHoldTheWholeMatrix) {
  for (int outputs = 1; outputs <= 70; ++outputs) {
    for (int widest = 1; widest <= kMaxTile; ++widest) {
      int const tile = best_tile(outputs, widest);
      ASSERT_GE(tile, 1);
      ASSERT_LE(tile, widest);
    }
  }
  for (int const width : {1, 2, 3, 5, 7, 8, 9, 16, 23, 64, 70}) {
    RandomSubject::Shape shape;
    shape.widths = {width, 1};
    shape.seed = static_cast<std::uint32_t>(width);
    RandomSubject const subject(shape);
    for (int widest = 1; widest <= kMaxTile; ++widest) {
      PackedSubject const packed(subject.view, widest);
      auto const& from = subject.view.network[0];
      auto const& forward = packed.get().network.layer[0].forward;
      auto const& backward = packed.get().network.layer[0].backward;
      // element (k, o) lies in the tile of o, at row k
      auto const at = [](PackedDense const& layer, int k, int o) {
        int const first = o / layer.tile * layer.tile;
        int const tile = std::min(layer.tile, layer.outputs - first);
        return layer.weights[static_cast<long>(first) * layer.inputs + k * tile + o - first];
      };
      for (int k = 0; k < from.inputs; ++k) {
        int const attribute = packed.attribute_of()[static_cast<std::size_t>(k)];
        for (int o = 0; o < width; ++o) {
          float const w = from.weights[static_cast<std::size_t>(attribute * width + o)];
          ASSERT_EQ(at(forward, k, o), w);
          ASSERT_EQ(at(backward, o, k), w);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
