#include "models/data/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "models/data/domain.h"

namespace fairlane {
namespace {

/// Codes of an attribute up to which a condition of several intervals is one table, which a lane
/// looks up at once; more of them would fill caches.
constexpr std::int64_t kTableCodes = 4096;
/// The same for the digits of combinations, which have no other form that leaves codes out: 4 MiB.
constexpr std::int64_t kDigitCodes = std::int64_t{1} << 20;
/// Bits of a set: 8 MiB.
constexpr std::int64_t kMaxBits = std::int64_t{1} << 26;
/// Attributes of one combination: none adds more than 2 * kMaxBits, so that the sum stays in int32.
constexpr std::size_t kMaxCombined = 12;
/// Combinations of a box that are tried one by one.
constexpr std::int64_t kTried = 65536;
constexpr std::int64_t kMaxSum = std::numeric_limits<std::int32_t>::max();
/// A bound beyond says no more than this one, which can be added to.
constexpr std::int64_t kAnySum = std::int64_t{1} << 40;

struct SumRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

std::int64_t sum_of(std::span<TermView const> terms, std::int32_t code) {
  std::int64_t sum = 0;
  for (TermView const& term : terms) sum += term_value(term, code);
  return sum;
}

// Terms of the same attribute stand side by side: the end of those that begin at `from`.
std::size_t group_end(std::span<TermView const> terms, std::size_t from) {
  std::size_t end = from + 1;
  while (end < terms.size() && terms[end].attribute == terms[from].attribute) ++end;
  return end;
}

// What the terms of one attribute add at least and at most for codes low..high.
SumRange group_range(std::span<TermView const> terms, std::int32_t low, std::int32_t high) {
  SumRange range{sum_of(terms, low), sum_of(terms, low)};
  auto const take = [&](std::int64_t code) {
    if (code < low || code > high) return;
    std::int64_t const sum = sum_of(terms, static_cast<std::int32_t>(code));
    range = {std::min(range.low, sum), std::max(range.high, sum)};
  };
  bool const has_table = std::ranges::any_of(
      terms, [](TermView const& term) { return term.kind == TermKind::kTable; });
  if (has_table) {
    for (std::int64_t code = low; code <= high; ++code) take(code);
    return range;
  }
  // Between the places where an interval begins or ends the sum is constant or a straight line.
  take(high);
  for (TermView const& term : terms) {
    if (term.kind != TermKind::kWithin) continue;
    for (std::int64_t const code : {std::int64_t{term.from} - 1, std::int64_t{term.from},
                                    std::int64_t{term.to}, std::int64_t{term.to} + 1})
      take(code);
  }
  return range;
}

// The same for the codes that may occur.
SumRange group_range(std::span<TermView const> terms, Attribute const& attribute) {
  if (attribute.values.empty()) return group_range(terms, *attribute.low, *attribute.high);
  SumRange range{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (std::int32_t const code : attribute.values) {
    std::int64_t const sum = sum_of(terms, code);
    range = {std::min(range.low, sum), std::max(range.high, sum)};
  }
  return range;
}

bool sum_excludes(ConstraintView const& view, std::int32_t const* low, std::int32_t const* high) {
  std::int64_t least = 0;
  for (std::size_t from = 0; from < view.terms.size();) {
    std::size_t const end = group_end(view.terms, from);
    int const a = view.terms[from].attribute;
    least += group_range(view.terms.subspan(from, end - from), low[a], high[a]).low;
    from = end;
  }
  return least > view.bound;
}

// Tries the combinations of a box one by one, unless they are too many.
bool set_excludes(ConstraintView const& view, std::int32_t const* low, std::int32_t const* high) {
  struct Wheel {
    std::span<TermView const> terms;
    std::int32_t low;
    std::int32_t high;
    std::int32_t code;
    std::int64_t value;
  };
  std::vector<Wheel> wheels;
  std::int64_t count = 1;
  std::int64_t sum = 0;
  for (std::size_t from = 0; from < view.terms.size();) {
    std::size_t const end = group_end(view.terms, from);
    int const a = view.terms[from].attribute;
    auto const terms = view.terms.subspan(from, end - from);
    count *= std::int64_t{high[a]} - low[a] + 1;
    if (count > kTried) return false;
    wheels.push_back({terms, low[a], high[a], low[a], sum_of(terms, low[a])});
    sum += wheels.back().value;
    from = end;
  }
  for (;;) {
    if (is_allowed(sum, view.bound, view.set)) return false;
    std::size_t turned = 0;
    for (; turned < wheels.size(); ++turned) {
      Wheel& wheel = wheels[turned];
      bool const wraps = wheel.code == wheel.high;
      wheel.code = wraps ? wheel.low : wheel.code + 1;
      sum -= wheel.value;
      wheel.value = sum_of(wheel.terms, wheel.code);
      sum += wheel.value;
      if (!wraps) break;
    }
    if (turned == wheels.size()) return true;
  }
}

}  // namespace

struct CompiledConstraints::Arrays {
  std::vector<ConstraintView> views;
  std::vector<std::vector<TermView>> terms;
  std::vector<std::vector<std::int32_t>> tables;
  std::vector<std::vector<std::uint32_t>> sets;
};

namespace {

// Fills the arrays, constraint by constraint. Vectors of vectors may move: what views point to stays.
template <class Arrays>
class ConstraintCompiler {
 public:
  ConstraintCompiler(Domain const& domain, Arrays& arrays) : domain_(domain), arrays_(arrays) {}

