// Where the affected rows of a table are, as rules that a person can read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// What a condition asks of an attribute.
enum class ConditionKind { kIs, kOneOf, kAtLeast, kAtMost };

/// One condition on one attribute.
/// codes  of kOneOf ascending; otherwise one
struct Condition {
  ConditionKind kind = ConditionKind::kIs;
  std::int32_t attribute = 0;
  std::vector<std::int32_t> codes;

  bool holds(std::int32_t code) const;
  bool operator==(Condition const&) const = default;
};

/// Conditions that hold together, of different attributes, ascending by attribute.
/// rows       that they hold for
/// affected   of those
/// added      of those, the ones that no earlier rule covers
/// precision  affected / rows
/// coverage   affected / all affected rows
/// quality    by how many standard deviations the rows that no earlier rule covers have more
///            affected ones than as many drawn from all such rows
struct Rule {
  std::vector<Condition> conditions;
  std::int64_t rows = 0;
  std::int64_t affected = 0;
  std::int64_t added = 0;
  double precision = 0.0;
  double coverage = 0.0;
  double quality = 0.0;

  bool holds(std::int32_t const* row) const;
};

/// most_conditions  1 to 3
/// most_chance      probability of finding any rule so good where rows are affected at random, at
///                  most; 1: any rule is taken
/// least_added      affected rows that no earlier rule covers
/// least_added_percent  the same, of all affected ones
/// beam             rules of two conditions that a third one is sought for
struct RuleOptions {
  int most_rules = 5;
  int most_conditions = 3;
  double most_chance = 0.001;
  std::int64_t least_added = 5;
  std::int64_t least_added_percent = 3;
  int beam = 48;
};

/// A further condition must make a rule so much better. Since it leaves fewer rows, it then raises
/// precision over that of all rows by more than this: shorter rules come first.
inline constexpr double kNoticeable = 0.1;
/// Rules that say where the affected rows are, each one the best for the rows that no earlier one
/// covers. Up to two conditions the best rule is found where no nominal attribute has more than 6
/// values or ordered one more than 63; otherwise, and of three conditions, a good one. No rule
/// where none or all rows are affected.
/// rows         [count][attributes] codes
/// is_affected  [count]
/// left_out     attributes that no condition is of, such as the protected ones
/// Source: sequential covering (Clark and Niblett, Machine Learning 3, 1989) of subgroups by the
/// binomial test (Kloesgen, Explora, 1996); sets of values by their order of precision (Breiman et
/// al., Classification and Regression Trees, 1984).
std::vector<Rule> find_rules(Domain const& domain, std::span<std::int32_t const> rows,
                             std::span<std::uint8_t const> is_affected,
                             std::span<std::int32_t const> left_out,
                             RuleOptions const& options = {});

/// "is master", "is one of bachelor, master", "is at least 45-59".
std::string condition_text(Domain const& domain, Condition const& condition);
/// "education is master and hours is at least 40".
std::string rule_text(Domain const& domain, Rule const& rule);

}  // namespace fairlane
