#include "engine/search/lockstep/origin_queue.h"

#include <algorithm>
#include <limits>

namespace fairlane {

int OriginQueue::bytes_for(std::int32_t low, std::int32_t high) {
  auto const fits = [&]<class Code>(Code) {
    return low >= std::numeric_limits<Code>::min() && high <= std::numeric_limits<Code>::max();
  };
  return fits(std::int8_t{}) ? 1 : fits(std::int16_t{}) ? 2 : 4;
}

template <class Use>
void OriginQueue::use_slot(std::uint32_t slot, Use const& use) const {
  std::byte* const row = &blocks_[slot / kBlock][slot % kBlock * row_bytes()];
  switch (code_bytes_) {
    case 1:
      return use(reinterpret_cast<std::int8_t*>(row));
    case 2:
      return use(reinterpret_cast<std::int16_t*>(row));
    default:
      return use(reinterpret_cast<std::int32_t*>(row));
  }
}

void OriginQueue::extend(std::size_t count) {
  std::size_t const before = size();
  places_.resize(before + count);
  for (std::size_t place = before; place < size(); ++place) {
    if (!free_.empty()) {
      places_[place].slot = free_.back();
      free_.pop_back();
      continue;
    }
    if (used_ % kBlock == 0)
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlock * row_bytes()));
    places_[place].slot = used_++;
  }
}

void OriginQueue::put(std::size_t place, std::int32_t const* row, OriginMark mark) {
  places_[place].mark = mark;
  use_slot(places_[place].slot, [&]<class Code>(Code* codes) {
    for (std::size_t a = 0; a < width_; ++a) codes[a] = static_cast<Code>(row[a]);
  });
}

void OriginQueue::get_taken(std::uint32_t slot, std::int32_t* row) const {
  use_slot(slot, [&](auto const* codes) { std::copy_n(codes, width_, row); });
}

std::uint32_t OriginQueue::take(std::size_t place) {
  std::uint32_t const slot = places_[place].slot;
  places_[place] = places_.back();
  places_.pop_back();
  return slot;
}

}  // namespace fairlane
