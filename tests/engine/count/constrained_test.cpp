// What counts say of a domain with constraints is what the constraints' words say, input
// by input.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <set>

#include "base/error.h"
#include "base/formats/json.h"
#include "engine/count/enumerate.h"
#include "engine/count/estimate.h"
#include "engine/subject/subject.h"
#include "tests/engine/search/constraint_writer.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

using naive::Row;

/// What an enumeration must count.
struct Expected {
  std::int64_t groups = 0;
  std::int64_t inputs = 0;
  std::int64_t infeasible = 0;
  std::int64_t unique_groups = 0;
  std::int64_t unique_instances = 0;
};

Expected count_by_words(TestSubject const& subject) {
  SubjectView plain = subject.view();
  plain.constraints = {};
  naive::FloatReference const reference(plain);
  Expected expected;
  Row row(plain.low.begin(), plain.low.end());
  for (bool more = true; more;) {
    std::set<std::int32_t> labels;
    std::int64_t members = 0;
    for (Row const& member : naive::similar_set(plain, row)) {
      if (!satisfies(subject.domain().constraints, member.data())) {
        ++expected.infeasible;
        continue;
      }
      ++members;
      labels.insert(reference.label(member));
    }
    expected.inputs += members;
    expected.groups += members > 0 ? 1 : 0;
    if (labels.size() > 1) {
      ++expected.unique_groups;
      expected.unique_instances += members;
    }
    more = false;
    for (std::size_t a = row.size(); a-- > 0 && !more;) {
      if (std::ranges::count(plain.selected, static_cast<std::int32_t>(a)) > 0) continue;
      more = row[a] < plain.high[a];
      row[a] = more ? row[a] + 1 : plain.low[a];
    }
  }
  return expected;
}

/// A small domain with one to four constraints.
SmallShape random_shape(std::uint32_t seed) {
  std::mt19937 random(seed);
  SmallShape shape;
  shape.seed = seed;
  shape.widths = {5, seed % 3 == 0 ? 3 : 1};
  shape.ranges.clear();
  for (int a = 0; a < 4; ++a) shape.ranges.push_back(2 + static_cast<std::int32_t>(random() % 4));
  shape.selected = seed % 2 == 0 ? std::vector<std::int32_t>{1} : std::vector<std::int32_t>{0, 3};
  shape.constraints = ConstraintWriter(shape, random).section(1 + static_cast<int>(seed % 4));
  return shape;
}

/// The subject, unless constraints exclude everything, or every row, which is said at once.
std::unique_ptr<TestSubject> subject_of(RunConfig const& config) {
  try {
    return std::make_unique<TestSubject>(config);
  } catch (Error const& error) {
    EXPECT_TRUE(error.code() == ExitCode::kConfig || error.code() == ExitCode::kData)
        << error.what();
    return nullptr;
  }
}

TEST(Constrained, EnumerationsOfAThousandDomainsAreThoseOfTheWords) {
  constexpr std::uint32_t kDomains = 1000;
  std::int64_t found = 0;
  std::int64_t excluding = 0;
  std::int64_t empty = 0;
  for (std::uint32_t seed = 1; seed <= kDomains; ++seed) {
    SCOPED_TRACE(seed);
    TemporaryFolder const folder;
    RunConfig config = small_config(folder, random_shape(seed), 12);
    config.output.format = OutputFormat::kNone;
    config.output.report = false;
    auto const subject = subject_of(config);
    if (subject == nullptr) {
      ++empty;
      continue;
    }
    Json const summary = Json::parse(enumerate(config, {}));
    Expected const expected = count_by_words(*subject);
    auto const count = [&](char const* name) {
      return summary.at("counts").at(name).get<std::int64_t>();
    };
    ASSERT_EQ(count("groups"), expected.groups);
    ASSERT_EQ(count("inputs"), expected.inputs);
    ASSERT_EQ(count("unique_groups"), expected.unique_groups);
    ASSERT_EQ(count("unique_instances"), expected.unique_instances);
    ASSERT_EQ(count("undefined_groups"), 0);
    ASSERT_EQ(summary.at("undefined").get<std::int64_t>(), 0);
    ASSERT_EQ(summary.contains("infeasible"), !subject->constraints().empty());
    if (summary.contains("infeasible")) {
      ASSERT_EQ(summary.at("infeasible").get<std::int64_t>(), expected.infeasible);
      ++excluding;
    } else {
      ASSERT_EQ(expected.infeasible, 0);
    }
    found += expected.unique_groups;
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(excluding, kDomains / 2);
  EXPECT_LT(empty, kDomains / 5);
}

// Boxes in which nobody exists are left out, and say so: all else is as if they were walked.
TEST(Constrained, EnumerationsLeaveOutWhereNobodyExists) {
  SmallShape shape;
  shape.ranges = {30, 20, 2, 25, 9};
  shape.selected = {2};
  shape.constraints =
      "constraints:\n"
      "  - {sum: {a0: 1, a1: 1}, at_most: 12}\n"
      "  - {if: {a3: {at_least: 9}}, then: {a2: 1, a4: {at_most: 2}}}\n";
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape);
  config.output.report = false;
  auto const count = [&](std::string const& name, Skipping skipping, bool with_instances) {
    EnumerateOptions options;
    options.skipping = skipping;
    options.instances.all = with_instances;
    options.execution.threads = 2;
    config.output.dir = folder.file(name);
    return Json::parse(enumerate(config, options));
  };
  auto const left_out = [](Json const& summary) {
    return summary.at("timing").at("skipped_groups").get<std::int64_t>();
  };
  for (bool const with_instances : {false, true}) {
    std::string const name = with_instances ? "instances" : "counts";
    Json whole = count(name + "-all", Skipping::kNever, with_instances);
    Json part = count(name, Skipping::kWhereFaster, with_instances);
    EXPECT_EQ(left_out(whole), 0);
    EXPECT_GT(left_out(part), 1000);
    whole.erase("timing");
    part.erase("timing");
    EXPECT_EQ(part, whole);
    for (auto const& file : std::filesystem::directory_iterator(folder.file(name))) {
      std::string const own = file.path().filename().string();
      if (own == "summary.json") continue;
      EXPECT_EQ(slurp(folder.file(name + "/" + own)), slurp(folder.file(name + "-all/" + own)))
          << own;
    }
  }
}

