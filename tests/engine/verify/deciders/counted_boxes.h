// Small random domains, and boxes of them whose groups are counted.
#pragma once

#include "engine/verify/boxes/box_domain.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {

inline RandomSubject::Shape counted_shape(std::uint32_t seed) {
  RandomSubject::Shape shape;
  shape.attributes = 5;
  shape.counts = {2};
  shape.encoded = seed % 2 == 0;
  shape.seed = seed;
  shape.range = 3 + static_cast<int>(seed % 12);
  shape.widths = {3, 1};
  return shape;
}

inline GroupBox counted_box(RandomSubject& subject, GroupBox box) {
  for (AxisRange& range : box) {
    range.first = subject.uniform(0, range.last);
    range.last = subject.uniform(range.first, range.last);
  }
  return box;
}

}  // namespace fairlane
