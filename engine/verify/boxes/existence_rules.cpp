#include "engine/verify/boxes/existence_rules.h"

#include <algorithm>

namespace fairlane {
namespace {

constexpr std::size_t kMostSums = 4096;  // that are looked at to see whether a set has them all

/// Puts what an axis's entries [entries] add into a rule.
void put_axis(std::span<std::int64_t const> added, ExistenceRule& rule) {
  AddedRuns runs;
  for (std::size_t e = 0; e < added.size(); ++e) {
    if (e > 0 && added[e] == added[e - 1]) continue;
    runs.starts.push_back(static_cast<std::int32_t>(e));
    runs.added.push_back(added[e]);
  }
  if (runs.starts.size() == 1) {
    rule.constant += runs.added.front();
    runs = {};
  }
  rule.of_axis.push_back(std::move(runs));
}

std::int64_t sum_of(ConstraintView const& constraint, std::int32_t const* row,
                    std::span<int const> attributes) {
  std::int64_t sum = 0;
  for (TermView const& term : constraint.terms)
    if (std::ranges::count(attributes, term.attribute) > 0)
      sum += term_value(term, row[term.attribute]);
  return sum;
}

ExistenceRule rule_of(ConstraintView const& constraint, BoxDomain const& domain) {
  ExistenceRule rule;
  rule.bound = constraint.bound;
  rule.set = constraint.set;
  std::vector<std::int32_t> row(domain.attributes());
  std::vector<int> under_test;
  for (TermView const& term : constraint.terms) under_test.push_back(term.attribute);
  for (std::size_t a = 0; a < domain.axes(); ++a) {
    auto const& list = domain.axis(a);
    std::vector<std::int64_t> added;
    for (std::int64_t e = 0; e < list.size(); ++e) {
      for (std::size_t i = 0; i < list.attributes.size(); ++i)
        row[static_cast<std::size_t>(list.attributes[i])] =
            list.values[static_cast<std::size_t>(e) * list.attributes.size() + i];
      added.push_back(sum_of(constraint, row.data(), list.attributes));
    }
    put_axis(added, rule);
    for (int const attribute : list.attributes) std::erase(under_test, attribute);
  }
  for (int v = 0; v < domain.variants(); ++v) {
    domain.set_variant(v, row.data());
    rule.of_variant.push_back(sum_of(constraint, row.data(), under_test));
  }
  if (std::ranges::count(rule.of_variant, rule.of_variant.front()) == domain.variants()) {
    rule.constant += rule.of_variant.front();
    rule.of_variant.clear();
  }
  return rule;
}

bool share_something(ExistenceRule const& one, ExistenceRule const& other) {
  if (one.speaks_of_variants() && other.speaks_of_variants()) return true;
  for (std::size_t a = 0; a < one.of_axis.size(); ++a)
    if (one.speaks_of(a) && other.speaks_of(a)) return true;
  return false;
}

}  // namespace

bool ExistenceRule::is_open(std::span<AxisRange const> box, std::span<int const> variants) const {
  std::vector<std::int64_t> sums = {constant};
  std::vector<std::int64_t> added;
  std::vector<std::int64_t> next;
  // Sums that differ; of a bound the greatest will do.
  auto const add = [&] {
    std::ranges::sort(added);
    added.erase(std::unique(added.begin(), added.end()), added.end());
    if (set.empty()) added.erase(added.begin(), added.end() - 1);
    next.clear();
    for (std::int64_t const sum : sums)
      for (std::int64_t const by : added) next.push_back(sum + by);
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    sums.swap(next);
  };
  for (std::size_t a = 0; a < box.size(); ++a) {
    if (!speaks_of(a)) continue;
    AddedRuns const& runs = of_axis[a];
    added.assign(runs.added.begin() + static_cast<std::ptrdiff_t>(runs.run_of(box[a].first)),
                 runs.added.begin() + static_cast<std::ptrdiff_t>(runs.run_of(box[a].last)) + 1);
    add();
    if (sums.size() > kMostSums) return true;
  }
  if (!of_variant.empty()) {
    added.clear();
    for (int const v : variants) added.push_back(added_by(v));
    add();
  }
  return !std::ranges::all_of(sums, [this](std::int64_t sum) { return allows(sum); });
}

std::vector<ExistenceRule> existence_rules(BoxDomain const& domain) {
  std::vector<ExistenceRule> rules;
  for (ConstraintView const& constraint : domain.constraints())
    rules.push_back(rule_of(constraint, domain));
  for (BoxDomain::Limit const& limit : domain.limits()) {
    ExistenceRule rule;
    rule.bound = limit.most;
    for (std::vector<std::int64_t> const& added : limit.sums) put_axis(added, rule);
    rules.push_back(std::move(rule));
  }
  std::erase_if(rules, [&](ExistenceRule& rule) {
    bool const any_axis = std::ranges::any_of(
        rule.of_axis, [](AddedRuns const& runs) { return !runs.starts.empty(); });
    if (any_axis || rule.speaks_of_variants()) return false;
    rule.of_variant.assign(static_cast<std::size_t>(domain.variants()), 0);
    return rule.allows(rule.constant);
  });
  return rules;
}

std::vector<RuleSet> tied_rules(RuleSet const& rules) {
  std::vector<RuleSet> sets;
  for (ExistenceRule const* rule : rules) {
    RuleSet joined = {rule};
    std::erase_if(sets, [&](RuleSet const& set) {
      bool const shares = std::ranges::any_of(
          set, [rule](ExistenceRule const* other) { return share_something(*rule, *other); });
      if (shares) joined.insert(joined.end(), set.begin(), set.end());
      return shares;
    });
    sets.push_back(std::move(joined));
  }
  return sets;
}

}  // namespace fairlane