  void add(Constraint const& constraint) {
    switch (constraint.kind) {
      case ConstraintKind::kImplication:
        for (CodeCondition const& consequent : constraint.then)
          add_implication(constraint, consequent);
        break;
      case ConstraintKind::kSum:
        if (constraint.most != std::numeric_limits<std::int64_t>::max())
          add_sum(constraint, 1, constraint.most);
        // A bound of the lowest number of all is none, and has no negative.
        if (constraint.least != std::numeric_limits<std::int64_t>::min())
          add_sum(constraint, -1, -constraint.least);
        break;
      case ConstraintKind::kCombinations:
        add_combinations(constraint);
        break;
    }
  }

 private:
  Attribute const& attribute_at(int attribute) const {
    return domain_.attributes[static_cast<std::size_t>(attribute)];
  }

  [[noreturn]] void fail(Constraint const& constraint, std::string const& what) const {
    throw Error(ExitCode::kConfig, fmt::format("{}: {}", constraint.place, what));
  }

  [[noreturn]] void fail_empty(Constraint const& constraint) const {
    fail(constraint, fmt::format("no input of the domain satisfies \"{}\"; expected a constraint "
                                 "that leaves some",
                                 constraint_text(constraint, domain_)));
  }

  std::int32_t const* keep_table(std::vector<std::int32_t> table) {
    arrays_.tables.push_back(std::move(table));
    return arrays_.tables.back().data();
  }

  // Terms that add 1 where the code lies in the ranges.
  void add_indicator(int index, std::vector<CodeInterval> const& ranges,
                     std::vector<TermView>& terms) {
    Attribute const& attribute = attribute_at(index);
    std::int64_t const codes = std::int64_t{*attribute.high} - *attribute.low + 1;
    if (ranges.size() < 2 || codes > kTableCodes) {
      for (CodeInterval const& range : ranges)
        terms.push_back({index, TermKind::kWithin, 1, range.from, range.to, nullptr});
      return;
    }
    std::vector<std::int32_t> table(static_cast<std::size_t>(codes), 0);
    for (CodeInterval const& range : ranges)
      std::fill(table.begin() + (range.from - *attribute.low),
                table.begin() + (range.to - *attribute.low) + 1, 1);
    terms.push_back({index, TermKind::kTable, 0, *attribute.low, *attribute.high,
                     keep_table(std::move(table))});
  }

  void add_implication(Constraint const& constraint, CodeCondition const& consequent) {
    std::vector<TermView> terms;
    for (CodeCondition const& condition : constraint.when) {
      auto const ranges = settled_ranges(condition.ranges, attribute_at(condition.attribute));
      if (ranges.empty()) return;  // it never asks for anything
      add_indicator(condition.attribute, ranges, terms);
    }
    Attribute const& attribute = attribute_at(consequent.attribute);
    auto const missed = other_ranges(settled_ranges(consequent.ranges, attribute), attribute);
    if (missed.empty()) return;
    add_indicator(consequent.attribute, missed, terms);
    add_bounded(constraint, terms, static_cast<std::int64_t>(constraint.when.size()));
  }

