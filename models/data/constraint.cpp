#include "models/data/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {
namespace {

constexpr std::int32_t kNoLow = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kNoHigh = std::numeric_limits<std::int32_t>::max();

// From the first listed code of a range to its last, or nothing where it holds none.
std::optional<CodeInterval> within_list(CodeInterval range,
                                        std::vector<std::int32_t> const& values) {
  auto const first = std::lower_bound(values.begin(), values.end(), range.from);
  auto const end = std::upper_bound(first, values.end(), range.to);
  if (first == end) return std::nullopt;
  return CodeInterval{*first, *(end - 1)};
}

// Whether no code that may occur lies between two ranges.
bool touch(CodeInterval const& before, CodeInterval const& after, Attribute const& attribute) {
  if (before.to == kNoHigh || after.from <= before.to) return true;
  if (attribute.values.empty()) return before.to + 1 == after.from;
  return attribute.index_of(before.to) + 1 == attribute.index_of(after.from);
}

// Whether `row` stands among sorted rows of as many codes.
bool is_among(std::vector<std::int32_t> const& rows, std::vector<std::int32_t> const& row) {
  std::size_t from = 0;
  std::size_t end = rows.size() / row.size();
  while (from < end) {
    std::size_t const middle = from + (end - from) / 2;
    auto const at = rows.begin() + static_cast<std::ptrdiff_t>(middle * row.size());
    auto const order = std::lexicographical_compare_three_way(
        at, at + static_cast<std::ptrdiff_t>(row.size()), row.begin(), row.end());
    if (order == 0) return true;
    if (order < 0) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return false;
}

std::string condition_text(CodeCondition const& condition, Domain const& domain) {
  constexpr std::int64_t kNamedCodes = 3;  // more of them in a row are told by their ends
  Attribute const& attribute = domain.attributes[static_cast<std::size_t>(condition.attribute)];
  std::string text;
  for (CodeInterval const& range : condition.ranges) {
    if (!text.empty()) text += " or ";
    std::int64_t const count =
        attribute.low && attribute.high
            ? attribute.index_of(range.to) - attribute.index_of(range.from) + 1
            : std::int64_t{range.to} - range.from + 1;
    bool const no_low = range.from == attribute.low.value_or(kNoLow);
    bool const no_high = range.to == attribute.high.value_or(kNoHigh);
    if (no_low && no_high) {
      text += "anything";
    } else if (count <= kNamedCodes) {
      std::int64_t const first = count == 1 ? 0 : attribute.index_of(range.from);
      for (std::int64_t i = 0; i < count; ++i) {
        std::int32_t code = range.from;
        if (count > 1 && attribute.low) code = attribute.code_at(first + i);
        if (count > 1 && !attribute.low) code = static_cast<std::int32_t>(range.from + i);
        text += (i == 0 ? "" : " or ") + escaped(attribute.word(code), 60);
      }
    } else if (no_low) {
      text += "at most " + escaped(attribute.word(range.to), 60);
    } else if (no_high) {
      text += "at least " + escaped(attribute.word(range.from), 60);
    } else {
      text += fmt::format("from {} to {}", escaped(attribute.word(range.from), 60),
                          escaped(attribute.word(range.to), 60));
    }
  }
  return fmt::format("{} {}", escaped(attribute.name, 60), text.empty() ? "nothing" : text);
}

std::string conditions_text(std::vector<CodeCondition> const& conditions, Domain const& domain) {
  std::string text;
  for (CodeCondition const& condition : conditions)
    text += (text.empty() ? "" : " and ") + condition_text(condition, domain);
  return text;
}

std::string sum_text(Constraint const& constraint, Domain const& domain) {
  std::string text;
  for (SumTerm const& term : constraint.terms) {
    std::int64_t const factor = term.factor;
    if (!text.empty()) text += factor < 0 ? " - " : " + ";
    if (text.empty() && factor < 0) text += "-";
    if (factor != 1 && factor != -1) text += fmt::format("{} ", factor < 0 ? -factor : factor);
    text += escaped(domain.attributes[static_cast<std::size_t>(term.attribute)].name, 60);
  }
  bool const has_least = constraint.least != std::numeric_limits<std::int64_t>::min();
  bool const has_most = constraint.most != std::numeric_limits<std::int64_t>::max();
  if (has_least) text += fmt::format(" at least {}", constraint.least);
  if (has_most) text += fmt::format("{} at most {}", has_least ? " and" : "", constraint.most);
  return text;
}

// The combinations of a table's rows that lie in the domain.
void take_combinations(Constraint& constraint, Domain const& domain, Dataset const& data) {
  std::set<std::vector<std::int32_t>> seen;
  auto const stride = static_cast<std::size_t>(data.attributes);
  std::vector<std::int32_t> key(constraint.attributes.size());
  for (std::size_t at = 0; at < data.rows.size(); at += stride) {
    bool allowed = true;
    for (std::size_t i = 0; i < key.size(); ++i) {
      auto const a = static_cast<std::size_t>(constraint.attributes[i]);
      key[i] = data.rows[at + a];
      allowed = allowed && domain.attributes[a].allows(key[i]);
    }
    if (allowed) seen.insert(key);
    if (seen.size() > kMaxCombinations) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{}: from_data finds more than {} combinations in {}, expected at "
                              "most that many; name fewer attributes",
                              constraint.place, kMaxCombinations, escaped(data.source)));
    }
  }
  constraint.rows.clear();
  for (auto const& row : seen)
    constraint.rows.insert(constraint.rows.end(), row.begin(), row.end());
}

