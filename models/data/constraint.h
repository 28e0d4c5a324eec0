// One constraint of a domain: which combinations of attributes' values may exist, as its file says.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fairlane {

struct Attribute;
struct Dataset;
struct Domain;

/// Codes from..to, inclusive. An end that nobody gave is that of int32.
struct CodeInterval {
  std::int32_t from = std::numeric_limits<std::int32_t>::min();
  std::int32_t to = std::numeric_limits<std::int32_t>::max();
  bool operator==(CodeInterval const&) const = default;
};

/// One attribute among some of its codes.
/// ranges  ascending, apart from each other; within the attribute's bounds where those are known,
///         and from a listed code to a listed code where it has a list. None: it never holds.
struct CodeCondition {
  int attribute = 0;
  std::vector<CodeInterval> ranges;

  bool holds(std::int32_t code) const;
  bool operator==(CodeCondition const&) const = default;
};

/// factor  a whole number other than 0
struct SumTerm {
  int attribute = 0;
  std::int32_t factor = 1;
  bool operator==(SumTerm const&) const = default;
};

enum class ConstraintKind : std::uint8_t {
  kImplication,  // where all of `when` hold, all of `then` do
  kSum,          // the sum of factor * code lies between least and most
  kCombinations  // the codes of `attributes` together occur in a row of the table, or in `rows`
};

/// One constraint. Only the members of its kind are used.
/// place  file:line:column, for messages
/// rows   [n][attributes] codes, ascending, each once; of a table (`from_data`): filled when bounds
///        are resolved
struct Constraint {
  ConstraintKind kind = ConstraintKind::kImplication;
  std::string place;
  std::vector<CodeCondition> when;
  std::vector<CodeCondition> then;
  std::vector<SumTerm> terms;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<int> attributes;
  std::vector<std::int32_t> rows;
  bool from_data = false;
};

/// Distinct combinations that one constraint may list: with more of them it says next to nothing,
/// and they are kept in memory for each process.
inline constexpr std::size_t kMaxCombinations = std::size_t{1} << 20;

/// Whether a row of codes, in the domain's order, satisfies one constraint, or all of a domain, as
/// their words say: the reference for everything faster.
bool satisfies(Constraint const& constraint, std::int32_t const* row);
bool satisfies(std::vector<Constraint> const& constraints, std::int32_t const* row);

/// A constraint in the domain's words: "relationship Wife => gender Female".
std::string constraint_text(Constraint const& constraint, Domain const& domain);

/// Ranges of an attribute's codes as a condition keeps them: those that may occur, in order, merged.
std::vector<CodeInterval> settled_ranges(std::vector<CodeInterval> ranges,
                                         Attribute const& attribute);
/// The codes that may occur and lie in none of the ranges.
std::vector<CodeInterval> other_ranges(std::vector<CodeInterval> const& ranges,
                                       Attribute const& attribute);

/// Sorts combinations and leaves each once. width: codes of one.
std::vector<std::int32_t> distinct_rows(std::vector<std::int32_t> const& rows, std::size_t width);

/// Settles what constraints could not know before bounds were resolved, and takes the combinations
/// of `from_data` from the table. Throws Error(kConfig) with the constraint's place where there is
/// no table, where it holds too many of them, or where a code lies outside the bounds.
void resolve_constraints(Domain& domain, Dataset const* data);

}  // namespace fairlane
