// Small random domains, and boxes of them whose groups are counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/counting/hinge_counter.h"
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

/// A form at a group, as its definition says it.
inline double value_of(BoxDomain const& domain, AxisParts const& parts, HingeForm const& form,
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

}  // namespace fairlane
