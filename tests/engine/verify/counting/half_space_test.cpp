#include "engine/verify/counting/half_space.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/backend.h"
#include "tests/engine/verify/counting/counted_boxes.h"

namespace fairlane {
namespace {

/// Groups of a box where the form lies above a threshold, one by one.
double count_above(BoxDomain const& domain, GroupBox const& box, LinearForm const& form,
                   double threshold) {
  double count = 0.0;
  each_point(box, [&](std::vector<std::int32_t> const& entries) {
    double sum = form.constant;
    for (std::size_t a = 0; a < box.size(); ++a)
      sum += domain.added(a, entries[a], form.coefficients.data());
    count += sum > threshold ? 1.0 : 0.0;
    return true;
  });
  return count;
}

// Coefficients are small integers in every other form, so that many sums lie on the threshold.
TEST(HalfSpaceCounter, CountsNoneTooManyAndFewTooFew) {
  double counted = 0.0;
  double true_count = 0.0;
  int exact = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    RandomSubject subject(counted_shape(seed));
    auto const backend = make_cpu_backend(subject.view, {});
    BoxDomain const domain(subject.view, backend->subject(), free_lists(subject.view));
    HalfSpaceCounter counter(domain);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int i = 0; i < 50; ++i) {
      GroupBox const box = counted_box(subject, domain.whole());
      std::vector<double> coefficients(static_cast<std::size_t>(domain.inputs()), 0.0);
      bool const integers = i % 2 == 0;
      for (std::size_t a = 0; a < domain.axes(); ++a) {
        for (int const k : domain.axis_inputs(a)) {
          coefficients[static_cast<std::size_t>(k)] =
              subject.uniform(-3, 3) * (integers ? 1.0 : 0.317) + (integers ? 0.0 : 0.01 * k);
        }
      }
      LinearForm const form{coefficients, integers ? 1.0 : 0.25};
      double const threshold = subject.uniform(-20, 20);
      double const all = domain.groups(box);
      double const above = count_above(domain, box, form, threshold);
      double const found_above = counter.above(box, form, threshold);
      double const found_not_above = counter.not_above(box, form, threshold);
      ASSERT_LE(found_above, above);
      ASSERT_LE(found_not_above, all - above);
      ASSERT_GE(found_above, 0.0);
      ASSERT_GE(found_not_above, 0.0);
      exact += found_above == above ? 1 : 0;
      counted += found_above + found_not_above;
      true_count += all;
    }
  }
  EXPECT_GT(counted, 0.95 * true_count);
  EXPECT_LE(counted, true_count);
  EXPECT_GT(exact, 1000);
}

}  // namespace
}  // namespace fairlane
