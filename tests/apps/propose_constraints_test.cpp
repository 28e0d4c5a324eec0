// fairlane init --constraints: what it proposes for a table, and that it can be accepted.
#include "apps/init/propose_constraints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "base/files.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"
#include "models/data/encode_table.h"
#include "tests/apps/command_line.h"

namespace fairlane {
namespace {

constexpr char const* kPeople = R"(attributes:
  - {name: age, low: 17, high: 90}
  - {name: kin, categories: [Wife, Husband, Other]}
  - {name: sex, protected: true, categories: [Female, Male]}
  - {name: school, categories: [none, basic, higher]}
  - {name: years, low: 0, high: 20}
  - {name: luck, low: 0, high: 5}
)";

// Rows in which some things are settled: wives are women, husbands men, both adults, and school and
// years tell each other.
Dataset people(int rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const below = [&](std::int32_t count) {
    return std::uniform_int_distribution<std::int32_t>(0, count - 1)(random);
  };
  Dataset data;
  data.source = "people.csv";
  data.attributes = 6;
  for (int i = 0; i < rows; ++i) {
    std::int32_t const kin = below(3);
    std::int32_t const age = kin == 2 ? 17 + below(74) : 25 + below(66);
    std::int32_t const sex = kin == 2 ? below(2) : kin;
    std::int32_t const school = below(3);
    std::int32_t const years[] = {0, 9, 16};
    data.rows.insert(data.rows.end(), {age, kin, sex, school, years[school], below(6)});
  }
  return data;
}

std::vector<std::string> proposed_for(Dataset const& data) {
  Domain const domain = parse_domain_yaml(kPeople, "d.yaml");
  std::vector<std::string> texts;
  for (auto const& one : propose_constraints(domain, data))
    texts.push_back(constraint_text(one.constraint, domain));
  return texts;
}

bool holds(std::vector<std::string> const& texts, std::string const& text) {
  return std::ranges::find(texts, text) != texts.end();
}

/// A domain file whose proposed lines are accepted.
std::string accepted(std::string text) {
  for (std::string const mark : {"\n#constraints:", "\n#  - {"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
      text.erase(at + 1, 1);
  }
  return text;
}

TEST(ProposeConstraints, FindsWhatATableSettles) {
  auto const texts = proposed_for(people(3000, 7));
  EXPECT_TRUE(holds(texts, "kin Wife => sex Female"));
  EXPECT_TRUE(holds(texts, "kin Husband => sex Male"));
  EXPECT_TRUE(holds(texts, "school, years together as in the table"));
  EXPECT_EQ(texts.front(), "school, years together as in the table");  // the strongest
  for (auto const& text : texts) {
    EXPECT_EQ(text.find("luck"), std::string::npos) << text;
    // What the pair of them says already is not said again.
    EXPECT_EQ(text.find("school none"), std::string::npos) << text;
  }
}

TEST(ProposeConstraints, CountsTheRowsOfEach) {
  Domain const domain = parse_domain_yaml(kPeople, "d.yaml");
  Dataset const data = people(3000, 7);
  for (auto const& one : propose_constraints(domain, data)) {
    std::int64_t rows = 0;
    for (std::size_t at = 0; at < data.rows.size(); at += 6) {
      Constraint denial = one.constraint;
      for (CodeCondition& condition : denial.then) condition.ranges.clear();
      rows += denial.from_data || !satisfies(denial, data.rows.data() + at) ? 1 : 0;
    }
    EXPECT_EQ(one.rows, rows) << constraint_text(one.constraint, domain);
  }
}

TEST(ProposeConstraints, FindsNothingWhereNothingIsSettled) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 random(seed);
    Dataset data = people(2000, seed);
    // Each column is shuffled by itself, so that attributes know nothing of each other.
    for (std::size_t a = 0; a < 6; ++a) {
      for (std::size_t i = 1999; i > 0; --i) {
        std::size_t const other = std::uniform_int_distribution<std::size_t>(0, i)(random);
        std::swap(data.rows[i * 6 + a], data.rows[other * 6 + a]);
      }
    }
    EXPECT_EQ(proposed_for(data), std::vector<std::string>());
  }
}

TEST(ProposeConstraints, WantsNoExceptionAndThirtyRows) {
  Domain const domain = parse_domain_yaml(
      "attributes: [{name: a, low: 0, high: 9}, {name: b, low: 0, high: 1}]\n", "d.yaml");
  auto const texts = [&](int rows, bool with_exception) {
    Dataset data;
    data.attributes = 2;
    for (int i = 0; i < rows; ++i) data.rows.insert(data.rows.end(), {7, 1});
    for (int i = 0; i < 2000; ++i) data.rows.insert(data.rows.end(), {i / 2 % 7, i % 2});
    if (with_exception) data.rows.insert(data.rows.end(), {7, 0});
    std::string text;
    for (auto const& one : propose_constraints(domain, data))
      text += constraint_text(one.constraint, domain) + "; ";
    return text;
  };
  EXPECT_EQ(texts(29, false), "");
  EXPECT_EQ(texts(60, false), "a 7 => b 1; ");
  EXPECT_EQ(texts(60, true), "");
}

