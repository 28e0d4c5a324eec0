#include "engine/audit/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "engine/audit/row_audit.h"
#include "engine/audit/rule_places.h"
#include "engine/config/config_yaml.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

/// A table made for a test. Attributes are named a0, a1, ...; nominal ones have words v0, v1, ...
struct RuleTable {
  Domain domain;
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> is_affected;

  void add_attribute(int values, bool nominal) {
    Attribute attribute;
    attribute.name = "a" + std::to_string(domain.size());
    attribute.low = 0;
    attribute.high = values - 1;
    if (nominal) {
      // Falling numbers: no order.
      for (int v = 0; v < values; ++v)
        attribute.categories.push_back("v" + std::to_string(values - v));
    }
    domain.attributes.push_back(attribute);
  }
  std::size_t count() const { return is_affected.size(); }
  std::int32_t const* row(std::size_t i) const {
    return &rows[i * static_cast<std::size_t>(domain.size())];
  }
  std::vector<Rule> rules(RuleOptions const& options = {},
                          std::vector<std::int32_t> const& left_out = {}) const {
    return find_rules(domain, rows, is_affected, left_out, options);
  }
};

struct Counted {
  std::int64_t rows = 0;
  std::int64_t affected = 0;
};

Counted count_rows(RuleTable const& table, std::vector<Condition> const& conditions) {
  Counted counted;
  for (std::size_t i = 0; i < table.count(); ++i) {
    bool holds = true;
    for (Condition const& c : conditions) holds = holds && c.holds(table.row(i)[c.attribute]);
    if (!holds) continue;
    ++counted.rows;
    counted.affected += table.is_affected[i];
  }
  return counted;
}

double quality(RuleTable const& table, std::vector<Condition> const& conditions) {
  Counted const some = count_rows(table, conditions);
  Counted const all = count_rows(table, {});
  if (some.rows == 0) return 0.0;
  auto const n = static_cast<double>(some.rows);
  double const base = static_cast<double>(all.affected) / static_cast<double>(all.rows);
  return (static_cast<double>(some.affected) - base * n) / std::sqrt(n * base * (1.0 - base));
}

/// Every condition on an attribute.
std::vector<Condition> every_condition(Domain const& domain, std::int32_t attribute) {
  Attribute const& of = domain.attributes[static_cast<std::size_t>(attribute)];
  std::vector<Condition> all;
  for (std::int32_t v = 0; v <= *of.high; ++v) {
    all.push_back({ConditionKind::kIs, attribute, {v}});
    if (!of.categories.empty()) continue;
    all.push_back({ConditionKind::kAtLeast, attribute, {v}});
    all.push_back({ConditionKind::kAtMost, attribute, {v}});
  }
  if (of.categories.empty()) return all;
  for (unsigned set = 1; set < 1U << (*of.high + 1); ++set) {
    Condition condition{ConditionKind::kOneOf, attribute, {}};
    for (std::int32_t v = 0; v <= *of.high; ++v) {
      if ((set >> v & 1U) != 0) condition.codes.push_back(v);
    }
    if (condition.codes.size() <= kMostListed) all.push_back(condition);
  }
  return all;
}

/// The best quality of one condition, and of two.
std::pair<double, double> brute_qualities(RuleTable const& table) {
  double one = 0.0;
  double two = 0.0;
  for (std::int32_t a = 0; a < table.domain.size(); ++a) {
    for (Condition const& first : every_condition(table.domain, a)) {
      one = std::max(one, quality(table, {first}));
      for (std::int32_t b = a + 1; b < table.domain.size(); ++b) {
        for (Condition const& second : every_condition(table.domain, b))
          two = std::max(two, quality(table, {first, second}));
      }
    }
  }
  return {one, two};
}

