// A box on its way through branch and bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// A box to decide.
/// number    of the box among its cell's, in the cell's proof
/// id        of the box among all, from which its random numbers come
/// depth     halvings since its cell
/// variants  that are compared, a place in VerifyQuery::variants
/// classes   whose outputs are compared, a place in BoundNetwork::pairs()
/// wait      halvings until single variants and pairs of them are looked at again
/// pause     halvings to wait for after the next look that does not help
/// evaluate  whether all its groups are evaluated where bounds do not decide it; not saved
struct OpenBox {
  std::uint64_t id = 0;
  std::int32_t depth = 0;
  std::int32_t variants = 0;
  std::int32_t classes = 0;
  std::int32_t wait = 0;
  std::int32_t pause = 0;
  GroupBox box;
  std::int32_t number = 0;
  bool evaluate = false;
};

/// In the middle of an axis.
BoxCut middle_cut(std::span<AxisRange const> box, std::size_t axis);

/// A part of a box that is cut. number: 0 or 1, what tells the parts' ids apart
OpenBox part_of(OpenBox const& box, BoxCut cut, bool upper, std::uint64_t number);

/// Sets when the halves of a box are looked at more closely: later and later where that has not
/// helped. helped: whether it did, where the box was
void pace(OpenBox& box, bool helped);

/// A box as numbers of a saved state, and the box whose numbers begin at `at`, which is moved on.
void append_box(OpenBox const& box, std::vector<std::int64_t>& to);
OpenBox read_box(std::span<std::int64_t const> numbers, std::size_t axes, std::size_t& at);

}  // namespace fairlane
