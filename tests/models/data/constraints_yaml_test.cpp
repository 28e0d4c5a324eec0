#include "models/data/constraints_yaml.h"

#include <fmt/format.h>

#include "models/data/dataset.h"
#include "models/data/domain_yaml.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

constexpr char const* kAttributes = R"(attributes:
  - {name: age, low: 0, high: 99}
  - {name: kin, categories: [Wife, Husband, Own-child, "2", no]}
  - {name: sex, protected: true, categories: [Female, Male]}
  - {name: hours, bins: [0, 19, 39, 59, 60]}
  - {name: level, values: [1, 4, 7, 9]}
  - {name: open}
  - {name: half, low: 3}
constraints:
)";
constexpr int kFirstLine = 10;  // of the constraints

Domain parse_with(std::string const& constraints) {
  return parse_domain_yaml(kAttributes + constraints, "d.yaml");
}

Constraint read_one(std::string const& entry) {
  Domain const domain = parse_with("  - " + entry + "\n");
  EXPECT_EQ(domain.constraints.size(), 1U);
  return domain.constraints.front();
}

// The ranges of `then` where the condition on an attribute is this.
std::vector<CodeInterval> ranges_of(std::string const& attribute, std::string const& condition) {
  std::string const other = attribute == "age" ? "sex: Male" : "age: 5";
  return read_one(fmt::format("{{if: {{{}}}, then: {{{}: {}}}}}", other, attribute, condition))
      .then.front()
      .ranges;
}

void expect_fails(std::string const& entry, std::initializer_list<std::string> parts) {
  expect_error(ExitCode::kConfig, parts, [&] { parse_with("  - " + entry + "\n"); });
}

using Ranges = std::vector<CodeInterval>;
CodeInterval const kOpen;

TEST(ConstraintsYaml, ReadsConditions) {
  EXPECT_EQ(ranges_of("kin", "Wife"), (Ranges{{0, 0}}));
  EXPECT_EQ(ranges_of("kin", "[Wife, Husband]"), (Ranges{{0, 1}}));
  EXPECT_EQ(ranges_of("kin", "[no, Wife]"), (Ranges{{0, 0}, {4, 4}}));
  EXPECT_EQ(ranges_of("kin", "{not: Husband}"), (Ranges{{0, 0}, {2, 4}}));
  EXPECT_EQ(ranges_of("age", "17"), (Ranges{{17, 17}}));
  EXPECT_EQ(ranges_of("age", "{at_most: 17}"), (Ranges{{0, 17}}));
  EXPECT_EQ(ranges_of("age", "{at_least: 18, at_most: 30}"), (Ranges{{18, 30}}));
  EXPECT_EQ(ranges_of("age", "{at_least: 18, not: [20, 99]}"), (Ranges{{18, 19}, {21, 98}}));
  EXPECT_EQ(ranges_of("age", "{not: {at_least: 10, at_most: 80}}"), (Ranges{{0, 9}, {81, 99}}));
  EXPECT_EQ(ranges_of("hours", "1-19"), (Ranges{{0, 0}}));
  EXPECT_EQ(ranges_of("hours", "{at_least: 2}"), (Ranges{{2, 3}}));
}

TEST(ConstraintsYaml, TakesAWordBeforeACode) {
  EXPECT_EQ(ranges_of("kin", "2"), (Ranges{{3, 3}}));     // the category "2"
  EXPECT_EQ(ranges_of("kin", "3"), (Ranges{{3, 3}}));     // no category: the code
  EXPECT_EQ(ranges_of("hours", "60"), (Ranges{{3, 3}}));  // the bin of 60 alone
  EXPECT_EQ(ranges_of("hours", "2"), (Ranges{{2, 2}}));
}

TEST(ConstraintsYaml, KeepsToListedCodes) {
  EXPECT_EQ(ranges_of("level", "{at_least: 2, at_most: 8}"), (Ranges{{4, 7}}));
  EXPECT_EQ(ranges_of("level", "[1, 4]"), (Ranges{{1, 4}}));
  EXPECT_EQ(ranges_of("level", "{not: 4}"), (Ranges{{1, 1}, {7, 9}}));
  EXPECT_EQ(ranges_of("level", "{at_least: 2, at_most: 3}"), Ranges());
}

