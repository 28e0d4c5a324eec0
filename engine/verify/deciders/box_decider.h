// Whether a box of groups holds a discriminatory one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/verify/boxes/box_existence.h"
#include "engine/verify/boxes/existing_groups.h"
#include "engine/verify/deciders/group_pairs.h"
#include "engine/verify/deciders/open_box.h"

namespace fairlane {

/// What decided a box.
enum class BoxVerdict : std::uint8_t {
  kOpen,
  kUnfair,        // there is an example
  kMerged,        // fair: bounds of all variants together
  kVariants,      // fair: bounds of each variant, or of pairs of them
  kSplit,         // fair: units looked at by their sides
  kEnumerated,    // fair: every group was evaluated
  kKinds,         // fair: every kind of groups was evaluated
  kUndefined,     // every group was evaluated, and some output is not finite
  kWithinMargin,  // every group was evaluated, and some is fair by less than the margin
  kEmpty,         // no group is within the limits and exists
};
inline constexpr std::size_t kBoxVerdicts = static_cast<std::size_t>(BoxVerdict::kEmpty) + 1;

/// box       what is left of an open one, to be split at `cut`
/// peopled   what limits and constraints leave of the box: outside is nobody
/// leaves    whether somebody may exist in what pairs of variants have left out of `peopled`
/// variants  those that are compared, less such as exist nowhere in the box
/// example   of an unfair one
struct Decision {
  BoxVerdict verdict = BoxVerdict::kOpen;
  GroupBox box;
  GroupBox peopled;
  bool leaves = false;
  std::vector<int> variants;
  BoxCut cut;
  UnfairPair example;
};

/// What is certain of a box's groups that exist.
/// closer     whether single variants and pairs of them were looked at, too
/// by_merged  if so, what of `fair` was certain before
struct CertainGroups {
  double fair = 0.0;
  double unfair = 0.0;
  bool closer = false;
  double by_merged = 0.0;
};

/// What it costs to look at boxes, where measuring one that waits costs 1.
/// closer  measuring one that does not wait
/// group   evaluating a group of one, where that may be done instead of measuring its parts
/// walk    evaluating any box, beside its groups
struct MeasureCosts {
  double closer = 1.0;
  double group = std::numeric_limits<double>::infinity();
  double walk = 0.0;

  double evaluation(double groups) const { return walk + groups * group; }
};

/// What evaluating boxes of one round may cost, so that a job that is to stop soon does.
inline constexpr double kRoundEvaluation = 8192.0;

/// Decides boxes; one thread's. What it says of a box depends on that box alone.
class BoxDecider {
 public:
  virtual ~BoxDecider() = default;
  /// decisions [boxes]
  virtual void decide(std::span<OpenBox const> boxes, std::span<Decision> decisions) = 0;
  /// Counts the groups of boxes that are certainly fair and certainly not, and leaves the rest of
  /// each open, or decided where nothing is. No examples. decisions, certain [boxes]
  /// in_part  whether a part of an open box may be certain; otherwise its counts mean nothing, and
  ///          it may be found by the cheapest bounds alone
  virtual void measure(ExistingGroups const& existing, std::span<OpenBox const> boxes, bool in_part,
                       std::span<Decision> decisions, std::span<CertainGroups> certain) = 0;
  /// Boxes that are worth measuring at once: with fewer of them, each takes longer.
  virtual std::size_t measures_at_once() const = 0;
  virtual MeasureCosts costs() const = 0;
};

// Steps that all deciders share.

/// An open box, narrowed to what limits and constraints leave of it, or one that they leave empty
/// or without anybody to compare.
Decision begin_decision(BoxDomain const& domain, BoxExistence const& existence,
                        VerifyQuery const& query, OpenBox const& box);
/// Whether a box has so few groups that each is evaluated rather than it is halved.
bool is_small(BoxDomain const& domain, GroupBox const& box);
/// Decides an open box by each of its groups.
void evaluate_groups(BoxExistence const& existence, GroupPairs& groups, Decision& decision);
/// Counts each of its groups.
CertainGroups count_groups(GroupPairs& groups, Decision& decision);

}  // namespace fairlane
