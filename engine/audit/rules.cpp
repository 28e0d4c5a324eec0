// Values become places; sets of places are bits. Every pair of attributes is tabulated once, so
// that rules of two conditions cost no further look at the rows.
#include "engine/audit/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/audit/rule_places.h"

namespace fairlane {
namespace {

constexpr int kMostConditions = 3;
constexpr std::size_t kBestOfPair = 4;  // rules on the same two columns that are gone on with
constexpr std::size_t kRounds = 4;      // of bettering each condition, the others fixed
constexpr int kAffectedShift = 32;      // of a table's cells: rows below, affected ones above

Tally tally_of(std::uint64_t cell) {
  return {static_cast<std::int64_t>(cell & 0xFFFFFFFFU),
          static_cast<std::int64_t>(cell >> kAffectedShift)};
}

/// A rule on its way: columns by number, and the places of each.
struct Draft {
  double quality = 0.0;
  std::vector<std::pair<std::size_t, Places>> conditions;
};

/// The best first, equal ones once.
void keep_best(std::vector<Draft>& drafts, std::size_t most) {
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](Draft const& x, Draft const& y) { return x.quality > y.quality; });
  auto const end = std::unique(drafts.begin(), drafts.end(), [](Draft const& x, Draft const& y) {
    return x.quality == y.quality && x.conditions == y.conditions;
  });
  drafts.erase(end, drafts.end());
  if (drafts.size() > most) drafts.resize(most);
}

/// The search for one table's rules.
class RuleSearch {
 public:
  RuleSearch(Domain const& domain, std::span<std::int32_t const> rows,
             std::span<std::uint8_t const> is_affected, std::span<std::int32_t const> left_out,
             RuleOptions const& options);
  std::vector<Rule> run();

 private:
  Draft best_rule();
  void tabulate(std::size_t a, std::size_t b);
  /// Adds the best rules of two conditions on these columns; a, b as tabulated.
  void add_pairs(std::size_t a, std::size_t b, std::vector<FirstPlaces> const& firsts,
                 std::vector<Draft>& pairs) const;
  /// Sum of the table over some places of one of its columns.
  PlaceTallies slice(bool of_first, Places places) const;
  Draft with_third(Draft const& pair);
  /// Whether a rule as good may be found among all of so many conditions where rows are affected at
  /// random: the sum of all these rules' probabilities bounds that.
  bool may_be_chance(Draft const& draft) const;
  /// Without conditions that leave nobody out.
  Draft reduced(Draft draft) const;
  /// Open rows for which all conditions hold but that of number `but`.
  std::vector<std::uint32_t> matching(Draft const& draft, std::size_t but) const;
  PlaceTallies histogram(std::size_t column, std::vector<std::uint32_t> const& rows) const;
  Condition condition_of(PlaceColumn const& column, Places places) const;
  Rule rule_of(Draft const& draft) const;

  std::span<std::int32_t const> rows_;
  std::span<std::uint8_t const> is_affected_;
  RuleOptions options_;
  std::size_t width_;
  std::vector<PlaceColumn> columns_;
  std::int64_t all_affected_ = 0;
  std::vector<std::uint32_t> open_;  // rows that no rule covers
  RuleScale scale_;                  // of them
  std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(kPlaces * kPlaces);
};

RuleSearch::RuleSearch(Domain const& domain, std::span<std::int32_t const> rows,
                       std::span<std::uint8_t const> is_affected,
                       std::span<std::int32_t const> left_out, RuleOptions const& options)
    : rows_(rows),
      is_affected_(is_affected),
      options_(options),
      width_(static_cast<std::size_t>(domain.size())) {
  for (std::size_t a = 0; a < width_; ++a) {
    if (std::find(left_out.begin(), left_out.end(), static_cast<std::int32_t>(a)) != left_out.end())
      continue;
    PlaceColumn column = place_column(domain, a, rows, is_affected.size());
    if (column.used > 1) columns_.push_back(std::move(column));
  }
  for (std::size_t i = 0; i < is_affected.size(); ++i) {
    open_.push_back(static_cast<std::uint32_t>(i));
    all_affected_ += is_affected[i];
  }
}

PlaceTallies RuleSearch::histogram(std::size_t column,
                                   std::vector<std::uint32_t> const& rows) const {
  PlaceTallies histogram;
  auto const& place = columns_[column].place;
  for (std::uint32_t const i : rows) {
    Tally& tally = histogram[place[i]];
    ++tally.rows;
    tally.affected += is_affected_[i];
  }
  return histogram;
}

void RuleSearch::tabulate(std::size_t a, std::size_t b) {
  std::fill(table_.begin(), table_.end(), 0);
  auto const& first = columns_[a].place;
  auto const& second = columns_[b].place;
  for (std::uint32_t const i : open_) {
    table_[std::size_t{first[i]} * kPlaces + second[i]] +=
        std::uint64_t{is_affected_[i]} << kAffectedShift | 1U;
  }
}

