#include "models/data/raw_form_yaml.h"

#include <gtest/gtest.h>

#include "models/data/domain_yaml.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

Domain parse_raw(std::string const& raw, std::string const& attributes = "  - {name: a}\n") {
  return parse_domain_yaml("label: y\n" + raw + "attributes:\n" + attributes, "d.yaml");
}

void expect_bad_form(std::string const& raw, std::string const& attributes,
                     std::initializer_list<std::string> parts) {
  expect_error(ExitCode::kConfig, parts, [&] { parse_raw(raw, attributes); });
}

TEST(RawFormYaml, ReadsAndWritesEveryKey) {
  Domain const domain = parse_raw(
      "raw: {separator: blanks, columns: [z, \"b c\", y y], missing: [\"?\", no], label: y y}\n",
      "  - {name: a, column: b c, missing: mode}\n  - {name: z, missing: refuse}\n");
  EXPECT_EQ(domain.raw.separator, ' ');
  EXPECT_EQ(domain.raw.columns, (std::vector<std::string>{"z", "b c", "y y"}));
  EXPECT_EQ(domain.raw.missing, (std::vector<std::string>{"?", "no"}));
  EXPECT_EQ(domain.raw_label(), "y y");
  EXPECT_EQ(domain.attributes[0].raw_column(), "b c");
  EXPECT_EQ(domain.attributes[1].raw_column(), "z");
  EXPECT_TRUE(domain.attributes[0].imputes);
  EXPECT_FALSE(domain.attributes[1].imputes);
  Domain const again = parse_domain_yaml(format_domain_yaml(domain), "d.yaml");
  EXPECT_EQ(again.raw, domain.raw);
  EXPECT_EQ(again.attributes[0].column, "b c");
  EXPECT_TRUE(again.attributes[0].imputes);
  EXPECT_EQ(format_domain_yaml(parse_raw("")).find("raw"), std::string::npos);
}

TEST(RawFormYaml, ReadsEverySeparator) {
  std::pair<char const*, char> const all[] = {
      {"\",\"", ','}, {"\";\"", ';'}, {"tab", '\t'}, {"\"|\"", '|'}, {"blanks", ' '}};
  for (auto const& [key, character] : all) {
    Domain const domain = parse_raw(std::string("raw: {separator: ") + key + "}\n");
    EXPECT_EQ(domain.raw.separator, character) << key;
    EXPECT_EQ(parse_domain_yaml(format_domain_yaml(domain), "d").raw, domain.raw) << key;
  }
}

TEST(RawFormYaml, RefusesWithPlaceAndHint) {
  std::string const a = "  - {name: a}\n";
  expect_bad_form("raw: [1]\n", a, {"d.yaml:2:6", "raw is a list", "expected a map"});
  expect_bad_form("raw: {separater: x}\n", a, {"d.yaml:2:7", "separater", "separator"});
  expect_bad_form("raw: {separator: x}\n", a, {"separator is 'x'", "\";\"", "blanks"});
  expect_bad_form("raw: {columns: []}\n", a, {"raw: columns is an empty list"});
  expect_bad_form("raw: {columns: [a, a]}\n", a, {"twice"});
  expect_bad_form("raw: {columns: [aa, y]}\n", a, {"attribute 'a'", "did you mean 'aa'"});
  expect_bad_form("raw: {columns: [a, b]}\n", a, {"the label has the raw column 'y'"});
  expect_bad_form("raw: {missing: [\"\"]}\n", a, {"missing[0]"});
  expect_bad_form("raw: {missing: [q]}\n", "  - {name: a, categories: [p, q]}\n",
                  {"'q'", "category of 'a'"});
  expect_bad_form("labels: {q: 0, z: 1}\nraw: {missing: [q]}\n", a, {"'q'", "one of the labels"});
  expect_bad_form("", "  - {name: a, missing: mean}\n", {"d.yaml:3:", "'mean'", "refuse, or mode"});
  expect_bad_form("", "  - {name: a}\n  - {name: b, column: a}\n",
                  {"d.yaml:4:", "attribute 'b'", "attribute 'a'"});
  expect_bad_form("", "  - {name: b, column: y}\n", {"the label"});
  std::string many = "w0";
  for (int i = 1; i <= 100; ++i) many += ", w" + std::to_string(i);
  expect_bad_form("raw: {missing: [" + many + "]}\n", a, {"101 words", "at most 100"});
  std::string edges = "0";
  for (int i = 1; i <= 4096; ++i) edges += ", " + std::to_string(i);
  expect_bad_form("", "  - {name: a, bins: [" + edges + "]}\n", {"4097 edges", "at most 4096"});
  expect_bad_form("", "  - {name: a, bins: [0, 1, 2], categories: [low, \"7\"]}\n",
                  {"'7'", "no numbers"});
}

}  // namespace
}  // namespace fairlane
