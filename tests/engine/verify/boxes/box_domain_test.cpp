#include "engine/verify/boxes/box_domain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/boxes/box_pack.h"
#include "kernels/boxes/box_tails.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

// What tails rest on, of every encoding: codes, scaled ones, listed ones, indicators.
TEST(BoxDomain, SaysHowInputsAreSpreadOverABox) {
  int even = 0;
  int uneven = 0;
  int ranges = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomSubject::Shape shape;
    shape.attributes = 6;
    shape.range = 9;
    shape.counts = {2};
    shape.encoded = seed % 2 == 0;
    shape.seed = seed;
    RandomSubject subject(shape);
    auto const backend = make_cpu_backend(subject.view, {});
    BoxDomain const domain(subject.view, backend->subject(), free_lists(subject.view));
    GroupBox box = domain.whole();
    for (AxisRange& range : box) {
      range.first = subject.uniform(range.first, range.last);
      range.last = subject.uniform(range.first, range.last);
    }
    std::vector<InputSpread> spread(static_cast<std::size_t>(domain.inputs()));
    domain.spread(box, spread.data());
    for (std::size_t a = 0; a < domain.axes(); ++a) {
      for (std::size_t i = 0; i < domain.axis_inputs(a).size(); ++i) {
        InputSpread const& input = spread[static_cast<std::size_t>(domain.axis_inputs(a)[i])];
        std::vector<double> values;
        for (std::int32_t e = box[a].first; e <= box[a].last; ++e)
          values.push_back(domain.values(a, e)[i]);
        if (input.variance == 0.0) {
          for (double const x : values) {
            ASSERT_GE(x, input.mean_low);
            ASSERT_LE(x, input.mean_high);
          }
          ++ranges;
          continue;
        }
        ASSERT_EQ(domain.axis_inputs(a).size(), 1U);
        (input.breadth < 100.0 * input.variance ? even : uneven) += 1;
        for (double rate = 0.01; rate * std::sqrt(input.variance) < 12.0; rate *= 1.3) {
          double const bound = BoxTails<ScalarBoxPack>::log_mean(rate * rate * input.variance,
                                                                 rate * rate * input.breadth);
          for (double const r : {-rate, rate}) {
            double mean = 0.0;
            double const from = r > 0.0 ? input.mean_high : input.mean_low;
            for (double const x : values) mean += std::exp(r * (x - from));
            ASSERT_LE(std::log(mean / static_cast<double>(values.size())), bound + 1e-9);
          }
        }
      }
    }
  }
  EXPECT_GT(even, 20);
  EXPECT_GT(uneven, 5);
  EXPECT_GT(ranges, 20);
}

}  // namespace
}  // namespace fairlane
