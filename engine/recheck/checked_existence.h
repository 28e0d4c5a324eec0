// Which members of groups exist, for the certificate's checker: by the words of a domain's
// constraints, without what they are compiled to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/verify/boxes/box_domain.h"
#include "models/data/domain.h"

namespace fairlane {

/// What became of the statement that a box is empty.
enum class Emptiness : std::uint8_t { kEmpty, kPeopled, kNotKnown };

/// A constraint leaves nobody in a box of codes
/// - "if when, then then": where every `when` holds of all codes, and some `then` of none;
/// - of a sum: where its least over the box is above `most`, or its greatest below `least`;
/// - of combinations: where none of its rows lies in the box.
/// Of a single row each says what satisfies() does. A box that no constraint empties by itself is
/// narrowed, axis by axis, to the entries that none does, and halved where that is not enough.
class CheckedExistence {
 public:
  /// words  bounds are resolved
  /// Both outlive it.
  CheckedExistence(BoxDomain const& domain, Domain const& words);

  bool constrained() const { return !words_.constraints.empty(); }
  bool exists(std::int32_t const* row) const { return satisfies(words_.constraints, row); }
  /// Those of some variants with which no constraint leaves a box empty by itself.
  std::vector<int> possible(std::span<AxisRange const> box, std::span<int const> variants) const;
  /// Whether nobody of a box exists, within the limits, with any of some variants.
  /// effort  boxes that are looked at for a variant
  Emptiness look(GroupBox const& box, std::span<int const> variants, int effort) const;

 private:
  /// The least and the greatest code of every attribute, [attributes].
  struct Codes {
    std::vector<std::int32_t> low;
    std::vector<std::int32_t> high;
  };
  Codes codes_of(std::span<AxisRange const> box, int variant) const;
  bool is_empty(Codes const& codes) const;
  /// Takes entries from the ends of a box that leave nobody. Returns false where that is all.
  bool narrow(GroupBox& box, int variant) const;
  Emptiness look(GroupBox const& box, int variant, int effort) const;
  /// Looks at every group.
  Emptiness look_at_all(GroupBox const& box, int variant) const;
  /// The longest axis, of those that constraints speak of if there is one.
  std::size_t axis_to_halve(GroupBox const& box) const;

  BoxDomain const& domain_;
  Domain const& words_;
  std::vector<char> spoken_of_;  // [axes] whether a constraint speaks of an attribute of it
};

}  // namespace fairlane
