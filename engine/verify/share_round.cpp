#include "engine/verify/share_round.h"

#include <algorithm>

namespace fairlane {
namespace {

/// Nothing is known of boxes that there was no time for.
void leave_open(std::span<OpenBox const> boxes, std::span<Decision> decisions,
                std::span<CertainGroups> certain) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    GroupBox const& box = boxes[i].box;
    auto const widest = std::ranges::max_element(box, {}, &AxisRange::size);
    decisions[i] = {};
    decisions[i].box = box;
    decisions[i].cut = middle_cut(box, static_cast<std::size_t>(widest - box.begin()));
    certain[i] = {};
  }
}

}  // namespace

bool ShareRound::begin(ShareQueue& queue, MeasureCosts const& costs) {
  boxes_ = queue.next(costs);
  to_evaluate_ = queue.to_evaluate();
  in_part_ = queue.in_part();
  decisions_.resize(boxes_.size());
  certain_.resize(boxes_.size());
  return !boxes_.empty();
}

void ShareRound::measure(BoxDecider& decider, std::size_t first, std::size_t count) {
  std::size_t const end = first + count;
  std::size_t const middle = std::clamp(to_evaluate_, first, end);
  measure_alike(decider, first, middle, false);
  measure_alike(decider, middle, end, in_part_);
  // Those that are open now have not been counted in part.
  for (std::size_t i = first; i < middle; ++i) {
    if (decisions_[i].verdict == BoxVerdict::kOpen) certain_[i] = {};
  }
}

void ShareRound::measure_alike(BoxDecider& decider, std::size_t first, std::size_t end,
                               bool in_part) {
  for (std::size_t count = 0; first < end; first += count) {
    count = std::min(decider.measures_at_once(), end - first);
    auto const some = boxes_.subspan(first, count);
    auto const decided = std::span(decisions_).subspan(first, count);
    auto const counted = std::span(certain_).subspan(first, count);
    if (overdue_()) {
      leave_open(some, decided, counted);
    } else {
      decider.measure(existing_, some, in_part, decided, counted);
    }
  }
}

std::vector<std::size_t> ShareRound::to_evaluate() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < to_evaluate_; ++i) {
    if (decisions_[i].verdict == BoxVerdict::kOpen) open.push_back(i);
  }
  return open;
}

void ShareRound::evaluate(BoxWalk& walk, std::size_t box) {
  if (overdue_()) return;
  certain_[box] = walk.count(decisions_[box].box);
  decisions_[box].verdict = BoxVerdict::kEnumerated;
}

}  // namespace fairlane
