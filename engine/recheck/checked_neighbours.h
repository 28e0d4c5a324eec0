// Who is compared with whom beside the attributes under test, for the certificate's checker.
#pragma once

#include <span>
#include <vector>

#include "engine/subject/subject.h"
#include "engine/verify/boxes/box_domain.h"

namespace fairlane {

/// The groups that a domain's relaxed axes compare with those of a box, with loops of its own.
/// Without relaxed axes each group is compared with itself alone.
class CheckedNeighbours {
 public:
  /// domain  outlives it
  explicit CheckedNeighbours(BoxDomain const& domain);

  bool relaxed() const { return domain_.relaxed(); }
  /// A box of all groups that are compared with some group of a box.
  GroupBox beside(std::span<AxisRange const> box) const;
  /// Takes from the ends of two boxes what is compared with nothing of the other one. Returns false
  /// where that is all of a box.
  bool link(std::span<AxisRange> own, std::span<AxisRange> other) const;
  /// By how much an input of two groups that are compared may differ, [inputs].
  std::vector<double> const& apart() const { return apart_; }

 private:
  /// Takes from the ends of a box what is beyond another one.
  static bool keep(std::span<AxisRange> box, GroupBox const& within);

  BoxDomain const& domain_;
  std::vector<double> apart_;
};

/// Compares whom a domain's axes compare with the codes of the attributes, one pair of codes at a
/// time. Throws Error(kBug).
void check_neighbours(BoxDomain const& domain, TestSubject const& subject,
                      std::span<RelaxedAttribute const> relaxed);

}  // namespace fairlane