RuleTable random_table(std::mt19937& random) {
  RuleTable table;
  auto const below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int const attributes = 2 + below(2);
  for (int a = 0; a < attributes; ++a) table.add_attribute(2 + below(4), below(2) == 0);
  int const rows = 5 + below(60);
  // Half of the tables have something to find.
  bool const planted = below(2) == 0;
  for (int i = 0; i < rows; ++i) {
    for (auto const& attribute : table.domain.attributes)
      table.rows.push_back(below(*attribute.high + 1));
    bool const inside = table.rows.end()[-1] > 0 && table.rows.end()[-2] == 1;
    int const tenths = planted ? (inside ? 8 : 1) : 3;
    table.is_affected.push_back(below(10) < tenths ? 1 : 0);
  }
  return table;
}

TEST(Rules, OfTwoConditionsAreTheBestThereAre) {
  constexpr unsigned kSeed = 20261125;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  RuleOptions options;
  options.most_rules = 1;
  options.most_conditions = 2;
  options.most_chance = 1.0;
  options.least_added = 1;
  options.least_added_percent = 0;
  int longer = 0;
  constexpr int kTables = 300;
  for (int t = 0; t < kTables; ++t) {
    SCOPED_TRACE(t);
    RuleTable const table = random_table(random);
    auto const rules = table.rules(options);
    Counted const all = count_rows(table, {});
    if (all.affected == 0 || all.affected == all.rows) {
      EXPECT_TRUE(rules.empty());
      continue;
    }
    auto const [one, two] = brute_qualities(table);
    ASSERT_EQ(rules.size(), one > 0.0 || two > 0.0 ? 1U : 0U);
    if (rules.empty()) continue;
    bool const is_longer = two > one * (1.0 + kNoticeable);
    EXPECT_DOUBLE_EQ(rules[0].quality, is_longer ? two : one);
    EXPECT_DOUBLE_EQ(rules[0].quality, quality(table, rules[0].conditions));
    EXPECT_EQ(rules[0].conditions.size(), is_longer ? 2U : 1U);
    longer += is_longer ? 1 : 0;
  }
  EXPECT_GT(longer, kTables / 10);
  EXPECT_LT(longer, kTables * 9 / 10);
}

// The search for a third condition is not complete, but misses little.
TEST(Rules, OfThreeConditionsAreNearlyTheBest) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  RuleOptions options;
  options.most_rules = 1;
  options.most_chance = 1.0;
  options.least_added = 1;
  options.least_added_percent = 0;
  constexpr int kTables = 40;
  int best = 0;
  int tried = 0;
  for (int t = 0; t < kTables; ++t) {
    SCOPED_TRACE(t);
    RuleTable table;
    for (int a = 0; a < 3; ++a) table.add_attribute(3 + a % 2, a != 1);
    for (int i = 0; i < 80; ++i) {
      for (auto const& attribute : table.domain.attributes)
        table.rows.push_back(
            static_cast<std::int32_t>(random() % static_cast<unsigned>(*attribute.high + 1)));
      table.is_affected.push_back(random() % 4 == 0 ? 1 : 0);
    }
    double three = 0.0;
    for (auto const& a : every_condition(table.domain, 0)) {
      for (auto const& b : every_condition(table.domain, 1)) {
        for (auto const& c : every_condition(table.domain, 2))
          three = std::max(three, quality(table, {a, b, c}));
      }
    }
    auto const [one, two] = brute_qualities(table);
    if (three <= std::max(one, two) * (1.0 + kNoticeable)) continue;
    auto const rules = table.rules(options);
    ASSERT_EQ(rules.size(), 1U);
    ++tried;
    best += rules[0].quality > three * (1.0 - 1e-12) ? 1 : 0;
    EXPECT_LE(rules[0].quality, three * (1.0 + 1e-12));
  }
  EXPECT_GE(tried, 10);
  EXPECT_GE(best * 20, tried * 19);
}

