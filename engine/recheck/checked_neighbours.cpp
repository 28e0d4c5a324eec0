#include "engine/recheck/checked_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace fairlane {

CheckedNeighbours::CheckedNeighbours(BoxDomain const& domain)
    : domain_(domain), apart_(static_cast<std::size_t>(domain.inputs())) {
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    auto const& inputs = domain.axis_inputs(a);
    for (std::int32_t e = 0; e < domain.axis(a).size(); ++e) {
      AxisRange const near = domain.near(a, e);
      for (std::int32_t other = near.first; other <= near.last; ++other) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          double& apart = apart_[static_cast<std::size_t>(inputs[i])];
          apart = std::max(apart, std::abs(domain.values(a, other)[i] - domain.values(a, e)[i]));
        }
      }
    }
  }
}

GroupBox CheckedNeighbours::beside(std::span<AxisRange const> box) const {
  GroupBox beside(box.begin(), box.end());
  if (!relaxed()) return beside;
  // Values ascend, so that none between the ends is compared with any beyond theirs.
  for (std::size_t a = 0; a < box.size(); ++a)
    beside[a] = {domain_.near(a, box[a].first).first, domain_.near(a, box[a].last).last};
  return beside;
}

bool CheckedNeighbours::keep(std::span<AxisRange> box, GroupBox const& within) {
  for (std::size_t a = 0; a < box.size(); ++a) {
    box[a] = {std::max(box[a].first, within[a].first), std::min(box[a].last, within[a].last)};
    if (box[a].first > box[a].last) return false;
  }
  return true;
}

bool CheckedNeighbours::link(std::span<AxisRange> own, std::span<AxisRange> other) const {
  return keep(own, beside(other)) && keep(other, beside(own));
}

void check_neighbours(BoxDomain const& domain, TestSubject const& subject,
                      std::span<RelaxedAttribute const> relaxed) {
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    ValueList const& list = domain.axis(a);
    auto const rule = std::ranges::find_if(relaxed, [&](RelaxedAttribute const& one) {
      return list.attributes == std::vector<int>{one.attribute};
    });
    auto const refuse = [&](std::string const& what) {
      return Error(ExitCode::kBug, fmt::format("{}: axis {}: {}; please report it",
                                               escaped(subject.domain().source), a, what));
    };
    if (rule == relaxed.end()) {
      for (std::int32_t e = 0; e < list.size(); ++e)
        if (domain.near(a, e) != AxisRange{e, e}) throw refuse("compares different values");
      continue;
    }
    auto const& values = list.values;
    for (std::size_t e = 1; e < values.size(); ++e)
      if (values[e] <= values[e - 1]) throw refuse("values do not ascend");
    auto const are_near = [&](std::int64_t one, std::int64_t other) {
      return std::abs(one - other) <= rule->by;
    };
    // The first and the last one are, and those before and behind them are not.
    for (std::size_t e = 0; e < values.size(); ++e) {
      AxisRange const near = domain.near(a, static_cast<std::int32_t>(e));
      auto const first = static_cast<std::size_t>(near.first);
      auto const last = static_cast<std::size_t>(near.last);
      bool const right = first <= e && e <= last && last < values.size() &&
                         are_near(values[first], values[e]) && are_near(values[last], values[e]) &&
                         (first == 0 || !are_near(values[first - 1], values[e])) &&
                         (last + 1 == values.size() || !are_near(values[last + 1], values[e]));
      if (!right) throw refuse(fmt::format("value {} is compared with others", values[e]));
    }
    AxisRange const region = domain.whole()[a];
    auto const first = static_cast<std::size_t>(region.first);
    std::span const own(&values[first], static_cast<std::size_t>(region.size()));
    Attribute const& attribute =
        subject.domain().attributes[static_cast<std::size_t>(list.attributes.front())];
    for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
      std::int32_t const code = attribute.code_at(i);
      auto const above = std::ranges::lower_bound(own, code);
      bool const near = (above != own.end() && are_near(*above, code)) ||
                        (above != own.begin() && are_near(*(above - 1), code));
      if (near && !std::ranges::binary_search(values, code))
        throw refuse(
            fmt::format("lacks the value {}, which some of its own are compared with", code));
    }
  }
}

}  // namespace fairlane
