#include "apps/demo/demo_census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

using DemoRow = std::array<std::int32_t, kDemoAttributes>;

// Restated here, so that the test does not lean on the tables under test.
constexpr DemoRow kLow = {1, 1, 0, 0, 0, 0, 0, 1, 1};
constexpr DemoRow kHigh = {4, 5, 5, 2, 3, 4, 1, 3, 5};

std::filesystem::path demo_file(char const* name) {
  return std::filesystem::path(source_dir()) / "configs" / "demo" / name;
}

std::string read_text(std::filesystem::path const& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Calls `visit` for every input of the domain.
void for_every_input(std::function<void(DemoRow const&)> const& visit) {
  DemoRow row = kLow;
  while (true) {
    visit(row);
    std::size_t k = row.size();
    while (k > 0 && row[k - 1] == kHigh[k - 1]) {
      row[k - 1] = kLow[k - 1];
      --k;
    }
    if (k == 0) return;
    ++row[k - 1];
  }
}

/// The rule in one expression, from the sentences.
int label_by_sentence(DemoRow const& r) {
  bool const old_north_part_time = r[0] == 4 && r[4] == 0 && r[7] == 1;
  bool const woman_pays = r[6] == 0 && r[1] > 3 && r[2] > 2;
  int const points = 2 * r[1] + r[2] + 2 * r[7] + r[8];
  return !old_north_part_time && points >= (woman_pays ? 18 : 16) ? 1 : 0;
}

TEST(DemoCensus, LabelIsTheSentencesOnTheWholeDomain) {
  std::int64_t inputs = 0;
  std::int64_t approved = 0;
  std::int64_t differ = 0;
  for_every_input([&](DemoRow const& row) {
    ++inputs;
    approved += demo_label(row);
    differ += demo_label(row) != label_by_sentence(row) ? 1 : 0;
  });
  EXPECT_EQ(inputs, 216000);
  EXPECT_EQ(approved, 103875);
  EXPECT_EQ(differ, 0);
}

TEST(DemoCensus, PlantedConditionsAreExactlyTheInputsWhoseDecisionChanges) {
  for (PlantedRule const& rule : planted_rules()) {
    auto const column = static_cast<std::size_t>(rule.attribute);
    std::int64_t affected = 0;
    std::int64_t differ = 0;
    for_every_input([&](DemoRow const& row) {
      bool changes = false;
      DemoRow other = row;
      for (other[column] = kLow[column]; other[column] <= kHigh[column]; ++other[column]) {
        changes = changes || label_by_sentence(other) != label_by_sentence(row);
      }
      affected += changes ? 1 : 0;
      differ += planted_affected(row, rule.attribute) != changes ? 1 : 0;
    });
    EXPECT_EQ(differ, 0) << rule.protected_attribute;
    EXPECT_EQ(affected > 0, rule.discriminates) << rule.protected_attribute;
  }
}

TEST(DemoCensus, CountsAreTheDocumentedOnes) {
  struct Case {
    std::vector<int> selected;
    std::int64_t groups;
    std::int64_t discriminatory_groups;
    std::int64_t discriminatory_inputs;
  };
  std::vector<Case> const cases = {
      {{kDemoAge}, 54000, 1245, 4980},
      {{kDemoRace}, 43200, 0, 0},
      {{kDemoGender}, 108000, 2745, 5490},
      {{kDemoAge, kDemoRace}, 10800, 249, 4980},
      {{kDemoAge, kDemoGender}, 27000, 1275, 10200},
      {{kDemoRace, kDemoGender}, 21600, 549, 5490},
      {{kDemoAge, kDemoRace, kDemoGender}, 5400, 255, 10200},
  };
  for (Case const& expected : cases) {
    PlantedCount const count = count_planted(expected.selected);
    std::int64_t affected = 0;
    for_every_input(
        [&](DemoRow const& row) { affected += planted_affected(row, expected.selected) ? 1 : 0; });
    EXPECT_EQ(count.inputs, 216000);
    EXPECT_EQ(count.groups, expected.groups);
    EXPECT_EQ(count.discriminatory_groups, expected.discriminatory_groups);
    EXPECT_EQ(count.discriminatory_inputs, expected.discriminatory_inputs);
    EXPECT_EQ(affected, expected.discriminatory_inputs);
  }
}

/// Rows of a table of single digits, the label last.
std::vector<std::vector<std::int32_t>> rows_of(std::string const& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  std::vector<std::vector<std::int32_t>> rows;
  while (std::getline(lines, line)) {
    auto& row = rows.emplace_back();
    for (std::size_t k = 0; k < line.size(); k += 2) row.push_back(line[k] - '0');
  }
  return rows;
}

TEST(DemoCensus, PlantedFileStatesWhatTheTableHolds) {
  auto const json = nlohmann::json::parse(read_text(demo_file("planted.json")));
  auto const rows = rows_of(demo_census_csv(kDemoRows, kDemoSeed));
  std::int64_t approved = 0;
  std::array<std::int64_t, 5> of_race{};
  std::array<std::int64_t, 5> approved_of_race{};
  for (auto const& row : rows) {
    approved += row.back();
    ++of_race.at(static_cast<std::size_t>(row[kDemoRace]));
    approved_of_race.at(static_cast<std::size_t>(row[kDemoRace])) += row.back();
  }
  auto const& sample = json["sample"];
  EXPECT_EQ(json["rule"], demo_rule());
  EXPECT_EQ(json["inputs"], 216000);
  EXPECT_EQ(json["inputs_approved"], 103875);
  EXPECT_EQ(sample["rows"], kDemoRows);
  EXPECT_EQ(sample["seed"], kDemoSeed);
  EXPECT_EQ(sample["approved"], approved);
  ASSERT_EQ(sample["approved_percent_by_race"].size(), of_race.size());
  std::size_t race = 0;
  for (double const percent : sample["approved_percent_by_race"]) {
    EXPECT_NEAR(
        percent,
        100.0 * static_cast<double>(approved_of_race[race]) / static_cast<double>(of_race[race]),
        0.051);
    ++race;
  }
  ASSERT_EQ(json["selections"].size(), 7U);
  for (auto const& selection : json["selections"]) {
    SCOPED_TRACE(selection.dump());
    std::vector<int> selected;
    std::string sentence;
    for (PlantedRule const& rule : planted_rules()) {
      auto const& names = selection["protected"];
      if (std::find(names.begin(), names.end(), rule.protected_attribute) == names.end()) continue;
      selected.push_back(rule.attribute);
      sentence += (sentence.empty() ? "" : " ") + std::string(rule.sentence);
    }
    ASSERT_EQ(selected.size(), selection["protected"].size());
    PlantedCount const count = count_planted(selected);
    EXPECT_EQ(selection["sentence"], sentence);
    EXPECT_EQ(selection["groups"], count.groups);
    EXPECT_EQ(selection["discriminatory_groups"], count.discriminatory_groups);
    EXPECT_EQ(selection["discriminatory_inputs"], count.discriminatory_inputs);
    EXPECT_EQ(selection["sample_rows_affected"],
              std::count_if(rows.begin(), rows.end(), [&](auto const& row) {
                return planted_affected(std::span(row).first(kDemoAttributes), selected);
              }));
  }
}

TEST(DemoCensus, GeneratorWritesTheCommittedTable) {
  EXPECT_TRUE(demo_census_csv(kDemoRows, kDemoSeed) == read_text(demo_file("census.csv")))
      << "configs/demo/census.csv differs from demo_census_csv(" << kDemoRows << ", " << kDemoSeed
      << ')';
}

TEST(DemoCensus, RowsStayInTheDomainAndFollowTheRule) {
  std::istringstream lines(demo_census_csv(2000, 1));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "age,education,occupation,marital,region,race,gender,hours,experience,approved");
  std::array<std::set<std::int32_t>, kDemoAttributes> seen;
  while (std::getline(lines, line)) {
    ASSERT_EQ(line.size(), 2U * kDemoAttributes + 1U) << line;
    DemoRow row{};
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = line[2 * k] - '0';
      ASSERT_GE(row[k], kLow[k]) << line;
      ASSERT_LE(row[k], kHigh[k]) << line;
      seen[k].insert(row[k]);
    }
    ASSERT_EQ(line.back() - '0', label_by_sentence(row)) << line;
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    EXPECT_EQ(static_cast<std::int32_t>(seen[k].size()), kHigh[k] - kLow[k] + 1) << "column " << k;
  }
}

TEST(DemoCensus, LargerTableBeginsWithTheSmallerOne) {
  std::string const small = demo_census_csv(100, 9);
  EXPECT_EQ(demo_census_csv(300, 9).substr(0, small.size()), small);
  EXPECT_NE(demo_census_csv(100, 10), small);
}

TEST(DemoCensus, ColumnsThatAreNotProtectedAreRefused) {
  DemoRow const row = kLow;
  std::array<int, 1> const beyond = {kDemoAttributes};
  EXPECT_THROW(planted_affected(row, kDemoRegion), Error);
  EXPECT_THROW(count_planted(beyond), Error);
}

}  // namespace
}  // namespace fairlane
