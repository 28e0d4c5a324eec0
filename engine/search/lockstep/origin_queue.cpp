#include "engine/search/lockstep/origin_queue.h"

#include <algorithm>

namespace fairlane {

void OriginQueue::extend(std::size_t count) {
  cells_.resize(size() + count);
  std::size_t const reused = std::min(count, free_.size());
  slots_.insert(slots_.end(), free_.end() - static_cast<std::ptrdiff_t>(reused), free_.end());
  free_.resize(free_.size() - reused);
  while (slots_.size() < cells_.size()) {
    if (used_ % kBlock == 0)
      blocks_.push_back(std::make_unique_for_overwrite<std::int32_t[]>(kBlock * width_));
    slots_.push_back(used_++);
  }
}

std::uint32_t OriginQueue::take(std::size_t place) {
  std::uint32_t const slot = slots_[place];
  slots_[place] = slots_.back();
  cells_[place] = cells_.back();
  slots_.pop_back();
  cells_.pop_back();
  return slot;
}

}  // namespace fairlane