PlaceTallies RuleSearch::slice(bool of_first, Places places) const {
  PlaceTallies sum;
  for (; places != 0; places &= places - 1) {
    auto const p = static_cast<std::size_t>(std::countr_zero(places));
    for (std::size_t q = 0; q < kPlaces; ++q)
      sum[q].add(tally_of(table_[of_first ? p * kPlaces + q : q * kPlaces + p]));
  }
  return sum;
}

void RuleSearch::add_pairs(std::size_t a, std::size_t b, std::vector<FirstPlaces> const& firsts,
                           std::vector<Draft>& pairs) const {
  std::array<std::size_t, 2> const columns = {a, b};
  std::vector<Draft> drafts;
  auto const add = [&](std::size_t first, Places places) {
    std::size_t const second = 1 - first;
    PlaceChoice const choice =
        best_places(columns_[columns[second]], slice(first == 0, places), scale_);
    if (choice.quality <= 0.0) return;
    Draft draft{choice.quality, {{a, places}, {b, places}}};
    draft.conditions[second].second = choice.places;
    drafts.push_back(std::move(draft));
  };
  auto const try_firsts = [&](std::size_t first) {
    for (Places const places : firsts[columns[first]].places) add(first, places);
  };
  FirstPlaces const& of_a = firsts[a];
  FirstPlaces const& of_b = firsts[b];
  bool const takes_a =
      of_a.complete && (!of_b.complete || of_a.places.size() <= of_b.places.size());
  if (takes_a || !of_b.complete) try_firsts(0);
  if (!takes_a) try_firsts(1);
  keep_best(drafts, kBestOfPair);
  if (!of_a.complete && !of_b.complete && !drafts.empty()) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::size_t const kept = round % 2;
      add(kept, drafts.front().conditions[kept].second);
      keep_best(drafts, kBestOfPair);
    }
  }
  pairs.insert(pairs.end(), drafts.begin(), drafts.end());
}

std::vector<std::uint32_t> RuleSearch::matching(Draft const& draft, std::size_t but) const {
  std::vector<std::uint32_t> rows = open_;
  for (std::size_t c = 0; c < draft.conditions.size(); ++c) {
    if (c == but) continue;
    auto const [column, places] = draft.conditions[c];
    auto const& place = columns_[column].place;
    std::size_t kept = 0;
    for (std::uint32_t const i : rows) {
      rows[kept] = i;
      kept += places >> place[i] & 1U;
    }
    rows.resize(kept);
  }
  return rows;
}

Draft RuleSearch::with_third(Draft const& pair) {
  Draft best;
  auto const rows = matching(pair, pair.conditions.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c == pair.conditions[0].first || c == pair.conditions[1].first) continue;
    PlaceChoice const choice = best_places(columns_[c], histogram(c, rows), scale_);
    if (choice.quality <= best.quality) continue;
    best = pair;
    best.quality = choice.quality;
    best.conditions.emplace_back(c, choice.places);
  }
  bool better = !best.conditions.empty();
  for (std::size_t round = 0; round < kRounds && better; ++round) {
    better = false;
    for (std::size_t c = 0; c < best.conditions.size(); ++c) {
      auto& [column, places] = best.conditions[c];
      PlaceChoice const choice =
          best_places(columns_[column], histogram(column, matching(best, c)), scale_);
      if (choice.quality <= best.quality) continue;
      best.quality = choice.quality;
      places = choice.places;
      better = true;
    }
  }
  return best;
}

bool RuleSearch::may_be_chance(Draft const& draft) const {
  if (options_.most_chance >= 1.0) return false;
  // Elementary symmetric sums: rules of 0, 1, 2, ... conditions of different columns.
  std::array<double, kMostConditions + 1> rules = {1.0};
  for (PlaceColumn const& column : columns_) {
    for (std::size_t k = kMostConditions; k > 0; --k)
      rules[k] += rules[k - 1] * condition_count(column);
  }
  Tally some;
  for (std::uint32_t const i : matching(draft, draft.conditions.size()))
    some.add({1, is_affected_[i]});
  double const log_sum = std::log(rules[draft.conditions.size()]) + log_chance(some, scale_);
  return log_sum > std::log(options_.most_chance / kMostConditions);
}

Draft RuleSearch::reduced(Draft draft) const {
  for (std::size_t c = draft.conditions.size(); c-- > 0 && draft.conditions.size() > 1;) {
    if (matching(draft, c).size() == matching(draft, draft.conditions.size()).size())
      draft.conditions.erase(draft.conditions.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return draft;
}

Draft RuleSearch::best_rule() {
  Draft single;
  std::vector<FirstPlaces> firsts;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    PlaceTallies const all = histogram(c, open_);
    firsts.push_back(first_places(columns_[c], all));
    PlaceChoice const choice = best_places(columns_[c], all, scale_);
    if (choice.quality > single.quality) single = {choice.quality, {{c, choice.places}}};
  }
  Draft best = single;
  if (options_.most_conditions < 2) return best;
  std::vector<Draft> pairs;
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    for (std::size_t b = a + 1; b < columns_.size(); ++b) {
      tabulate(a, b);
      add_pairs(a, b, firsts, pairs);
    }
  }
  keep_best(pairs, static_cast<std::size_t>(std::max(1, options_.beam)));
  if (pairs.empty()) return best;
  double const shorter = std::max(single.quality, pairs[0].quality);
  // A longer rule is one of more: where it may be chance, a shorter one may not.
  if (pairs[0].quality > single.quality * (1.0 + kNoticeable) && !may_be_chance(pairs[0]))
    best = pairs[0];
  if (options_.most_conditions < kMostConditions) return best;
  Draft triple;
  for (Draft const& pair : pairs) {
    Draft longer = with_third(pair);
    if (longer.quality > triple.quality) triple = std::move(longer);
  }
  return triple.quality > shorter * (1.0 + kNoticeable) && !may_be_chance(triple) ? triple : best;
}

