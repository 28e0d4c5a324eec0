// The table of methods, and what `margin` finds beside the published ones.
#include "engine/search/method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/engine/search/golden_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

TEST(Methods, EveryRowIsComplete) {
  std::set<std::string> names;
  for (auto const& method : methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_NE(std::strlen(method.paper), 0U) << method.name;
    EXPECT_NE(std::strlen(method.algorithm), 0U) << method.name;
    EXPECT_EQ(&find_method(method.name), &method);
    bool const steps = method.kind == SearchKind::kGradient;
    EXPECT_EQ(method.gradient != GradientKind::kNone, steps) << method.name;
    EXPECT_EQ(method.sign != 0, steps) << method.name;
    EXPECT_EQ(method.global_step != nullptr, steps) << method.name;
    bool const walks = steps || method.kind == SearchKind::kAdaptive;
    EXPECT_EQ(method.local_step != nullptr || method.frontier, walks) << method.name;
    EXPECT_FALSE(method.local_step != nullptr && method.frontier) << method.name;
    bool const adapts = method.adapts_directions || method.adapts_attributes;
    EXPECT_FALSE(adapts && method.kind != SearchKind::kAdaptive) << method.name;
  }
  for (char const* name :
       {"themis", "aequitas-random", "aequitas-semi", "aequitas-fully", "sg", "adf", "eidig",
        "maft", "maft-nonvec", "grft", "expga", "margin", "margin-walk"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(Methods, MisspeltNamesGetAHint) {
  expect_error(ExitCode::kConfig, {"'eidg'", "did you mean 'eidig'?", "maft"},
               [] { find_method("eidg"); });
}

// On the golden seeds: global IDIs, of the margin method's Newton steps, and unique groups per model
// evaluation over both phases.
TEST(Methods, MarginFindsMore) {
  FL_NEED_BENCHMARKS(benchmarks);
  constexpr int kMostly = 5;            // of the seven cases
  constexpr double kNeverBelow = 0.95;  // of the best published method's global IDIs
  int global_wins = 0;
  std::map<std::string, int> rate_wins;
  std::printf("  %-36s %-8s %7s %7s %10s %12s %14s\n", "case", "method", "found", "unique",
              "groups", "evaluations", "groups/1000 ev");
  for (auto const& golden : kGoldenCases) {
    RunConfig config = golden_config(benchmarks, golden, "margin");
    TestSubject const subject(config);
    std::map<std::string, std::int64_t> global;
    std::map<std::string, double> rate;
    for (char const* method : {"adf", "eidig", "maft", "margin-walk", "margin"}) {
      config.method = method;
      auto const found = run_method(config, subject);
      auto const& counts = found.result.counts;
      global[method] = counts.global_unique;
      rate[method] =
          static_cast<double>(found.groups) / static_cast<double>(counts.model_evaluations);
      std::printf("  %-36s %-8s %7ld %7ld %10ld %12ld %14.3f\n", config.source.c_str(), method,
                  static_cast<long>(counts.global_found), static_cast<long>(counts.global_unique),
                  static_cast<long>(found.groups), static_cast<long>(counts.model_evaluations),
                  1000.0 * rate[method]);
    }
    std::int64_t const best = std::max({global["adf"], global["eidig"], global["maft"]});
    global_wins += global["margin-walk"] >= best ? 1 : 0;
    EXPECT_GE(static_cast<double>(global["margin-walk"]), kNeverBelow * static_cast<double>(best))
        << config.source;
    for (char const* method : {"adf", "eidig", "maft", "margin-walk"})
      rate_wins[method] += rate["margin"] > rate[method] ? 1 : 0;
  }
  std::printf("  Newton steps find at least the best's global IDIs on %d of 7\n", global_wins);
  EXPECT_GE(global_wins, kMostly);
  for (auto const& [method, wins] : rate_wins) {
    std::printf("  more groups per evaluation than %s on %d of 7\n", method.c_str(), wins);
    EXPECT_EQ(wins, static_cast<int>(std::size(kGoldenCases))) << method;
  }
}

}  // namespace
}  // namespace fairlane