/// What holds of every list of rules.
void expect_sound(RuleTable const& table, std::vector<Rule> const& rules) {
  Counted const all = count_rows(table, {});
  double const base = static_cast<double>(all.affected) / static_cast<double>(all.rows);
  std::set<std::size_t> covered;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    Rule const& rule = rules[r];
    SCOPED_TRACE(rule_text(table.domain, rule));
    Counted const some = count_rows(table, rule.conditions);
    EXPECT_EQ(rule.rows, some.rows);
    EXPECT_EQ(rule.affected, some.affected);
    EXPECT_EQ(rule.precision, static_cast<double>(some.affected) / static_cast<double>(some.rows));
    EXPECT_EQ(rule.coverage,
              static_cast<double>(some.affected) / static_cast<double>(all.affected));
    std::size_t const before = covered.size();
    for (std::size_t i = 0; i < table.count(); ++i) {
      if (table.is_affected[i] != 0 && rule.holds(table.row(i))) covered.insert(i);
    }
    EXPECT_EQ(static_cast<std::size_t>(rule.added), covered.size() - before);
    EXPECT_GT(rule.added, 0);
    std::set<std::int32_t> attributes;
    for (Condition const& condition : rule.conditions) attributes.insert(condition.attribute);
    EXPECT_EQ(attributes.size(), rule.conditions.size());
    if (r > 0 || rule.conditions.size() < 2) continue;
    // Without any of its conditions it is noticeably less precise.
    for (std::size_t c = 0; c < rule.conditions.size(); ++c) {
      auto fewer = rule.conditions;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(c));
      Counted const more = count_rows(table, fewer);
      double const precision = static_cast<double>(more.affected) / static_cast<double>(more.rows);
      EXPECT_GT(rule.precision - base, (precision - base) * (1.0 + kNoticeable));
    }
  }
}

/// The demo's table, and which of its rows the selection affects.
RuleTable demo_table(std::vector<std::string> const& names, std::vector<Rule>& rules) {
  RunConfig config = read_run_config(source_dir() + "/configs/demo/config.yaml", {});
  config.protected_attributes.clear();
  for (auto const& name : names) config.protected_attributes.push_back({name, {}});
  TestSubject const subject(config);
  Execution execution;
  execution.backend = "cpu";
  execution.threads = 1;
  auto const backend = make_backend(subject, execution, 1, {});
  RowAudit const audit = audit_rows(subject, *backend, 1);
  RuleTable table{subject.domain(), subject.data()->rows, audit.is_affected};
  rules = table.rules({}, subject.selected());
  for (Rule const& rule : rules) {
    for (Condition const& condition : rule.conditions)
      EXPECT_EQ(std::ranges::count(subject.selected(), condition.attribute), 0);
  }
  return table;
}

double covered_share(RuleTable const& table, std::vector<Rule> const& rules) {
  std::int64_t added = 0;
  for (Rule const& rule : rules) added += rule.added;
  return static_cast<double>(added) / static_cast<double>(count_rows(table, {}).affected);
}

/// The codes that a rule allows for an attribute of the domain.
std::set<std::int32_t> allowed(RuleTable const& table, Rule const& rule, char const* name) {
  int const attribute = table.domain.find(name);
  auto const& of = table.domain.attributes[static_cast<std::size_t>(attribute)];
  std::set<std::int32_t> codes;
  for (std::int32_t code = *of.low; code <= *of.high; ++code) {
    bool const excluded = std::ranges::any_of(rule.conditions, [&](Condition const& c) {
      return c.attribute == attribute && !c.holds(code);
    });
    if (!excluded) codes.insert(code);
  }
  return codes;
}

