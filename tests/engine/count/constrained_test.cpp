// What an enumeration says of a domain with constraints is what the constraints' words say, input
// by input.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "engine/count/enumerate.h"
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

TEST(Constrained, EnumerationsOfAThousandDomainsAreThoseOfTheWords) {
  constexpr std::uint32_t kDomains = 1000;
  std::int64_t found = 0;
  std::int64_t excluding = 0;
  std::int64_t empty = 0;
  for (std::uint32_t seed = 1; seed <= kDomains; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    SmallShape shape;
    shape.seed = seed;
    shape.widths = {5, seed % 3 == 0 ? 3 : 1};
    shape.ranges.clear();
    for (int a = 0; a < 4; ++a) shape.ranges.push_back(2 + static_cast<std::int32_t>(random() % 4));
    shape.selected = seed % 2 == 0 ? std::vector<std::int32_t>{1} : std::vector<std::int32_t>{0, 3};
    shape.constraints = ConstraintWriter(shape, random).section(1 + static_cast<int>(seed % 4));
    TemporaryFolder const folder;
    RunConfig config = small_config(folder, shape, 12);
    config.output.format = OutputFormat::kNone;
    config.output.report = false;
    std::optional<TestSubject> subject;
    try {
      subject.emplace(config);
    } catch (Error const& error) {
      // One of them excludes everything, which is said at once.
      ASSERT_EQ(error.code(), ExitCode::kConfig) << error.what();
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
  EXPECT_LT(empty, kDomains / 10);
}

}  // namespace
}  // namespace fairlane
