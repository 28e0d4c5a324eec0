#include "engine/verify/deciders/separable_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/verify/deciders/line_gaps.h"
#include "kernels/backend.h"
#include "tests/engine/verify/counting/counted_boxes.h"

namespace fairlane {
namespace {

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
