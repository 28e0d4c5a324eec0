// Which groups of a box an ensemble of trees tells apart, or who exists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/existence_rules.h"
#include "engine/verify/ensembles/tree_bounds.h"

namespace fairlane {

/// Entries of an axis that take the same side of every condition that a box leaves open, and that
/// are the same to every rule that may exclude some member of it, are of one kind, and so are
/// variants: of groups whose entries are of the same kinds the same members exist, with the same
/// leaves. One thread's.
class BoxKinds {
 public:
  /// Kinds of an axis in the order in which their first entries come.
  /// first  [kinds] entry of each
  /// sizes  [kinds] entries
  /// open   conditions of the axis
  struct Axis {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> sizes;
    std::vector<std::int32_t> open;

    std::size_t kinds() const { return first.size(); }
  };
  /// Variants of a kind.
  using Variants = std::vector<int>;

  /// trees  outlives it
  explicit BoxKinds(BoxTrees const& trees);

  /// After bounds.bound() of the box, with these variants.
  void find(TreeBounds const& bounds, std::span<AxisRange const> box,
            std::span<int const> variants);
  std::vector<Axis> const& axes() const { return axes_; }
  std::vector<Variants> const& variants() const { return variants_; }
  /// Kinds of groups.
  double groups() const;
  /// Rules that may exclude some member of the box.
  RuleSet const& open_rules() const { return open_rules_; }
  /// Kinds of variants that a rule allows where entries add up to a sum, a bit each: of at most 64.
  std::uint64_t allowed(ExistenceRule const& rule, std::int64_t sum) const;
  /// Those with which a group has members.
  std::uint64_t members(std::span<std::int32_t const> entries) const;
  /// Whether a kind of an open condition's axis, or of variants, meets it.
  bool meets(std::int32_t condition, std::size_t kind) const;
  /// Kinds of a condition's axis, or of variants, that meet it, a bit each: of at most 64.
  std::uint64_t set_of(std::int32_t condition) const;
  /// Kind of an axis's entry that lies in the box.
  std::size_t kind_of(std::size_t axis, std::int32_t entry) const;

 private:
  void find_between_cuts(std::size_t a, AxisRange range);
  /// Kinds of `count` things by which sides they take, and what they add to open rules.
  /// meets(condition, which) -> bool, added(rule, which) -> integer, add(kind, which)
  template <class Meets, class Added, class Add>
  void find_by_sides(std::size_t count, std::vector<std::int32_t> const& open, Meets const& meets,
                     Added const& added, Add const& add) const;

  BoxTrees const& trees_;
  std::vector<ExistenceRule> const rules_;
  RuleSet open_rules_;
  std::vector<Axis> axes_;
  std::vector<Variants> variants_;
  std::vector<std::int32_t> of_variants_;  // open conditions
};

}  // namespace fairlane
