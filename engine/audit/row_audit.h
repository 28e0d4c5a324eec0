// What a protected selection changes for the rows of a table: how many, how much, for whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/subject/subject.h"
#include "kernels/backend.h"
#include "kernels/layout/walk_plan.h"

namespace fairlane {

/// What rows would get if everybody had one combination of the protected values.
/// values      [selected] codes of the combination
/// rows        that could have it: all, unless constraints exclude some
/// favourable  rows with the favourable class
/// undefined   rows without any class, which count as not favourable
struct VariantRate {
  std::vector<std::int32_t> values;
  std::int64_t rows = 0;
  std::int64_t favourable = 0;
  std::int64_t undefined = 0;
  double share = 0.0;  // favourable / rows
};

/// Two combinations of which one is better for more rows than the other.
/// better, worse  numbers of the combinations in RowAudit::variants
/// rows           that get the favourable class as `better`, and another one as `worse`
/// reverse_rows   the other way round; always fewer
struct Preference {
  std::int32_t better = 0;
  std::int32_t worse = 0;
  std::int64_t rows = 0;
  std::int64_t reverse_rows = 0;
};

/// How many of the rows with one value of an attribute are affected.
struct ValueShare {
  std::int32_t attribute = 0;
  std::int32_t code = 0;
  std::int64_t rows = 0;
  std::int64_t affected = 0;
  double share = 0.0;  // affected / rows
};

/// A value's share is told where it has so many rows, and kLeastPercent of all.
inline constexpr std::int64_t kLeastRows = 10;
inline constexpr std::int64_t kLeastPercent = 1;

/// Combinations beyond which no pairs of them are counted, as in an enumeration.
inline constexpr std::int32_t kMostPreferenceVariants = kMostPairVariants;

/// What one protected selection changes for the rows of a table. A row is affected where it is an
/// IDI: a member of its similar set has another label than the row itself.
/// rows           looked at
/// groups         distinct non-protected parts among them; each was evaluated once
/// undefined      rows that are not affected, but may be: their own output or a member's is not
///                finite
/// is_affected    [rows] 1 or 0
/// severity       [rows] largest difference of an output within the similar set; 0 where not
///                affected
/// own_label      [rows] decided class; -1: undefined
/// other_label    [rows] of the pair, the first member in product order with another label; -1:
///                none
/// other_variant  [rows] the pair's combination; -1: none
/// own_score, other_score  [rows] as instances.csv writes score and pair_score: p(1) of one output,
///                otherwise p(label); where there is no pair, other_score is own_score
/// severity_mean, severity_max  over the affected rows; 0 without any
/// variants       [variants] in product order
/// preferences    by rows - reverse_rows, most first; empty beyond kMostPreferenceVariants
/// worst          by share, largest first
struct RowAudit {
  std::int64_t rows = 0;
  std::int64_t groups = 0;
  std::int64_t affected = 0;
  std::int64_t undefined = 0;
  std::vector<std::uint8_t> is_affected;
  std::vector<double> severity;
  std::vector<std::int32_t> own_label;
  std::vector<std::int32_t> other_label;
  std::vector<std::int32_t> other_variant;
  std::vector<float> own_score;
  std::vector<float> other_score;
  double severity_mean = 0.0;
  double severity_max = 0.0;
  std::vector<VariantRate> variants;
  std::vector<Preference> preferences;
  std::vector<ValueShare> worst;
};

/// Evaluates the similar sets of the subject's data; the result depends neither on the threads nor
/// on the backend.
/// favourable  class
/// stop        set by a signal, looked at between batches: Error(kInterrupted)
/// Throws Error(kNoInput) without data, Error(kUsage) for a class that there is not, and where a
/// scorer fails.
RowAudit audit_rows(TestSubject const& subject, Backend& backend, std::int32_t favourable,
                    std::atomic<bool> const* stop = nullptr);

/// Same, of any people.
/// rows  [count][attributes] codes of the domain, protected values among the compared ones
RowAudit audit_rows(TestSubject const& subject, Backend& backend,
                    std::span<std::int32_t const> rows, std::int32_t favourable,
                    std::atomic<bool> const* stop = nullptr);

/// The affected share of every value that has rows enough, by share, largest first.
/// rows         [count][attributes] codes
/// is_affected  [count]
std::vector<ValueShare> value_shares(std::span<std::int32_t const> rows,
                                     std::span<std::uint8_t const> is_affected, int attributes);

}  // namespace fairlane