// A code that was named while a bound was absent may lie outside once that is known.
void settle_condition(CodeCondition& condition, Constraint const& constraint,
                      Domain const& domain) {
  Attribute const& attribute = domain.attributes[static_cast<std::size_t>(condition.attribute)];
  for (CodeInterval const& range : condition.ranges) {
    if (range.from == range.to && !attribute.allows(range.from)) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{}: attribute {} is {} in a constraint, expected {} as its bounds "
                              "are in the data",
                              constraint.place, in_quotes(attribute.name), range.from,
                              attribute.codes_text()));
    }
  }
  condition.ranges = settled_ranges(std::move(condition.ranges), attribute);
}

}  // namespace

bool CodeCondition::holds(std::int32_t code) const {
  return std::ranges::any_of(
      ranges, [&](CodeInterval const& range) { return range.from <= code && code <= range.to; });
}

bool satisfies(Constraint const& constraint, std::int32_t const* row) {
  auto const hold = [&](std::vector<CodeCondition> const& conditions) {
    return std::ranges::all_of(
        conditions, [&](CodeCondition const& one) { return one.holds(row[one.attribute]); });
  };
  switch (constraint.kind) {
    case ConstraintKind::kImplication:
      return !hold(constraint.when) || hold(constraint.then);
    case ConstraintKind::kSum: {
      std::int64_t sum = 0;
      for (SumTerm const& term : constraint.terms)
        sum += std::int64_t{term.factor} * row[term.attribute];
      return constraint.least <= sum && sum <= constraint.most;
    }
    case ConstraintKind::kCombinations:
      break;
  }
  std::vector<std::int32_t> key;
  for (int const attribute : constraint.attributes) key.push_back(row[attribute]);
  return is_among(constraint.rows, key);
}

bool satisfies(std::vector<Constraint> const& constraints, std::int32_t const* row) {
  return std::ranges::all_of(constraints,
                             [&](Constraint const& one) { return satisfies(one, row); });
}

