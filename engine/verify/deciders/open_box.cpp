#include "engine/verify/deciders/open_box.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/core/lattice.h"

namespace fairlane {

BoxCut middle_cut(std::span<AxisRange const> box, std::size_t axis) {
  AxisRange const& range = box[axis];
  return {axis, range.first + (range.last - range.first) / 2};
}

OpenBox part_of(OpenBox const& box, BoxCut cut, bool upper, std::uint64_t number) {
  OpenBox part = box;
  part.id = hash_word(box.id, number);
  ++part.depth;
  AxisRange& range = part.box[cut.axis];
  (upper ? range.first : range.last) = upper ? cut.entry + 1 : cut.entry;
  return part;
}

void pace(OpenBox& box, bool helped) {
  if (box.wait > 0) {
    --box.wait;
  } else if (helped) {
    box.pause = 0;
  } else {
    box.wait = box.pause;
    box.pause = std::max(2 * box.pause, 1);
  }
}

void append_box(OpenBox const& box, std::vector<std::int64_t>& to) {
  to.insert(to.end(), {static_cast<std::int64_t>(box.id), box.depth, box.variants, box.classes,
                       box.wait, box.pause, box.number});
  for (AxisRange const& range : box.box) to.insert(to.end(), {range.first, range.last});
}

OpenBox read_box(std::span<std::int64_t const> numbers, std::size_t axes, std::size_t& at) {
  if (at + 7 + 2 * axes > numbers.size()) throw std::out_of_range("a saved box is cut off");
  auto const next = [&] { return static_cast<std::int32_t>(numbers[at++]); };
  OpenBox box;
  box.id = static_cast<std::uint64_t>(numbers[at++]);
  box.depth = next();
  box.variants = next();
  box.classes = next();
  box.wait = next();
  box.pause = next();
  box.number = next();
  for (std::size_t a = 0; a < axes; ++a) {
    std::int32_t const first = next();
    box.box.push_back({first, next()});
  }
  return box;
}

}  // namespace fairlane
