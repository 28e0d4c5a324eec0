#include "engine/compare/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace fairlane {
namespace {

/// The evaluations of a part of a budget, rounded up.
std::int64_t part_of(std::int64_t budget, std::int64_t part) {
  std::int64_t const whole = budget / kCurvePoints * part;
  return whole + (budget % kCurvePoints * part + kCurvePoints - 1) / kCurvePoints;
}

/// Findings by the first point at which they were there.
class PointCounts {
 public:
  explicit PointCounts(std::vector<std::int64_t> const& points)
      : points_(points), counts_(points.size()) {}

  void add(std::int64_t spent) {
    auto const at = std::lower_bound(points_.begin(), points_.end(), spent);
    if (at != points_.end()) ++counts_[static_cast<std::size_t>(at - points_.begin())];
  }
  /// Found by each point.
  std::vector<std::int64_t> so_far() const {
    std::vector<std::int64_t> sums(counts_.size());
    std::partial_sum(counts_.begin(), counts_.end(), sums.begin());
    return sums;
  }

 private:
  std::vector<std::int64_t> const& points_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

void Course::add_round(std::span<Leg const> legs) {
  std::int64_t const before = spent();
  round_.assign(legs.begin(), legs.end());
  for (Leg& leg : round_) {
    leg.evaluations += before;
    ends_.push_back(leg.evaluations);
  }
  // Finders of some methods go another way than their tests.
  std::sort(ends_.end() - static_cast<std::ptrdiff_t>(round_.size()), ends_.end());
}

std::int64_t Course::spent_by(std::uint64_t finder) const {
  auto const next =
      std::upper_bound(round_.begin(), round_.end(), finder,
                       [](std::uint64_t value, Leg const& leg) { return value < leg.finder; });
  if (next == round_.begin())
    throw Error(ExitCode::kBug, fmt::format("finder {}: no leg of the search has it", finder));
  return (next - 1)->evaluations;
}

Curve Course::curve(Findings const& findings, std::int64_t budget,
                    Findings::Order const& spent_by) const {
  Curve curve;
  for (int part = 1; part <= kCurvePoints; ++part) {
    auto const end = std::lower_bound(ends_.begin(), ends_.end(), part_of(budget, part));
    curve.evaluations.push_back(end == ends_.end() ? spent() : *end);
  }
  PointCounts instances(curve.evaluations);
  findings.for_each_key([&](std::uint64_t const*, std::uint64_t const* finders, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const spent = static_cast<std::int64_t>(spent_by(finders[i]));
      instances.add(spent);
      if (curve.first_evaluations < 0 || spent < curve.first_evaluations)
        curve.first_evaluations = spent;
    }
  });
  PointCounts groups(curve.evaluations);
  findings.for_each_first_finder([&](std::uint64_t const* finders, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) groups.add(static_cast<std::int64_t>(spent_by(finders[i])));
  });
  curve.unique_instances = instances.so_far();
  curve.unique_groups = groups.so_far();
  return curve;
}

}  // namespace fairlane
