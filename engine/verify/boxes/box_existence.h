// Which members of groups exist, where a domain has constraints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// Looks at boxes of groups by the constraints as kernels see them: what it leaves out of a box
/// does not exist, while some of what it leaves in need not. At a point it is exact. Any thread.
class BoxExistence {
 public:
  /// domain  outlives it
  explicit BoxExistence(BoxDomain const& domain);

  bool constrained() const { return !domain_.constraints().empty(); }
  bool exists(std::span<std::int32_t const> entries, int variant) const;
  /// Those of some variants with which a group has members.
  std::vector<int> members(std::span<std::int32_t const> entries,
                           std::span<int const> variants) const;
  /// Those of some variants with which a group of a box may exist.
  std::vector<int> possible(std::span<AxisRange const> box, std::span<int const> variants) const;
  /// Narrows a box to where groups may have members with some of the variants. Returns false where
  /// that is nowhere; the box may then be anything.
  bool narrow(std::span<int const> variants, std::span<AxisRange> box) const;
  /// Whether a group has two members with some of the variants.
  bool has_pair(std::span<std::int32_t const> entries, std::span<int const> variants) const {
    return shortfall(entries, variants) == 0;
  }
  /// Moves a point of a box, one axis after the other, to where a group has two members, as far as
  /// that is found.
  void settle(std::span<AxisRange const> box, std::span<int const> variants,
              std::span<std::int32_t> entries) const;
  /// The longest axis of a box that constraints speak of.
  std::optional<std::size_t> axis_in_doubt(std::span<AxisRange const> box) const;

 private:
  /// The least and the greatest code of every attribute, [attributes].
  struct Codes {
    std::vector<std::int32_t> low;
    std::vector<std::int32_t> high;
  };
  /// Sets the codes of an axis's attributes to those of a range of its entries.
  void set_axis(std::size_t axis, AxisRange range, Codes& codes) const;
  Codes codes_of(std::span<AxisRange const> box) const;
  bool excludes(std::span<ConstraintView const> constraints, int variant, Codes& codes) const;
  /// By how much a group misses having two members, 0 where it has them.
  std::int64_t shortfall(std::span<std::int32_t const> entries,
                         std::span<int const> variants) const;

  BoxDomain const& domain_;
  std::vector<std::vector<ConstraintView>> of_axis_;  // [axes] constraints that speak of it
};

}  // namespace fairlane