Condition RuleSearch::condition_of(PlaceColumn const& column, Places places) const {
  Condition condition;
  condition.attribute = column.attribute;
  int const lowest = std::countr_zero(places);
  int const highest = static_cast<int>(std::bit_width(places)) - 1;
  if (lowest == highest && column.is_value(lowest)) {
    condition.codes = {column.low[static_cast<std::size_t>(lowest)]};
  } else if (!column.ordered) {
    condition.kind = ConditionKind::kOneOf;
    for (int p = lowest; p <= highest; ++p) {
      if (has_place(places, p)) condition.codes.push_back(column.low[static_cast<std::size_t>(p)]);
    }
  } else if (lowest == 0) {
    condition.kind = ConditionKind::kAtMost;
    condition.codes = {column.high[static_cast<std::size_t>(highest)]};
  } else {
    condition.kind = ConditionKind::kAtLeast;
    condition.codes = {column.low[static_cast<std::size_t>(lowest)]};
  }
  return condition;
}

Rule RuleSearch::rule_of(Draft const& draft) const {
  Rule rule;
  rule.quality = draft.quality;
  for (auto const& [column, places] : draft.conditions)
    rule.conditions.push_back(condition_of(columns_[column], places));
  std::sort(rule.conditions.begin(), rule.conditions.end(),
            [](Condition const& a, Condition const& b) { return a.attribute < b.attribute; });
  for (std::size_t i = 0; i < is_affected_.size(); ++i) {
    if (!rule.holds(&rows_[i * width_])) continue;
    ++rule.rows;
    rule.affected += is_affected_[i];
  }
  rule.precision = static_cast<double>(rule.affected) / static_cast<double>(rule.rows);
  rule.coverage = static_cast<double>(rule.affected) / static_cast<double>(all_affected_);
  return rule;
}

std::vector<Rule> RuleSearch::run() {
  constexpr std::int64_t kPerCent = 100;
  std::int64_t const least =
      std::max(options_.least_added,
               (all_affected_ * options_.least_added_percent + kPerCent - 1) / kPerCent);
  std::vector<Rule> rules;
  while (static_cast<int>(rules.size()) < options_.most_rules) {
    scale_.all = {};
    for (std::uint32_t const i : open_) scale_.all.add({1, is_affected_[i]});
    Tally const& all = scale_.all;
    if (all.affected == 0 || all.affected == all.rows) break;
    Draft const draft = reduced(best_rule());
    if (draft.conditions.empty() || may_be_chance(draft)) break;
    Rule rule = rule_of(draft);
    std::erase_if(open_, [&](std::uint32_t i) {
      bool const holds = rule.holds(&rows_[i * width_]);
      rule.added += holds ? is_affected_[i] : 0;
      return holds;
    });
    if (rule.added < least) break;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

bool Condition::holds(std::int32_t code) const {
  switch (kind) {
    case ConditionKind::kIs:
      return code == codes.front();
    case ConditionKind::kAtLeast:
      return code >= codes.front();
    case ConditionKind::kAtMost:
      return code <= codes.front();
    default:
      return std::binary_search(codes.begin(), codes.end(), code);
  }
}

bool Rule::holds(std::int32_t const* row) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](Condition const& c) { return c.holds(row[c.attribute]); });
}

std::vector<Rule> find_rules(Domain const& domain, std::span<std::int32_t const> rows,
                             std::span<std::uint8_t const> is_affected,
                             std::span<std::int32_t const> left_out, RuleOptions const& options) {
  return RuleSearch(domain, rows, is_affected, left_out, options).run();
}

std::string condition_text(Domain const& domain, Condition const& condition) {
  Attribute const& attribute = domain.attributes[static_cast<std::size_t>(condition.attribute)];
  std::string words;
  for (std::int32_t const code : condition.codes)
    words += (words.empty() ? "" : ", ") + attribute.word(code);
  switch (condition.kind) {
    case ConditionKind::kIs:
      return "is " + words;
    case ConditionKind::kAtLeast:
      return "is at least " + words;
    case ConditionKind::kAtMost:
      return "is at most " + words;
    default:
      return "is one of " + words;
  }
}

std::string rule_text(Domain const& domain, Rule const& rule) {
  std::string text;
  for (Condition const& condition : rule.conditions) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ",
                        domain.attributes[static_cast<std::size_t>(condition.attribute)].name,
                        condition_text(domain, condition));
  }
  return text;
}

}  // namespace fairlane
