#include "engine/verify/deciders/merged_bounds.h"

#include <algorithm>

namespace fairlane {

MergedBounds::MergedBounds(BoxDomain const& domain, VerifyQuery const& query, LaneBounds& bounds)
    : domain_(domain),
      query_(query),
      bounds_(bounds),
      separable_finder_(domain),
      most_groups_(domain, query),
      counter_(domain),
      hinge_counter_(domain) {}

void MergedBounds::load(BoxRound const& round, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const& box = round.boxes[first + i].box;
    bounds_.load(static_cast<int>(i), domain_.relaxed() ? domain_.widened(box) : box,
                 round.decisions[first + i].variants);
  }
}

void MergedBounds::bound(BoxRound const& round, Beside beside) {
  std::size_t const lanes = bounds_.lanes();
  bool const counted = beside == Beside::kCount;
  lines_.resize(round.size());
  most_.assign(round.size(), std::nullopt);
  if (counted) separable_.assign(round.size(), {});
  bounds_.compare_classes(round.boxes.front().classes);
  for (std::size_t first = 0; first < round.size(); first += lanes) {
    std::size_t const count = std::min(lanes, round.size() - first);
    load(round, first, count);
    bounds_.bound(count);
    for (std::size_t i = 0; i < count; ++i) {
      OutputLines& lines = lines_[first + i];
      lines = bounds_.read(static_cast<int>(i));
      if (round.is_open(first + i) && !reaches_both(lines))
        round.decisions[first + i].verdict = BoxVerdict::kMerged;
    }
    if (beside != Beside::kNothing) find_gaps(round, first, count);
    if (!counted) continue;
    find_separable(round, first, count);
    find_most(round, first, count);
  }
}

bool MergedBounds::reaches_both(OutputLines const& bounds) const {
  return bounds.most > query_.least_upper() && bounds.least <= query_.most_lower();
}

void MergedBounds::find_gaps(BoxRound const& round, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; i += LineGaps::kLanes) {
    std::size_t const end = std::min(i + LineGaps::kLanes, count);
    bool found = false;
    for (std::size_t j = i; j < end; ++j) {
      if (!round.is_open(first + j)) continue;
      if (!found) gaps_.find(bounds_.network(), bounds_.memory(), static_cast<int>(i));
      found = true;
      lines_[first + j].gaps = gaps_.of(static_cast<int>(j - i));
    }
  }
}

void MergedBounds::find_separable(BoxRound const& round, std::size_t first, std::size_t count) {
  if (domain_.relaxed()) return;
  for (std::size_t i = first; i < first + count; ++i) {
    if (!round.is_open(i) || !lines_[i].has_lines()) continue;
    separable_[i] =
        separable_finder_.find(bounds_, static_cast<int>(i - first), round.boxes[i].box, lines_[i]);
  }
}

void MergedBounds::find_most(BoxRound const& round, std::size_t first, std::size_t count) {
  auto const asks = [&](std::size_t i) { return round.is_open(i) && lines_[i].has_lines(); };
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!asks(first + i)) continue;
    any = true;
    most_groups_.ask(bounds_, static_cast<int>(i), round.boxes[first + i].box, lines_[first + i],
                     separable_[first + i].gain);
  }
  if (!any) return;
  bounds_.bound(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!asks(first + i)) continue;
    most_[first + i] = most_groups_.take(bounds_, static_cast<int>(i));
  }
}

double MergedBounds::count_fair(ExistingGroups const& existing, std::size_t i, double all,
                                std::span<AxisRange const> part) {
  OutputLines const& lines = most_[i] ? most_[i]->lines : lines_[i];
  if (!lines.has_lines()) return 0.0;
  double const t = query_.threshold;
  SeparableLines const& separable = separable_[i];
  double fair = 0.0;
  if (!most_[i] && separable.gain > 0.0) {
    fair = hinge_counter_.above(part, separable.parts, separable.below, t) +
           hinge_counter_.above(part, separable.parts, separable.above, -t);
  } else {
    fair = counter_.above(part, {lines.below, lines.below_constant}, t) +
           counter_.not_above(part, {lines.above, lines.above_constant}, t);
  }
  if (most_[i]) fair -= most_[i]->left_out * all;
  // At worst all that do not exist are among them.
  return std::max(fair - (domain_.groups(part) - existing.count(part)), 0.0);
}

}  // namespace fairlane