std::string constraint_text(Constraint const& constraint, Domain const& domain) {
  switch (constraint.kind) {
    case ConstraintKind::kImplication:
      return fmt::format("{} => {}", conditions_text(constraint.when, domain),
                         conditions_text(constraint.then, domain));
    case ConstraintKind::kSum:
      return sum_text(constraint, domain);
    case ConstraintKind::kCombinations:
      break;
  }
  std::string names;
  for (int const attribute : constraint.attributes) {
    names += (names.empty() ? "" : ", ") +
             escaped(domain.attributes[static_cast<std::size_t>(attribute)].name, 60);
  }
  return names + (constraint.from_data ? " together as in the table" : " together as listed");
}

std::vector<CodeInterval> settled_ranges(std::vector<CodeInterval> ranges,
                                         Attribute const& attribute) {
  std::ranges::sort(ranges, {}, &CodeInterval::from);
  std::vector<CodeInterval> settled;
  for (CodeInterval range : ranges) {
    if (range.from <= -kMaxCode) range.from = kNoLow;
    if (range.to >= kMaxCode) range.to = kNoHigh;
    range.from = std::max(range.from, attribute.low.value_or(kNoLow));
    range.to = std::min(range.to, attribute.high.value_or(kNoHigh));
    if (range.from > range.to || range.from > kMaxCode || range.to < -kMaxCode) continue;
    if (!attribute.values.empty()) {
      auto const listed = within_list(range, attribute.values);
      if (!listed) continue;
      range = *listed;
    }
    if (!settled.empty() && touch(settled.back(), range, attribute)) {
      settled.back().to = std::max(settled.back().to, range.to);
    } else {
      settled.push_back(range);
    }
  }
  return settled;
}

std::vector<CodeInterval> other_ranges(std::vector<CodeInterval> const& ranges,
                                       Attribute const& attribute) {
  std::vector<CodeInterval> others;
  std::int64_t from = kNoLow;
  for (CodeInterval const& range : ranges) {
    if (from < range.from) others.push_back({static_cast<std::int32_t>(from), range.from - 1});
    from = std::int64_t{range.to} + 1;
  }
  if (from <= kNoHigh) others.push_back({static_cast<std::int32_t>(from), kNoHigh});
  return settled_ranges(std::move(others), attribute);
}

std::vector<std::int32_t> distinct_rows(std::vector<std::int32_t> const& rows, std::size_t width) {
  std::set<std::vector<std::int32_t>> seen;
  for (auto at = rows.begin(); at != rows.end(); at += static_cast<std::ptrdiff_t>(width))
    seen.emplace(at, at + static_cast<std::ptrdiff_t>(width));
  std::vector<std::int32_t> distinct;
  for (auto const& row : seen) distinct.insert(distinct.end(), row.begin(), row.end());
  return distinct;
}

void resolve_constraints(Domain& domain, Dataset const* data) {
  for (Constraint& constraint : domain.constraints) {
    for (CodeCondition& condition : constraint.when)
      settle_condition(condition, constraint, domain);
    for (CodeCondition& condition : constraint.then)
      settle_condition(condition, constraint, domain);
    if (constraint.kind != ConstraintKind::kCombinations) continue;
    if (!constraint.from_data) {
      for (std::size_t i = 0; i < constraint.rows.size(); ++i) {
        std::size_t const member = i % constraint.attributes.size();
        auto const& attribute =
            domain.attributes[static_cast<std::size_t>(constraint.attributes[member])];
        if (attribute.allows(constraint.rows[i])) continue;
        throw Error(ExitCode::kConfig,
                    fmt::format("{}: attribute {} is {} in a combination, expected {} as its "
                                "bounds are in the data",
                                constraint.place, in_quotes(attribute.name), constraint.rows[i],
                                attribute.codes_text()));
      }
    } else if (data != nullptr && data->count() > 0) {
      take_combinations(constraint, domain, *data);
    } else if (constraint.rows.empty()) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{}: from_data takes its combinations from a table, and there is no "
                              "data; give a table, or list them as combinations and rows",
                              constraint.place));
    }
  }
}

}  // namespace fairlane