TEST(ConstraintsYaml, TakesConditionsThatNeverOrAlwaysHold) {
  EXPECT_EQ(ranges_of("age", "{at_most: -1}"), Ranges());
  EXPECT_EQ(ranges_of("sex", "{not: [Female, Male]}"), Ranges());
  EXPECT_EQ(ranges_of("age", "{at_most: 100}"), (Ranges{{0, 99}}));
  EXPECT_EQ(ranges_of("open", "{at_most: 100}"), (Ranges{{kOpen.from, 100}}));
}

TEST(ConstraintsYaml, ReadsEachKind) {
  Constraint const implication =
      read_one("{if: {kin: Wife, age: {at_least: 20}}, then: {sex: Female}}");
  EXPECT_EQ(implication.kind, ConstraintKind::kImplication);
  EXPECT_EQ(implication.place, fmt::format("d.yaml:{}:5", kFirstLine));
  EXPECT_EQ(implication.when, (std::vector<CodeCondition>{{1, {{0, 0}}}, {0, {{20, 99}}}}));
  EXPECT_EQ(implication.then, (std::vector<CodeCondition>{{2, {{0, 0}}}}));

  Constraint const sum = read_one("{sum: {age: 1, open: -2}, at_least: 5}");
  EXPECT_EQ(sum.kind, ConstraintKind::kSum);
  EXPECT_EQ(sum.terms, (std::vector<SumTerm>{{0, 1}, {5, -2}}));
  EXPECT_EQ(sum.least, 5);
  EXPECT_EQ(sum.most, INT64_MAX);

  Constraint const table = read_one("{from_data: [kin, open]}");
  EXPECT_EQ(table.kind, ConstraintKind::kCombinations);
  EXPECT_TRUE(table.from_data);
  EXPECT_EQ(table.attributes, (std::vector<int>{1, 5}));
  EXPECT_TRUE(table.rows.empty());

  Constraint const listed =
      read_one("{combinations: [kin, age], rows: [[no, 3], [Wife, 9], [4, 3]]}");
  EXPECT_FALSE(listed.from_data);
  EXPECT_EQ(listed.rows, (std::vector<std::int32_t>{0, 9, 4, 3}));
}

TEST(ConstraintsYaml, SatisfiesAsWritten) {
  auto const allows = [](std::string const& entry, std::vector<std::int32_t> const& row) {
    return satisfies(read_one(entry), row.data());
  };
  char const* const wife = "{if: {kin: Wife, age: {at_least: 20}}, then: {sex: Female, level: 4}}";
  EXPECT_TRUE(allows(wife, {20, 0, 0, 0, 4, 0, 3}));
  EXPECT_FALSE(allows(wife, {20, 0, 1, 0, 4, 0, 3}));
  EXPECT_FALSE(allows(wife, {20, 0, 0, 0, 7, 0, 3}));
  EXPECT_TRUE(allows(wife, {19, 0, 1, 0, 7, 0, 3}));
  EXPECT_TRUE(allows(wife, {20, 1, 1, 0, 7, 0, 3}));
  char const* const sum = "{sum: {age: 1, level: -2}, at_least: 5, at_most: 6}";
  EXPECT_TRUE(allows(sum, {13, 0, 0, 0, 4, 0, 3}));
  EXPECT_TRUE(allows(sum, {14, 0, 0, 0, 4, 0, 3}));
  EXPECT_FALSE(allows(sum, {12, 0, 0, 0, 4, 0, 3}));
  EXPECT_FALSE(allows(sum, {15, 0, 0, 0, 4, 0, 3}));
  char const* const rows = "{combinations: [level, age], rows: [[4, 3], [1, 9], [9, 0]]}";
  EXPECT_TRUE(allows(rows, {9, 0, 0, 0, 1, 0, 3}));
  EXPECT_FALSE(allows(rows, {3, 0, 0, 0, 1, 0, 3}));
}

