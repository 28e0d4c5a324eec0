#include "engine/verify/deciders/separable_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/verify/deciders/line_gaps.h"
#include "kernels/backend.h"
#include "tests/engine/verify/deciders/counted_boxes.h"

namespace fairlane {
namespace {

/// A form at a group, as its definition says it.
double value_of(BoxDomain const& domain, AxisParts const& parts, HingeForm const& form,
                std::vector<std::int32_t> const& entries) {
  double sum = form.constant;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    auto const added = [&](double const* slopes) {
      double of_part = 0.0;
      for (std::size_t const a : parts[p]) of_part += domain.added(a, entries[a], slopes);
      return of_part;
    };
    sum += added(form.coefficients.data());
    for (std::size_t h = 0; h < form.hinges.size(); ++h) {
      double const inner = added(form.hinges[h].slopes) + form.shifts[h * parts.size() + p];
      sum -= form.hinges[h].weight * std::max(inner, 0.0);
    }
  }
  return sum;
}

/// Forms whose hinges are anything, in parts that are anything. single: of one axis each
void count_random_forms(RandomSubject::Shape const& shape, int forms, bool single, double& counted,
                        double& true_count) {
  RandomSubject subject(shape);
  auto const backend = make_cpu_backend(subject.view, {});
  BoxDomain const domain(subject.view, backend->subject(), free_lists(subject.view));
  HingeCounter counter(domain);
  auto const number = [&] { return subject.uniform(-300, 300) / 100.0; };
  for (int i = 0; i < forms; ++i) {
    GroupBox const box = counted_box(subject, domain.whole());
    AxisParts parts(single ? box.size() : static_cast<std::size_t>(subject.uniform(1, 3)));
    for (std::size_t a = 0; a < box.size(); ++a) parts[a % parts.size()].push_back(a);
    std::vector<std::vector<double>> slopes(static_cast<std::size_t>(subject.uniform(0, 4)));
    HingeForm form;
    form.constant = number();
    form.coefficients.assign(static_cast<std::size_t>(domain.inputs()), 0.0);
    for (auto& of : slopes) of.assign(form.coefficients.size(), 0.0);
    for (std::size_t a = 0; a < domain.axes(); ++a) {
      for (int const k : domain.axis_inputs(a)) {
        form.coefficients[static_cast<std::size_t>(k)] = number();
        for (auto& of : slopes) of[static_cast<std::size_t>(k)] = number();
      }
    }
    for (auto const& of : slopes) {
      form.hinges.push_back({std::abs(number()), of.data()});
      for (std::size_t p = 0; p < parts.size(); ++p) form.shifts.push_back(4.0 * number());
    }
    double const threshold = 10.0 * number();
    double above = 0.0;
    each_point(box, [&](std::vector<std::int32_t> const& entries) {
      above += value_of(domain, parts, form, entries) > threshold ? 1.0 : 0.0;
      return true;
    });
    double const found = counter.above(box, parts, form, threshold);
    ASSERT_LE(found, above);
    ASSERT_GE(found, 0.0);
    counted += found;
    true_count += above;
  }
}

TEST(HingeCounter, CountsNoneTooManyAndFewTooFew) {
  double counted = 0.0;
  double true_count = 0.0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    count_random_forms(counted_shape(seed), 50, false, counted, true_count);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counted, 0.95 * true_count);
}

// Entries of a long axis are taken together in blocks.
TEST(HingeCounter, CountsAlongLongAxes) {
  double counted = 0.0;
  double true_count = 0.0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape = counted_shape(seed);
    shape.attributes = 3;
    shape.range = 2600;
    shape.encoded = false;
    count_random_forms(shape, 8, true, counted, true_count);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counted, 0.9 * true_count);
}

TEST(SeparableLines, EncloseTheOutputOfEveryMember) {
  int closer = 0;
  double gained = 0.0;
  double estimated = 0.0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape = counted_shape(seed);
    shape.counts = {seed % 3 == 0 ? 3 : 2};
    shape.activation = seed % 5 == 0 ? Activation::kLeakyRelu : Activation::kRelu;
    shape.scale = 2.0F;
    shape.range = 6;
    shape.widths = seed % 4 == 0 ? std::vector<int>{6, 4, 1} : std::vector<int>{9, 1};
    RandomSubject subject(shape);
    auto const backend = make_cpu_backend(subject.view, {});
    BoxDomain const domain(subject.view, backend->subject(), free_lists(subject.view));
    BoundNetwork const network(subject.view.network);
    LaneBounds bounds(domain, network, *backend);
    SeparableFinder finder(domain);
    LineGaps gaps;
    std::vector<int> variants;
    for (int v = 0; v < domain.variants(); ++v) variants.push_back(v);
    for (int i = 0; i < 20; ++i) {
      GroupBox const box = counted_box(subject, domain.whole());
      bounds.load(0, box, variants);
      bounds.bound(1);
      OutputLines lines = bounds.read(0);
      gaps.find(bounds.network(), bounds.memory(), 0);
      lines.gaps = gaps.of(0);
      SeparableLines const separable = finder.find(bounds, 0, box, lines);
      if (!(separable.gain > 0.0)) continue;
      ++closer;
      double between = 0.0;
      double between_lines = 0.0;
      bool holds = true;
      each_point(box, [&](std::vector<std::int32_t> const& entries) {
        double const below = value_of(domain, separable.parts, separable.below, entries);
        double const above = -value_of(domain, separable.parts, separable.above, entries);
        between += above - below;
        HingeForm const line_below{lines.below, lines.below_constant, {}, {}};
        HingeForm const line_above{lines.above, lines.above_constant, {}, {}};
        between_lines += value_of(domain, separable.parts, line_above, entries) -
                         value_of(domain, separable.parts, line_below, entries);
        for (int const v : variants) {
          naive::Row row(subject.view.low.size());
          domain.row(entries, v, row.data());
          double const z = naive::FloatReference(subject.view).logits(row)[0];
          holds = holds && below <= z && above >= z;
        }
        return holds;
      });
      ASSERT_TRUE(holds);
      gained += (between_lines - between) / domain.groups(box);
      estimated += separable.gain;
    }
  }
  EXPECT_GT(closer, 150);
  EXPECT_GT(gained, 0.0);
  EXPECT_NEAR(estimated / gained, 1.0, 0.3);
}

}  // namespace
}  // namespace fairlane
