// Searches for plausible findings: whatever a method visits is a finding where the model's and the
// table's definitions, asked one after the other, say so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/check/check.h"
#include "engine/count/domain_share.h"
#include "engine/count/enumerate.h"
#include "engine/plausibility/plausibility.h"
#include "engine/results/run.h"
#include "engine/search/method.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// What may be a finding, without a word from what searches are given.
class Definition {
 public:
  Definition(TestSubject const& subject, double at_least)
      : subject_(subject),
        view_(without_limits(subject.view())),
        reference_(view_),
        model_(subject.domain(), *subject.data(), 1),
        most_(100.0 - at_least) {}

  bool exists(Row const& row) const { return satisfies(subject_.domain().constraints, row.data()); }
  bool is_plausible(Row const& row) const {
    return model_.score(row).front().surprise_percentile <= most_;
  }
  /// Whether it is an IDI, plausible or not.
  bool is_idi(Row const& row) const { return exists(row) && reference_.probe(row).pair >= 0; }

 private:
  static SubjectView without_limits(SubjectView view) {
    view.finding_constraints = {};
    return view;
  }

  TestSubject const& subject_;
  SubjectView view_;
  naive::FloatReference reference_;
  PlausibilityModel model_;
  double most_;
};

class PlausibleSearch : public ::testing::TestWithParam<char const*> {};

TEST_P(PlausibleSearch, FindsWhatTheDefinitionsSay) {
  TemporaryFolder const folder;
  for (char const* kind : {"plausible", "many plausible"}) {
    SCOPED_TRACE(kind);
    SmallShape const shape = shape_of(kind);
    RunConfig config = small_config(folder, shape);
    config.method = GetParam();
    if (!find_method(config.method).weighs_surprise) config.plausibility.weight = 0.0;
    TestSubject const subject(config);
    Definition const definition(subject, shape.at_least);
    Finished const finished = run_search(config, subject, {});
    std::int64_t implausible = 0;
    std::int64_t with_implausible_pair = 0;
    for (auto const& [row, entry] : finished.entries) {
      bool const is_idi = definition.is_idi(row);
      bool const counts = definition.exists(row) && definition.is_plausible(row);
      ASSERT_EQ(entry.state == kVisitHit, is_idi && counts);
      ASSERT_EQ(entry.state == kVisitUndefined, !counts);
      implausible += is_idi && !counts ? 1 : 0;
      if (entry.state != kVisitHit) continue;
      auto const members = naive::similar_set(subject.view(), row);
      with_implausible_pair +=
          std::ranges::any_of(members, [&](Row const& m) { return !definition.is_plausible(m); })
              ? 1
              : 0;
    }
    EXPECT_GT(finished.hits(), 0);
    EXPECT_GT(implausible, 0);
    EXPECT_GT(with_implausible_pair, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, PlausibleSearch,
                         ::testing::Values("themis", "adf", "eidig", "maft", "margin",
                                           "margin-walk", "aequitas-random", "aequitas-fully", "sg",
                                           "grft", "expga"),
                         [](auto const& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(PlausibleSearch, LosesNoneThatTheWholeDomainHas) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {3, 4, 2, 3, 3};
  shape.selected = {0, 3};
  shape.constraints = "constraints:\n  - {if: {a1: 0}, then: {a2: {not: 1}}}\n";
  shape.at_least = 30.0;
  RunConfig config = small_config(folder, shape);
  config.method = "themis";
  config.global.num = 3 * 4 * 2 * 3 * 3 * 50;  // draws, among which inputs repeat
  TestSubject const subject(config);
  Definition const definition(subject, shape.at_least);
  Finished const finished = run_search(config, subject, {});
  std::set<Row> found;
  for (auto const& [row, entry] : finished.entries)
    if (entry.state == kVisitHit) found.insert(row);
  std::set<Row> expected;
  std::int64_t idis = 0;
  Row row(subject.view().low.begin(), subject.view().low.end());
  for (bool more = true; more;) {
    bool const is_idi = definition.is_idi(row);
    idis += is_idi ? 1 : 0;
    if (is_idi && definition.is_plausible(row)) expected.insert(row);
    more = false;
    for (std::size_t a = row.size(); a-- > 0 && !more;) {
      more = row[a] < subject.view().high[a];
      row[a] = more ? row[a] + 1 : subject.view().low[a];
    }
  }
  EXPECT_EQ(finished.entries.size(), 3U * 4 * 2 * 3 * 3);
  EXPECT_GT(expected.size(), 0U);
  EXPECT_LT(static_cast<std::int64_t>(expected.size()), idis);
  EXPECT_EQ(found, expected);
}

// One table gives both the bound and the percentiles: its people, those of protected values that
// are not compared among them, those that violate a constraint not.
TEST(PlausibleSearch, KeepsTheFindingsWhosePercentilesAreWithinTheBound) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 4, 2, 3, 3};
  shape.selected = {0, 3};
  shape.constraints = "constraints:\n  - {if: {a1: 0}, then: {a2: {not: 1}}}\n";
  RunConfig config = small_config(folder, shape);
  config.protected_attributes[0].values = {lowest(0), lowest(0) + 1};
  config.output.plausibility = true;
  EnumerateOptions counting;
  counting.instances.all = true;
  std::string const all = folder.file("all");
  enumerate(to(config, all), counting);
  std::set<std::string> expected;
  std::istringstream rows(slurp(all + "/instances.csv"));
  std::istringstream figures(slurp(all + "/instances.plausibility.csv"));
  std::string row;
  std::string line;
  std::getline(rows, row);
  std::getline(figures, line);
  std::size_t count = 0;
  for (; std::getline(rows, row) && std::getline(figures, line); ++count) {
    if (std::stod(line.substr(line.rfind(',') + 1)) > 70.0) continue;
    std::size_t end = 0;
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) end = row.find(',', end) + 1;
    expected.insert(row.substr(0, end));
  }
  EXPECT_GT(expected.size(), 0U);
  EXPECT_LT(expected.size(), count);
  config.plausibility.at_least = 30.0;
  config.method = "themis";
  config.global.num = 2 * 4 * 2 * 3 * 3 * 50;  // draws, among which inputs repeat
  std::string const kept = run_into(folder.file("kept"), config, 1);
  EXPECT_EQ(instances_in(kept, shape.ranges.size()), expected);
}

