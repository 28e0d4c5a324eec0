#include "engine/verify/open_box.h"

#include <stdexcept>

namespace fairlane {

void append_box(OpenBox const& box, std::vector<std::int64_t>& to) {
  to.insert(to.end(),
            {static_cast<std::int64_t>(box.id), box.depth, box.variants, box.wait, box.pause});
  for (AxisRange const& range : box.box) to.insert(to.end(), {range.first, range.last});
}

OpenBox read_box(std::span<std::int64_t const> numbers, std::size_t axes, std::size_t& at) {
  if (at + 5 + 2 * axes > numbers.size()) throw std::out_of_range("a saved box is cut off");
  auto const next = [&] { return static_cast<std::int32_t>(numbers[at++]); };
  OpenBox box;
  box.id = static_cast<std::uint64_t>(numbers[at++]);
  box.depth = next();
  box.variants = next();
  box.wait = next();
  box.pause = next();
  for (std::size_t a = 0; a < axes; ++a) {
    std::int32_t const first = next();
    box.box.push_back({first, next()});
  }
  return box;
}

}  // namespace fairlane