  void add_sum(Constraint const& constraint, std::int32_t sign, std::int64_t most) {
    std::vector<TermView> terms;
    for (SumTerm const& term : constraint.terms)
      terms.push_back({term.attribute, TermKind::kCode, sign * term.factor, 0, 0, nullptr});
    add_bounded(constraint, terms, most);
  }

  // Refuses terms of which some sum, of all or of the first of them, leaves int32.
  void check_sums(Constraint const& constraint, std::span<TermView const> terms) const {
    SumRange sums;
    for (TermView const& term : terms) {
      Attribute const& attribute = attribute_at(term.attribute);
      SumRange const range = group_range({&term, 1}, *attribute.low, *attribute.high);
      sums.low += std::min<std::int64_t>(range.low, 0);
      sums.high += std::max<std::int64_t>(range.high, 0);
    }
    if (sums.low >= -kMaxSum && sums.high <= kMaxSum) return;
    fail(constraint,
         fmt::format("the sum of \"{}\" may reach {}..{}, expected {}..{}; use smaller "
                     "factors",
                     constraint_text(constraint, domain_), sums.low, sums.high, -kMaxSum, kMaxSum));
  }

  // What an attribute adds whatever its code is taken off the bound.
  void add_bounded(Constraint const& constraint, std::vector<TermView> const& all,
                   std::int64_t bound) {
    check_sums(constraint, all);
    bound = std::clamp(bound, -kAnySum, kAnySum);
    std::vector<TermView> terms;
    SumRange sums;
    for (std::size_t from = 0; from < all.size();) {
      std::size_t const end = group_end(all, from);
      auto const group = std::span(all).subspan(from, end - from);
      SumRange const range = group_range(group, attribute_at(group.front().attribute));
      from = end;
      if (range.low == range.high) {
        bound -= range.low;
        continue;
      }
      terms.insert(terms.end(), group.begin(), group.end());
      sums = {sums.low + range.low, sums.high + range.high};
    }
    if (sums.low > bound) fail_empty(constraint);
    if (sums.high <= bound) return;
    keep(std::move(terms), bound, {});
  }

  void keep(std::vector<TermView> terms, std::int64_t bound, std::vector<std::uint32_t> set) {
    arrays_.terms.push_back(std::move(terms));
    arrays_.sets.push_back(std::move(set));
    arrays_.views.push_back(
        {arrays_.terms.back(), static_cast<std::int32_t>(bound), arrays_.sets.back()});
  }

  // A digit for each attribute, of which the first has the least weight. A table gives digits to the
  // codes that occur alone; where every code has its own digit, the code itself will do.
  void add_combinations(Constraint const& constraint) {
    std::size_t const width = constraint.attributes.size();
    std::vector<std::int32_t> const rows = rows_of_domain(constraint);
    if (rows.empty()) fail_empty(constraint);
    double inputs = 1.0;
    for (int const a : constraint.attributes)
      inputs *= static_cast<double>(attribute_at(a).code_count());
    if (static_cast<double>(rows.size() / width) == inputs) return;

    std::vector<std::vector<std::int32_t>> occurring(width);
    std::int64_t bits = 1;
    for (std::size_t i = 0; i < width; ++i) {
      std::set<std::int32_t> codes;
      for (std::size_t at = i; at < rows.size(); at += width) codes.insert(rows[at]);
      occurring[i].assign(codes.begin(), codes.end());
      bits *= radix(constraint.attributes[i], occurring[i]);
      if (bits > kMaxBits || width > kMaxCombined) fail_many(constraint);
    }
    std::vector<TermView> terms;
    std::int64_t weight = 1;
    for (std::size_t i = 0; i < width; ++i) {
      add_digit(constraint.attributes[i], occurring[i], weight, bits, terms);
      weight *= radix(constraint.attributes[i], occurring[i]);
    }
    std::vector<std::uint32_t> set(static_cast<std::size_t>((bits + 31) / 32), 0);
    for (std::size_t at = 0; at < rows.size(); at += width) {
      std::int64_t sum = 0;
      for (TermView const& term : terms) {
        auto const member = std::ranges::find(constraint.attributes, term.attribute);
        sum += term_value(
            term, rows[at + static_cast<std::size_t>(member - constraint.attributes.begin())]);
      }
      set[static_cast<std::size_t>(sum / 32)] |= 1U << (sum % 32);
    }
    keep(std::move(terms), bits - 1, std::move(set));
  }

