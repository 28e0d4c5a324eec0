#include "engine/verify/counting/hinge_counter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/backend.h"
#include "tests/engine/verify/counting/counted_boxes.h"

namespace fairlane {
namespace {

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

}  // namespace
}  // namespace fairlane