TEST(ProposeConstraints, CanBeAcceptedAsAWhole) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Domain const domain = parse_domain_yaml(kPeople, "d.yaml");
    Dataset const data = people(1000 + 700 * static_cast<int>(seed), seed);
    auto const proposed = propose_constraints(domain, data);
    EXPECT_GT(proposed.size(), 2U);
    EXPECT_LE(proposed.size(), kMaxProposed);
    std::string const text = kPeople + proposed_constraints_text(proposed, domain);
    EXPECT_EQ(text, kPeople + proposed_constraints_text(propose_constraints(domain, data), domain));
    EXPECT_TRUE(parse_domain_yaml(text, "d.yaml").constraints.empty());
    Domain taken = parse_domain_yaml(accepted(text), "d.yaml");
    ASSERT_EQ(taken.constraints.size(), proposed.size());
    resolve_bounds(taken, &data);
    for (std::size_t at = 0; at < data.rows.size(); at += 6)
      ASSERT_TRUE(satisfies(taken.constraints, data.rows.data() + at));
  }
}

TEST(ProposeConstraints, LimitsItsLines) {
  // 30 attributes that all are the same: each pair settles each other.
  std::string text = "attributes:\n";
  for (int a = 0; a < 30; ++a) text += fmt::format("  - {{name: a{}, low: 0, high: 3}}\n", a);
  Domain const domain = parse_domain_yaml(text, "d.yaml");
  Dataset data;
  data.attributes = 30;
  for (int i = 0; i < 400; ++i) data.rows.insert(data.rows.end(), 30, i % 4);
  EXPECT_EQ(propose_constraints(domain, data).size(), kMaxProposed);
}

class InitConstraints : public testing::Test {
 protected:
  WorkingFolder folder_;
};

TEST_F(InitConstraints, StandInTheFileOfARawTable) {
  Domain const domain = parse_domain_yaml(kPeople, "d.yaml");
  Dataset const data = people(2000, 3);
  std::string table = "age,kin,sex,school,years,luck,approved\n";
  for (std::size_t at = 0; at < data.rows.size(); at += 6) {
    for (std::size_t a = 0; a < 6; ++a) table += domain.attributes[a].word(data.rows[at + a]) + ",";
    table += at % 12 == 0 ? "no\n" : "yes\n";
  }
  write_file("raw.csv", table);
  Outcome const plain = run_fairlane({"init", "raw.csv"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_FALSE(contains(read_file("raw.domain.yaml", std::size_t{1} << 24), "constraints"));
  Outcome const outcome = run_fairlane({"init", "raw.csv", "--constraints", "--force"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "that every row satisfies stand in the domain file"))
      << outcome.err;
  std::string const file = read_file("raw.domain.yaml", std::size_t{1} << 24);
  EXPECT_TRUE(contains(file, "\n#  - {if: {kin: Wife}, then: {sex: Female}}  # ")) << file;
  Domain taken = parse_domain_yaml(accepted(file), "raw.domain.yaml");
  EXPECT_FALSE(taken.constraints.empty());
  Dataset const rows = encode_table("raw.csv", taken).data;
  resolve_bounds(taken, &rows);
  for (std::int64_t i = 0; i < rows.count(); ++i)
    ASSERT_TRUE(satisfies(taken.constraints, rows.rows.data() + i * rows.attributes));
}

TEST_F(InitConstraints, StandInTheFileOfAModelsTable) {
  write_small_run();
  Outcome const outcome =
      run_fairlane({"init", "model.safetensors", "data.csv", "--out", "c.yaml", "--constraints"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "constraints: ")) << outcome.err;
  Domain const plain = read_domain_yaml("c.domain.yaml");
  Domain taken = parse_domain_yaml(accepted(read_file("c.domain.yaml", std::size_t{1} << 24)),
                                   "c.domain.yaml");
  EXPECT_TRUE(plain.constraints.empty());
  Dataset const rows = read_csv("data.csv", taken);
  resolve_bounds(taken, &rows);
  for (std::int64_t i = 0; i < rows.count(); ++i)
    ASSERT_TRUE(satisfies(taken.constraints, rows.rows.data() + i * rows.attributes));
}

}  // namespace
}  // namespace fairlane