TEST(PlausibleSearch, IsSummarisedCheckedAndRepeated) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of("plausible"));
  for (char const* method : {"eidig", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    RunOptions options = options_with(1);
    options.overwrite = true;
    Summary const summary = run(to(config, folder.file("one")), options);
    RunOptions other = options_with(3, 1 << 12);
    other.execution.batch = 7;
    other.overwrite = true;
    run(to(config, folder.file("two")), other);
    expect_same_output(folder.file("one"), folder.file("two"));
    Json const json = Json::parse(summary_json(summary));
    EXPECT_EQ(json.at("plausibility").at("at_least"), 15.0);
    EXPECT_GT(json.at("plausibility").at("left_out").get<std::int64_t>(), 0);
    EXPECT_FALSE(json.contains("infeasible"));
    EXPECT_GT(summary.found.unique_instances, 0);
    CheckResult const checked = check_directory(folder.file("one"));
    EXPECT_EQ(checked.failed, 0);
    EXPECT_EQ(checked.instances, summary.found.unique_instances);
  }
}

TEST(PlausibleSearch, CheckSeesWhatIsLessPlausible) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  Summary const summary = run(config, options_with(1));
  ASSERT_EQ(check_directory(config.output.dir).failed, 0);
  std::string manifest = slurp(config.output.dir + "/manifest.json");
  std::string const before = "\"at_least\": 0.0";
  ASSERT_NE(manifest.find(before), std::string::npos);
  manifest.replace(manifest.find(before), before.size(), "\"at_least\": 90.0");
  folder.write("out/manifest.json", manifest);
  CheckResult const checked = check_directory(config.output.dir);
  EXPECT_GT(checked.failed, summary.found.unique_instances / 2);
  ASSERT_FALSE(checked.failures.empty());
  EXPECT_NE(checked.failures.front().find("plausibility.at_least"), std::string::npos)
      << checked.failures.front();
}

// A weight alone leaves nothing out, and most of what is found is less surprising than without.
TEST(PlausibleSearch, AWeightPrefersWhatIsLikely) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 9, 9, 9, 2, 9};
  RunConfig config = small_config(folder, shape);
  config.output.plausibility = true;
  for (char const* method : {"adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    auto const mean_surprise = [&](double weight) {
      config.plausibility.weight = weight;
      std::string const dir = folder.file(fmt::format("{}-{}", method, weight));
      Summary const summary = run(to(config, dir), options_with(2));
      EXPECT_FALSE(summary.at_least.has_value());
      Json const json = Json::parse(summary_json(summary));
      EXPECT_EQ(json.contains("plausibility"), weight > 0.0);
      if (weight > 0.0) {
        EXPECT_EQ(json.at("plausibility"), Json({{"weight", weight}}));
      }
      EXPECT_EQ(check_directory(dir).failed, 0);
      std::istringstream figures(slurp(dir + "/instances.plausibility.csv"));
      std::string line;
      std::getline(figures, line);
      double sum = 0.0;
      while (std::getline(figures, line)) sum += std::stod(line.substr(line.find(',') + 1));
      EXPECT_GT(summary.found.unique_instances, 20);
      return sum / static_cast<double>(summary.found.unique_instances);
    };
    double const without = mean_surprise(0.0);
    EXPECT_LT(mean_surprise(1.0), without);
    EXPECT_LT(mean_surprise(10.0), without - 0.5);
  }
  // The domain's share is that without a weight.
  DomainShareOptions sampling;
  sampling.samples = 1000;
  double const share = measure_domain_share(config, TestSubject(config), sampling).share;
  EXPECT_GT(share, 0.0);
  config.plausibility.weight = 0.0;
  EXPECT_EQ(share, measure_domain_share(config, TestSubject(config), sampling).share);
}

TEST(PlausibleSearch, AWeightIsForStepsThatCanBeWeighed) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.weight = 1.0;
  RunConfig config = small_config(folder, shape);
  for (MethodSpec const& method : methods()) {
    config.method = method.name;
    if (method.weighs_surprise) continue;
    expect_error(ExitCode::kConfig, {"plausibility.weight", method.name, "adf, eidig"},
                 [&] { run(config, options_with(1)); });
  }
  expect_error(ExitCode::kUnavailable, {"plausibility.weight", "is 1", "`enumerate`"},
               [&] { enumerate(config, {}); });
  config.data.clear();
  config.global.seeding = "uniform";
  expect_error(ExitCode::kConfig, {"plausibility.weight is 1", "`data`"},
               [&] { TestSubject const subject(config); });
}

TEST(PlausibleSearch, NeedsATableAndIsRefusedWhereNothingIsSearched) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.at_least = 5.0;
  RunConfig config = small_config(folder, shape);
  expect_error(ExitCode::kUnavailable, {"plausibility.at_least", "`enumerate`"},
               [&] { enumerate(config, {}); });
  config.data.clear();
  config.global.seeding = "uniform";
  expect_error(ExitCode::kConfig, {"plausibility.at_least is 5", "`data`"},
               [&] { TestSubject const subject(config); });
}

}  // namespace
}  // namespace fairlane