TEST(ConstraintsYaml, IsWrittenAsItIsRead) {
  std::string const all = R"(  - {if: {kin: Wife}, then: {sex: Female}}
  - {if: {kin: ["2", no], age: {at_most: 17}}, then: {sex: [Female], hours: {not: 1-19}}}
  - {if: {open: {at_most: 3}}, then: {half: {at_least: 9}}}
  - {if: {open: [-3, 5, 900]}, then: {half: {not: [5, 7]}}}
  - {if: {open: {not: {at_least: 10, at_most: 50000}}}, then: {half: {at_least: 3}}}
  - {if: {open: {at_least: -16777216}}, then: {half: {at_most: 2}, sex: {not: [0, 1]}}}
  - {if: {open: {at_least: 5, not: {at_least: 3}}}, then: {level: {not: [4, 9]}}}
  - {if: {age: {at_least: 10, at_most: 90, not: [50, 51, 70]}}, then: {level: {at_least: 2}}}
  - {if: {age: {at_most: 17}}, then: {kin: {at_least: 0}}}
  - {sum: {age: 1, open: -2}, at_least: 5}
  - {sum: {age: -1}, at_least: -50, at_most: -3}
  - {sum: {half: 3, "age": 4}, at_most: 700}
  - {from_data: [kin, open]}
  - {combinations: [kin, hours, age], rows: [[no, 60, 3], [Wife, 1-19, 9]]}
)";
  Domain const domain = parse_with(all);
  std::string const text = format_domain_yaml(domain);
  Domain const again = parse_domain_yaml(text, "d.yaml");
  EXPECT_EQ(format_domain_yaml(again), text);
  ASSERT_EQ(again.constraints.size(), domain.constraints.size());
  for (std::size_t i = 0; i < domain.constraints.size(); ++i) {
    SCOPED_TRACE(format_constraint_yaml(domain.constraints[i], domain));
    EXPECT_EQ(again.constraints[i].kind, domain.constraints[i].kind);
    EXPECT_EQ(again.constraints[i].when, domain.constraints[i].when);
    EXPECT_EQ(again.constraints[i].then, domain.constraints[i].then);
    EXPECT_EQ(again.constraints[i].terms, domain.constraints[i].terms);
    EXPECT_EQ(again.constraints[i].least, domain.constraints[i].least);
    EXPECT_EQ(again.constraints[i].most, domain.constraints[i].most);
    EXPECT_EQ(again.constraints[i].attributes, domain.constraints[i].attributes);
    EXPECT_EQ(again.constraints[i].rows, domain.constraints[i].rows);
    EXPECT_EQ(again.constraints[i].from_data, domain.constraints[i].from_data);
  }
  EXPECT_EQ(format_constraint_yaml(domain.constraints[0], domain),
            "{if: {kin: Wife}, then: {sex: Female}}");
}