/// What an estimate of rows must say.
struct ExpectedRows {
  std::int64_t rows = 0;
  std::int64_t affected = 0;
  double group_score = 0.0;
};

ExpectedRows rows_by_words(TestSubject const& subject) {
  SubjectView plain = subject.view();
  plain.constraints = {};
  naive::FloatReference const reference(plain);
  Dataset const& data = *subject.data();
  ExpectedRows expected;
  auto const variants = static_cast<std::size_t>(subject.variants());
  std::vector<double> positive(variants);
  std::vector<double> members(variants);
  for (std::int64_t r = 0; r < data.count(); ++r) {
    auto const begin = data.rows.begin() + r * data.attributes;
    std::vector<Row> const similar = naive::similar_set(plain, Row(begin, begin + data.attributes));
    std::set<std::int32_t> labels;
    for (std::size_t v = 0; v < variants; ++v) {
      if (!satisfies(subject.domain().constraints, similar[v].data())) continue;
      std::int32_t const label = reference.label(similar[v]);
      labels.insert(label);
      members[v] += 1.0;
      positive[v] += label != 0 ? 1.0 : 0.0;
    }
    ++expected.rows;
    expected.affected += labels.size() > 1 ? 1 : 0;
  }
  double least = 1.0;
  double most = 0.0;
  for (std::size_t v = 0; v < variants; ++v) {
    if (members[v] == 0.0) continue;
    least = std::min(least, positive[v] / members[v]);
    most = std::max(most, positive[v] / members[v]);
  }
  expected.group_score = most - least;
  return expected;
}

TEST(Constrained, EstimatesOfRowsAreThoseOfTheWords) {
  constexpr std::uint32_t kDomains = 100;
  std::int64_t affected = 0;
  for (std::uint32_t seed = 1; seed <= kDomains; ++seed) {
    SCOPED_TRACE(seed);
    TemporaryFolder const folder;
    RunConfig const config = small_config(folder, random_shape(seed), 40);
    auto const subject = subject_of(config);
    if (subject == nullptr) continue;
    ExpectedRows const expected = rows_by_words(*subject);
    EstimateOptions options;
    options.region.rows = true;
    Json const json = Json::parse(estimate(config, options));
    ASSERT_EQ(json.at("counts").at("samples"), expected.rows);
    ASSERT_EQ(json.at("counts").at("groups"), expected.rows);
    ASSERT_EQ(json.at("counts").at("hits"), expected.affected);
    ASSERT_EQ(json.at("counts").at("unique_groups"), expected.affected);
    for (char const* const score : {"success_rate", "causal_score", "group_score"}) {
      ASSERT_EQ(json.at(score).at("low"), json.at(score).at("high")) << score;
      ASSERT_EQ(json.at(score).at("low"), json.at(score).at("share")) << score;
    }
    ASSERT_EQ(json.at("success_rate").at("share").get<double>(),
              static_cast<double>(expected.affected) / static_cast<double>(expected.rows));
    ASSERT_NEAR(json.at("group_score").at("share").get<double>(), expected.group_score, 1e-15);
    affected += expected.affected;
  }
  EXPECT_GT(affected, 0);
}

}  // namespace
}  // namespace fairlane