// Planted: refused in the North when they work part time, if only they have 16 points, which need
// high education.
TEST(RulesOfTheDemo, SayWhereAgeIsPlanted) {
  std::vector<Rule> rules;
  RuleTable const table = demo_table({"age"}, rules);
  expect_sound(table, rules);
  ASSERT_FALSE(rules.empty());
  EXPECT_EQ(rule_text(table.domain, rules[0]),
            "education is one of bachelor, master and region is North and hours is part-time");
  EXPECT_GE(rules[0].precision, 0.6);
  EXPECT_GE(rules[0].coverage, 0.8);
  for (Rule const& rule : rules) {
    EXPECT_EQ(allowed(table, rule, "region"), std::set<std::int32_t>{0});
    EXPECT_EQ(allowed(table, rule, "hours"), std::set<std::int32_t>{1});
  }
  EXPECT_GE(covered_share(table, rules), 0.9);
}

// Planted: a degree (codes 4, 5), technical, professional or managerial work (3, 4, 5), 16 or 17
// points.
TEST(RulesOfTheDemo, SayWhereGenderIsPlanted) {
  std::vector<Rule> rules;
  RuleTable const table = demo_table({"gender"}, rules);
  expect_sound(table, rules);
  ASSERT_FALSE(rules.empty());
  std::set<std::int32_t> const degrees = {4, 5};
  std::set<std::int32_t> const work = {3, 4, 5};
  for (std::size_t r = 0; r < rules.size(); ++r) {
    auto const education = allowed(table, rules[r], "education");
    auto const occupation = allowed(table, rules[r], "occupation");
    EXPECT_TRUE(std::ranges::includes(work, occupation)) << r;
    // With little experience and short hours nobody else has the points.
    bool const says_degree = std::ranges::includes(degrees, education);
    EXPECT_TRUE(says_degree || (r > 0 && education.size() == 5)) << r;
  }
  // Some 4 % of all rows are affected.
  EXPECT_GE(rules[0].precision, 0.35);
  EXPECT_GE(rules[0].coverage, 0.7);
  EXPECT_GE(covered_share(table, rules), 0.9);
}

TEST(RulesOfTheDemo, SayNothingOfRace) {
  std::vector<Rule> rules;
  demo_table({"race"}, rules);
  EXPECT_TRUE(rules.empty());
}

TEST(Rules, FindThreeConditionsAmongManyAttributes) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  RuleTable table;
  for (int a = 0; a < 12; ++a) table.add_attribute(3 + a % 5, a % 2 == 0);
  for (int i = 0; i < 5000; ++i) {
    for (auto const& attribute : table.domain.attributes)
      table.rows.push_back(
          static_cast<std::int32_t>(random() % static_cast<unsigned>(*attribute.high + 1)));
    std::int32_t const* const row = table.rows.data() + table.rows.size() - 12;
    bool const inside = (row[2] == 1 || row[2] == 4) && row[5] <= 1 && row[9] >= 5;
    table.is_affected.push_back(random() % 100 < (inside ? 90 : 2) ? 1 : 0);
  }
  auto const rules = table.rules();
  expect_sound(table, rules);
  ASSERT_EQ(rules.size(), 1U);
  std::string const text = rule_text(table.domain, rules[0]);
  EXPECT_EQ(text, "a2 is one of v4, v1 and a5 is at most 1 and a9 is at least 5");
  // The best one may be of attributes that are left out.
  for (Rule const& rule : table.rules({}, {5})) {
    for (Condition const& condition : rule.conditions) EXPECT_NE(condition.attribute, 5);
  }
}

TEST(Rules, AreOfNothingWhereNothingIsToBeFound) {
  RuleTable table;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    table = {};
    for (int a = 0; a < 10; ++a) table.add_attribute(6, a % 2 == 0);
    for (int i = 0; i < 1000; ++i) {
      for (int a = 0; a < 10; ++a) table.rows.push_back(static_cast<std::int32_t>(random() % 6));
      table.is_affected.push_back(random() % 20 <= seed % 12 ? 1 : 0);
    }
    EXPECT_TRUE(table.rules().empty());
  }
  table.is_affected.assign(table.count(), 1);
  EXPECT_TRUE(table.rules().empty());
  table.is_affected.assign(table.count(), 0);
  EXPECT_TRUE(table.rules().empty());
  EXPECT_TRUE(find_rules(table.domain, {}, {}, {}).empty());
}

