// Which inputs of a network the groups of a box have, for the certificate's checker.
#pragma once

#include <span>
#include <vector>

#include "engine/recheck/checked_bounds.h"
#include "engine/subject/subject.h"
#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// Encloses and narrows boxes by the values of a domain's axes, with loops of its own.
class CheckedInputs {
 public:
  /// domain  outlives it
  explicit CheckedInputs(BoxDomain const& domain);

  /// Ranges [inputs] of a box of groups, with any of these variants.
  CheckedRange enclose(std::span<AxisRange const> box, std::span<int const> variants) const;
  /// Takes from the ends of a box what inputs outside of ranges have. Returns false where that is
  /// all.
  bool narrow(CheckedRange const& inputs, std::span<AxisRange> box) const;
  /// The value of the i-th of the domain's variant_inputs() that a variant has.
  double of_variant(int variant, std::size_t i) const {
    return variants_[static_cast<std::size_t>(variant) * domain_.variant_inputs().size() + i];
  }

 private:
  BoxDomain const& domain_;
  std::vector<char> rises_;       // [axes] whether the one input never falls from entry to entry
  std::vector<double> variants_;  // [variants][variant inputs]
};

/// Compares what a domain says of its axes and variants, from the tables that the lane core has,
/// with the words of the domain file, one value at a time. Throws Error(kBug).
void check_tables(BoxDomain const& domain, TestSubject const& subject);

}  // namespace fairlane