  std::vector<std::int32_t> rows_of_domain(Constraint const& constraint) const {
    std::size_t const width = constraint.attributes.size();
    std::vector<std::int32_t> rows;
    for (std::size_t at = 0; at < constraint.rows.size(); at += width) {
      bool allowed = true;
      for (std::size_t i = 0; i < width; ++i)
        allowed = allowed && attribute_at(constraint.attributes[i]).allows(constraint.rows[at + i]);
      if (!allowed) continue;
      rows.insert(rows.end(), constraint.rows.begin() + static_cast<std::ptrdiff_t>(at),
                  constraint.rows.begin() + static_cast<std::ptrdiff_t>(at + width));
    }
    return rows;
  }

  [[noreturn]] void fail_many(Constraint const& constraint) const {
    fail(constraint,
         fmt::format("\"{}\" needs more than {} bits or {} attributes to be kept, expected at most "
                     "that; name fewer attributes, or such of fewer codes",
                     constraint_text(constraint, domain_), kMaxBits, kMaxCombined));
  }

  static std::int64_t span_of(Attribute const& attribute) {
    return std::int64_t{*attribute.high} - *attribute.low + 1;
  }

  std::int64_t radix(int index, std::vector<std::int32_t> const& occurring) const {
    std::int64_t const span = span_of(attribute_at(index));
    return span > kDigitCodes ? span : static_cast<std::int64_t>(occurring.size());
  }

  // bits: what a code adds that occurs in no row, so that the sum lies beyond the set
  void add_digit(int index, std::vector<std::int32_t> const& occurring, std::int64_t weight,
                 std::int64_t bits, std::vector<TermView>& terms) {
    Attribute const& attribute = attribute_at(index);
    std::int64_t const span = span_of(attribute);
    bool const is_wide = span > kDigitCodes;
    auto const factor = static_cast<std::int32_t>(weight);
    if (is_wide || static_cast<std::int64_t>(occurring.size()) == span) {
      terms.push_back({index, TermKind::kCode, factor, 0, 0, nullptr});
      std::int64_t const offset = -weight * *attribute.low;
      if (offset == 0) return;
      if (offset >= -kMaxBits && offset <= kMaxBits) {
        terms.push_back({index, TermKind::kWithin, static_cast<std::int32_t>(offset),
                         *attribute.low, *attribute.high, nullptr});
        return;
      }
      terms.pop_back();
    }
    std::vector<std::int32_t> table(static_cast<std::size_t>(span),
                                    static_cast<std::int32_t>(bits));
    for (std::size_t i = 0; i < occurring.size(); ++i)
      table[static_cast<std::size_t>(occurring[i] - *attribute.low)] =
          factor * static_cast<std::int32_t>(i);
    terms.push_back({index, TermKind::kTable, 0, *attribute.low, *attribute.high,
                     keep_table(std::move(table))});
  }

  Domain const& domain_;
  Arrays& arrays_;
};

}  // namespace

CompiledConstraints::CompiledConstraints(Domain const& domain) {
  if (domain.constraints.empty()) return;
  auto arrays = std::make_shared<Arrays>();
  ConstraintCompiler compiler(domain, *arrays);
  for (Constraint const& constraint : domain.constraints) compiler.add(constraint);
  if (!arrays->views.empty()) arrays_ = std::move(arrays);
}

std::span<ConstraintView const> CompiledConstraints::views() const {
  return arrays_ ? std::span<ConstraintView const>(arrays_->views)
                 : std::span<ConstraintView const>();
}

bool allows(std::span<ConstraintView const> constraints, std::int32_t const* row) {
  return std::ranges::all_of(constraints, [&](ConstraintView const& view) {
    return is_allowed(constraint_sum(view, row), view.bound, view.set);
  });
}

bool excludes(std::span<ConstraintView const> constraints, std::int32_t const* low,
              std::int32_t const* high) {
  return std::ranges::any_of(constraints, [&](ConstraintView const& view) {
    return view.set.empty() ? sum_excludes(view, low, high) : set_excludes(view, low, high);
  });
}

}  // namespace fairlane
