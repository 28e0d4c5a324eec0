// Constraints between attributes as kernels see them: which inputs of a domain may exist.
//
// Each sums up one whole number per attribute that it speaks of, and asks the sum to be small, or
// to be one of a set. An implication counts what it asks for, a combination is numbered by mixed
// radix. What two attributes add together is looked up by an index that terms make before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlane {

inline constexpr int kSlackBits = 8;  // of a random word, that choose how far a step may go
inline constexpr int kSlacks = 1 << kSlackBits;

/// What a term takes from its attribute's code.
enum class TermKind : std::uint8_t {
  kCode,    // factor * code
  kWithin,  // factor where from <= code <= to, otherwise 0
  kTable,   // table[code - from]; no code lies outside from..to
  kIndex,   // nothing: table[code - from] moves the index of the next look-up
  kLookUp   // table[index], whatever the code; the index is 0 again
};

/// One term of a sum: what an attribute's code adds.
/// attribute  its index
/// factor     unused with a table
/// from, to   codes, inclusive, of a look-up indices; unused by kCode
/// table      [to - from + 1]; null but for tables, indices and look-ups
struct TermView {
  int attribute = 0;
  TermKind kind = TermKind::kCode;
  std::int32_t factor = 0;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t const* table = nullptr;
};

/// What a term that is no look-up adds, to the sum or to an index, for a code of its attribute.
inline std::int64_t term_value(TermView const& term, std::int32_t code) {
  switch (term.kind) {
    case TermKind::kCode:
      return std::int64_t{term.factor} * code;
    case TermKind::kWithin:
      return term.from <= code && code <= term.to ? term.factor : 0;
    case TermKind::kTable:
    case TermKind::kIndex:
    case TermKind::kLookUp:
      break;
  }
  return term.table[code - term.from];
}

/// Whether a sum is at most `bound`, or, with a set, lies in 0..bound and has its bit set.
/// set  bit i % 32 of word i / 32 for sum i
inline bool is_allowed(std::int64_t sum, std::int64_t bound, std::span<std::uint32_t const> set) {
  if (set.empty()) return sum <= bound;
  return sum >= 0 && sum <= bound &&
         (set[static_cast<std::size_t>(sum / 32)] >> (sum % 32) & 1U) != 0;
}

/// One constraint: an input satisfies it where the terms' sum is_allowed(). No sum of the terms, or
/// of the first of them, leaves int32.
/// terms  at least one; those of one attribute, if several, side by side, unless there are look-ups
/// set    [bound / 32 + 1] words; empty: the bound alone
struct ConstraintView {
  std::span<TermView const> terms;
  std::int32_t bound = 0;
  std::span<std::uint32_t const> set = {};
};

/// The terms' sum for a row of codes.
inline std::int64_t constraint_sum(ConstraintView const& constraint, std::int32_t const* row) {
  std::int64_t sum = 0;
  std::int64_t index = 0;
  for (TermView const& term : constraint.terms) {
    if (term.kind == TermKind::kLookUp) {
      sum += term.table[index];
      index = 0;
      continue;
    }
    std::int64_t& to = term.kind == TermKind::kIndex ? index : sum;
    to += term_value(term, row[term.attribute]);
  }
  return sum;
}

}  // namespace fairlane