// More values than there are places: neighbours share one, rare ones have none.
TEST(Rules, TakeAttributesOfManyValues) {
  constexpr unsigned kSeed = 11;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  RuleTable table;
  table.add_attribute(100'000, false);
  table.add_attribute(500, true);
  constexpr std::int32_t kFrom = 70'000;
  constexpr std::int32_t kFrequent = 123;
  for (int i = 0; i < 20'000; ++i) {
    std::int32_t const number = static_cast<std::int32_t>(random() % 100'000);
    std::int32_t const word =
        random() % 4 == 0 ? kFrequent : static_cast<std::int32_t>(random() % 500);
    table.rows.insert(table.rows.end(), {number, word});
    table.is_affected.push_back(number >= kFrom && word == kFrequent ? 1 : 0);
  }
  auto const rules = table.rules();
  expect_sound(table, rules);
  ASSERT_FALSE(rules.empty());
  ASSERT_EQ(rules[0].conditions.size(), 2U);
  Condition const& number = rules[0].conditions[0];
  EXPECT_EQ(number.kind, ConditionKind::kAtLeast);
  EXPECT_NEAR(number.codes[0], kFrom, 100'000 / 60);  // a place
  EXPECT_EQ(rules[0].conditions[1], (Condition{ConditionKind::kIs, 1, {kFrequent}}));
  EXPECT_GE(rules[0].coverage, 0.9);
  EXPECT_GE(rules[0].precision, 0.9);
}

TEST(Rules, AreSaidInWords) {
  Domain domain;
  domain.attributes.resize(3);
  domain.attributes[0].name = "age";
  domain.attributes[0].low = 1;
  domain.attributes[0].high = 3;
  domain.attributes[0].bins = {17, 29, 44, 59};
  domain.attributes[1].name = "education";
  domain.attributes[1].low = 0;
  domain.attributes[1].high = 2;
  domain.attributes[1].categories = {"none", "bachelor", "master"};
  domain.attributes[2].name = "hours";
  domain.attributes[2].low = 0;
  domain.attributes[2].high = 99;
  Rule rule;
  rule.conditions = {{ConditionKind::kAtLeast, 0, {3}},
                     {ConditionKind::kOneOf, 1, {1, 2}},
                     {ConditionKind::kAtMost, 2, {40}}};
  EXPECT_EQ(rule_text(domain, rule),
            "age is at least 45-59 and education is one of bachelor, master and hours is at most "
            "40");
  EXPECT_EQ(condition_text(domain, {ConditionKind::kIs, 1, {2}}), "is master");
  std::vector<std::int32_t> row = {3, 1, 40};
  EXPECT_TRUE(rule.holds(row.data()));
  row[1] = 0;
  EXPECT_FALSE(rule.holds(row.data()));
}

TEST(Rules, KnowWhatHasAnOrder) {
  Attribute attribute;
  EXPECT_TRUE(is_ordered(attribute));
  attribute.encoding.kind = EncodingKind::kOneHot;
  EXPECT_FALSE(is_ordered(attribute));
  attribute.categories = {"18-29", "30-44", "45-59", "60+"};
  EXPECT_TRUE(is_ordered(attribute));
  attribute.categories = {"under-1-year", "1-4-years", "5-9-years"};
  EXPECT_TRUE(is_ordered(attribute));
  attribute.categories = {"North", "East"};
  EXPECT_FALSE(is_ordered(attribute));
  attribute.categories = {"block 2", "block 1"};
  EXPECT_FALSE(is_ordered(attribute));
  attribute.bins = {0, 1, 2};
  EXPECT_TRUE(is_ordered(attribute));
}

}  // namespace
}  // namespace fairlane
