// The constraints that `fairlane init --constraints` proposes for a domain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/dataset.h"

namespace fairlane {

/// A constraint that every row of a table satisfies.
/// rows  that it speaks of: where its condition holds, or all of those of `from_data`
struct ProposedConstraint {
  Constraint constraint;
  std::int64_t rows = 0;
};

/// As many lines as a person reads before accepting them, and of one pair of attributes.
inline constexpr std::size_t kMaxProposed = 40;
inline constexpr std::size_t kMaxOfPair = 4;

/// Finds pairs of attributes of which one settles the other (`from_data`), and values that settle
/// another attribute or leave it at most half of its values, with at least 30 rows and 0.1 % of
/// them, where chance would not have done it. The strongest come first.
/// data: rows in the domain, whose bounds are resolved
std::vector<ProposedConstraint> propose_constraints(Domain const& domain, Dataset const& data);

/// Their lines of a domain file, as comments that a person accepts by removing the first `#`, each
/// with its rows; empty where there are none.
std::string proposed_constraints_text(std::vector<ProposedConstraint> const& proposed,
                                      Domain const& domain);

/// "12 constraints hold in every row ...", for people.
std::string proposed_constraints_note(std::vector<ProposedConstraint> const& proposed);

}  // namespace fairlane