TEST(ConstraintsYaml, TellsConstraintsInWords) {
  Domain const domain = parse_with(R"(  - {if: {kin: Wife}, then: {sex: Female}}
  - {if: {age: {at_most: 17}, kin: [no, Wife]}, then: {hours: {at_least: 0}, level: {at_least: 4}}}
  - {sum: {age: 1, level: -2}, at_least: 5, at_most: 6}
  - {sum: {age: -1, level: 1}, at_most: 6}
  - {from_data: [kin, level]}
  - {combinations: [kin, level], rows: [[0, 1]]}
  - {if: {open: {at_least: 3}}, then: {half: {at_most: 2}, age: {at_least: 5, at_most: 50}}}
)");
  std::vector<std::string> const expected = {
      "kin Wife => sex Female",
      "age at most 17 and kin Wife or no => hours anything and level 4 or 7 or 9",
      "age - 2 level at least 5 and at most 6",
      "-age + level at most 6",
      "kin, level together as in the table",
      "kin, level together as listed",
      "open at least 3 => half nothing and age from 5 to 50"};
  ASSERT_EQ(domain.constraints.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(constraint_text(domain.constraints[i], domain), expected[i]);
}

TEST(ConstraintsYaml, RefusesUnknownNames) {
  expect_fails("{if: {kim: Wife}, then: {sex: Male}}",
               {"d.yaml:10:11", "'kim' is no attribute", "did you mean 'kin'"});
  expect_fails(
      "{if: {kin: Wive}, then: {sex: Male}}",
      {"d.yaml:10:16", "'Wive'", "a category of 'kin' or its code, 0..4", "did you mean 'Wife'"});
  expect_fails("{sum: {aeg: 1}, at_most: 3}", {"d.yaml:10:12", "did you mean 'age'"});
  expect_fails("{from_data: [kin, opne]}", {"d.yaml:10:23", "did you mean 'open'"});
  expect_fails("{iff: {kin: Wife}, then: {sex: Male}}",
               {"d.yaml:10:6", "unknown key 'iff'", "did you mean 'if'"});
  expect_fails("{if: {age: {at_mots: 3}}, then: {sex: Male}}",
               {"d.yaml:10:17", "unknown key 'at_mots'", "did you mean 'at_most'"});
  expect_fails("{if: {age: {not: {not: 3}}}, then: {sex: Male}}", {"unknown key 'not'"});
}

TEST(ConstraintsYaml, RefusesWrongImplications) {
  expect_fails("{if: {kin: Wife}}", {"d.yaml:10:5", "has no then"});
  expect_fails("{then: {kin: Wife}}", {"d.yaml:10:5", "has no if"});
  expect_fails("{if: {kin: Wife}, then: {sex: Male, kin: Husband}}",
               {"d.yaml:10:41", "'kin'", "expected another attribute"});
  expect_fails("{if: {kin: Wife, kin: no}, then: {sex: Male}}", {"'kin' occurs twice"});
  expect_fails("{if: {}, then: {sex: Male}}", {"d.yaml:10:10", "an empty map"});
  expect_fails("{if: {kin: []}, then: {sex: Male}}", {"d.yaml:10:16", "an empty list"});
  expect_fails("{if: {kin: {}}, then: {sex: Male}}", {"d.yaml:10:16", "an empty map"});
  expect_fails("{if: {kin: }, then: {sex: Male}}", {"nothing"});
  expect_fails("{if: kin, then: {sex: Male}}", {"d.yaml:10:10", "'kin'", "expected attributes"});
  expect_fails("{if: {kin: Wife}, then: {sex: Male}, at_most: 3}",
               {"d.yaml:10:42", "'at_most' stands beside if"});
  expect_fails("{at_most: 3}", {"d.yaml:10:5", "has at_most alone"});
  expect_fails("[]", {"d.yaml:10:5", "constraints[0] is an empty list"});
}

TEST(ConstraintsYaml, RefusesCodesOutsideTheDomain) {
  expect_fails("{if: {age: 100}, then: {sex: Male}}",
               {"d.yaml:10:16", "is 100", "expected a code, 0..99"});
  expect_fails("{if: {kin: 5}, then: {sex: Male}}", {"is 5", "0..4"});
  expect_fails("{if: {level: [1, 2]}, then: {sex: Male}}", {"[1] is 2", "one of 1, 4, 7, 9"});
  expect_fails("{if: {half: 2}, then: {sex: Male}}", {"is 2", "3..data"});
  expect_fails("{if: {open: 99999999}, then: {sex: Male}}", {"is 99999999"});
  expect_fails("{if: {age: \"5\"}, then: {sex: Male}}", {"'5'", "remove the quotes"});
  expect_fails("{if: {age: 1.5}, then: {sex: Male}}", {"'1.5'", "expected a code"});
  expect_fails("{if: {age: {at_least: Old}}, then: {sex: Male}}", {"'Old'", "expected a code"});
  expect_fails("{if: {age: {at_least: 9, at_most: 8}}, then: {sex: Male}}",
               {"d.yaml:10:27", "at_least 9 > at_most 8"});
  expect_fails("{combinations: [age, kin], rows: [[0, 9]]}", {"rows[0][1] is 9"});
}

TEST(ConstraintsYaml, RefusesWrongSums) {
  expect_fails("{sum: {age: 0}, at_most: 3}", {"d.yaml:10:17", "is 0", "other than 0"});
  expect_fails("{sum: {age: 0.5}, at_most: 3}",
               {"d.yaml:10:17", "'0.5'", "whole number; scale it"});
  expect_fails("{sum: {age: many}, at_most: 3}", {"'many'", "whole number"});
  expect_fails("{sum: {age: 99999999}, at_most: 3}", {"is 99999999"});
  expect_fails("{sum: {age: 1}, at_most: 3.5}", {"'3.5'", "scale it"});
  expect_fails("{sum: {age: 1}}", {"d.yaml:10:5", "neither at_least nor at_most"});
  expect_fails("{sum: {age: 1}, at_least: 5, at_most: 4}", {"at_least 5 > at_most 4"});
  expect_fails("{sum: {}, at_most: 4}", {"an empty map"});
  expect_fails("{sum: [age], at_most: 4}", {"a list"});
  expect_fails("{sum: {age: 1}, at_most: 4, rows: []}", {"'rows' stands beside sum"});
}

TEST(ConstraintsYaml, RefusesWrongCombinations) {
  expect_fails("{from_data: []}", {"d.yaml:10:17", "a list of 0", "at least two attributes"});
  expect_fails("{from_data: [kin]}", {"a list of 1"});
  expect_fails("{from_data: kin}", {"'kin'"});
  expect_fails("{from_data: [kin, age, kin]}", {"d.yaml:10:28", "lists 'kin' twice"});
  expect_fails("{from_data: [kin, age], rows: [[0, 1]]}", {"'rows' stands beside from_data"});
  expect_fails("{combinations: [kin, age]}", {"has no rows", "rows of 2 values"});
  expect_fails("{combinations: [kin, age], rows: []}", {"an empty list"});
  expect_fails("{combinations: [kin, age], rows: [[0, 1, 2]]}", {"rows[0] is a list of 3"});
  expect_fails("{combinations: [kin, age], rows: [0]}", {"rows[0] is '0'"});
  expect_error(ExitCode::kConfig, {"d.yaml:9:14", "constraints is an empty list"}, [] {
    parse_domain_yaml(
        std::string(kAttributes).substr(0, std::string(kAttributes).size() - 1) + " []\n",
        "d.yaml");
  });
}

Dataset table_of(std::vector<std::int32_t> rows) {
  Dataset data;
  data.source = "t.csv";
  data.attributes = 7;
  data.rows = std::move(rows);
  return data;
}

TEST(ResolveConstraints, TakesCombinationsOfTheTable) {
  Domain domain = parse_with("  - {from_data: [level, open]}\n");
  Dataset const data = table_of({1, 0, 0, 0, 9, 5, 3,  //
                                 1, 0, 0, 0, 2, 5, 3,  // a level outside of the domain
                                 1, 0, 0, 0, 1, 7, 4,  //
                                 1, 0, 0, 0, 9, 2, 3,  //
                                 1, 0, 0, 0, 9, 5, 8});
  resolve_bounds(domain, &data);
  EXPECT_EQ(domain.constraints.front().rows, (std::vector<std::int32_t>{1, 7, 9, 2, 9, 5}));
  EXPECT_EQ(format_constraint_yaml(domain.constraints.front(), domain),
            "{from_data: [level, open]}");
  resolve_bounds(domain, nullptr);  // what is known stays
  EXPECT_EQ(domain.constraints.front().rows.size(), 6U);
}

TEST(ResolveConstraints, SettlesConditionsWithTheTablesBounds) {
  Domain domain = parse_with("  - {if: {open: {at_most: 5}}, then: {half: {not: 3}}}\n");
  Dataset const data = table_of({1, 0, 0, 0, 9, 2, 3, 1, 0, 0, 0, 9, 7, 6});
  resolve_bounds(domain, &data);
  EXPECT_EQ(domain.constraints.front().when.front().ranges, (Ranges{{2, 5}}));
  EXPECT_EQ(domain.constraints.front().then.front().ranges, (Ranges{{4, 6}}));
}

TEST(ResolveConstraints, RefusesWhatTheTableDoesNotGive) {
  Dataset const data = table_of({1, 0, 0, 0, 9, 2, 3, 1, 0, 0, 0, 9, 7, 6});
  auto const fails = [&](std::string const& entry, std::initializer_list<std::string> parts) {
    Domain domain = parse_with("  - " + entry + "\n");
    expect_error(ExitCode::kConfig, parts, [&] { resolve_bounds(domain, &data); });
  };
  fails("{if: {open: 8}, then: {sex: Male}}", {"d.yaml:10:5", "'open' is 8", "2..7"});
  fails("{combinations: [open, age], rows: [[1, 1]]}", {"d.yaml:10:5", "'open' is 1", "2..7"});

  Domain domain = parse_domain_yaml(
      "attributes: [{name: a, low: 0, high: 1}, {name: b, low: 0, high: 1}]\n"
      "constraints:\n  - {from_data: [a, b]}\n",
      "d.yaml");
  expect_error(ExitCode::kConfig, {"d.yaml:3:5", "from_data", "there is no data"},
               [&] { resolve_bounds(domain, nullptr); });
}

TEST(ResolveConstraints, RefusesMoreCombinationsThanItKeeps) {
  Domain domain = parse_domain_yaml(
      "attributes: [{name: a, low: 0, high: 2000000}, {name: b, low: 0, high: 1}]\n"
      "constraints:\n  - {from_data: [a, b]}\n",
      "d.yaml");
  Dataset data;
  data.source = "t.csv";
  data.attributes = 2;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kMaxCombinations); ++i)
    data.rows.insert(data.rows.end(), {i, 0});
  resolve_bounds(domain, &data);
  EXPECT_EQ(domain.constraints.front().rows.size(), 2 * kMaxCombinations);
  data.rows.insert(data.rows.end(), {0, 1});
  expect_error(ExitCode::kConfig, {"d.yaml:3:5", "more than 1048576", "t.csv", "fewer attributes"},
               [&] { resolve_bounds(domain, &data); });
}

}  // namespace
}  // namespace fairlane
