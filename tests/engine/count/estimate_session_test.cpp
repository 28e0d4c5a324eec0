// Estimates that a clock or a person ends, and what they tell while they work.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>

#include "tests/brute_counts.h"
#include "tests/engine/count/estimated.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// A clock that goes on by a second whenever somebody looks.
std::function<double()> ticking() {
  auto const looks = std::make_shared<std::atomic<int>>(0);
  return [looks] { return static_cast<double>(++*looks); };
}

/// What a notice says of counting all instead.
std::vector<std::string> notices_of(RunConfig const& config, EstimateOptions options) {
  std::vector<std::string> hints;
  options.notice = [&](std::string const& line) {
    if (line.find("counting all") != std::string::npos) hints.push_back(line);
  };
  estimate(config, options);
  return hints;
}

TEST(Estimate, EndsWithItsSeconds) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {}, 500);
  TestSubject const subject(config);
  BruteCounts const brute = brute_counts(subject.view());
  double const exact =
      static_cast<double>(brute.instances) / static_cast<double>(brute.groups * subject.variants());
  EstimateOptions options = on(1);
  options.error = 1e-5;
  std::int64_t before = 0;
  for (double const seconds : {0.0, 30.0, 200.0}) {
    SCOPED_TRACE(seconds);
    config.budget.seconds = seconds;
    options.passed = ticking();
    auto const json = estimated(config, options);
    EXPECT_EQ(json["budget"], "seconds");
    std::int64_t const samples = json["counts"]["samples"];
    EXPECT_GT(samples, before);  // of no time at all something is known
    before = samples;
    auto const& share = json["success_rate"];
    EXPECT_LE(share["low"], exact);
    EXPECT_GE(share["high"], exact);
    EXPECT_GT(share["high"].get<double>() - share["low"].get<double>(), 2 * options.error);
  }
  config.budget.seconds = 1e9;
  options.error = 0.01;
  EXPECT_FALSE(estimated(config, options).contains("budget"));
}

TEST(Estimate, OfRowsThatTheClockEndsIsASample) {
  TemporaryFolder const folder;
  constexpr int kRows = 100'000;
  RunConfig config = small_config(folder, {}, kRows);
  EstimateOptions options = on(1);
  options.region.rows = true;
  auto const all = estimated(config, options);
  EXPECT_EQ(all["counts"]["samples"], kRows);
  config.budget.seconds = 0.0;
  options.passed = ticking();
  auto const some = estimated(config, options);
  EXPECT_EQ(some["budget"], "seconds");
  EXPECT_LT(some["counts"]["samples"], kRows);
  EXPECT_EQ(some["confidence"], options.confidence);
  for (char const* const score : {"causal_score", "success_rate", "group_score"}) {
    SCOPED_TRACE(score);
    EXPECT_LT(some[score]["low"], all[score]["share"]);
    EXPECT_GT(some[score]["high"], all[score]["share"]);
  }
}

TEST(Estimate, ShowsHowFarItIs) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {3, 4, 3, 4};
  shape.selected = {0};
  RunConfig const config = small_config(folder, shape);
  EstimateOptions options = on(2);
  options.samples = 100'000;
  options.trials = 3;
  options.search_above = 0.3;
  options.largest_set = 1;
  double clock = 0.0;
  options.passed = [&] { return clock += 1.0; };
  std::vector<EstimateProgress> shown;
  options.progress = [&](EstimateProgress const& progress) { shown.push_back(progress); };
  options.execution.threads = 1;
  estimate(config, options);
  ASSERT_GT(shown.size(), 4U);
  EXPECT_GT(shown.front().samples, 0);
  std::set<std::string> stages;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    stages.insert(shown[i].what);
    EXPECT_GE(shown[i].samples, i > 0 ? shown[i - 1].samples : 0);
    EXPECT_LE(shown[i].part, shown[i].parts);
  }
  EXPECT_EQ(stages, (std::set<std::string>{"", "trial", "set"}));
}

TEST(Estimate, SaysWhereACountIsCheaper) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});  // of 630 groups
  EstimateOptions options = on(1);
  options.enumeration = "fairlane enumerate x.yaml";
  auto const hints = notices_of(config, options);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(hints[0].find("630 groups"), std::string::npos) << hints[0];
  EXPECT_NE(hints[0].find(options.enumeration), std::string::npos) << hints[0];
  options.samples = 629;
  EXPECT_TRUE(notices_of(config, options).empty());
  options.samples = 630;
  EXPECT_EQ(notices_of(config, options).size(), 1U);
}

/// An estimate with an output directory, stopped again and again.
class EstimateSessions : public ::testing::Test {
 protected:
  EstimateSessions() {
    SmallShape shape;
    shape.ranges = {3, 4, 3, 40};
    shape.selected = {0};
    shape.overflows = true;  // the sampled input itself is drawn, too
    config_ = small_config(folder_, shape);
    options_ = on(1);
    options_.out = folder_.file("stopped");
    options_.samples = 150'000;
    options_.most_samples = 200'000;  // also of a set whose share lies at the bound
    options_.trials = 2;
    options_.search_above = 0.3;
    options_.largest_set = 2;
  }
  /// Without what only tells of time.
  static nlohmann::json result_in(std::string const& dir) {
    auto json = nlohmann::json::parse(slurp(dir + "/estimate.json"));
    json.erase("timing");
    return json;
  }
  /// Ends after so many looks at the clock; whether it was stopped.
  bool is_stopped_after(int looks, int threads) {
    std::atomic<bool> stop{false};
    std::atomic<int> look{0};
    EstimateOptions options = options_;
    options.execution.threads = threads;
    options.stop = &stop;
    options.now = [&] {
      if (++look >= looks) stop = true;
      return 0.0;
    };
    options.execution.checkpoint = 1e9;
    options.notice = [&](std::string const& line) { notices_ += line + "\n"; };
    try {
      estimate(config_, options);
      return false;
    } catch (Error const& error) {
      EXPECT_EQ(error.code(), ExitCode::kStopped) << error.what();
      EXPECT_NE(std::string(error.what()).find("state saved in " + options_.out), std::string::npos)
          << error.what();
      return true;
    }
  }

  TemporaryFolder const folder_;
  RunConfig config_;
  EstimateOptions options_;
  std::string notices_;
};

TEST_F(EstimateSessions, GoOnFromAnyMoment) {
  EstimateOptions whole = options_;
  whole.out = folder_.file("whole");
  std::string const text = estimate(config_, whole);
  EXPECT_EQ(text, slurp(whole.out + "/estimate.json"));
  for (bool const by_error : {false, true}) {
    if (by_error) {
      options_.samples.reset();
      options_.trials = 0;
      options_.error = 0.004;
      whole.samples.reset();
      whole.trials = 0;
      whole.error = options_.error;
      whole.overwrite = true;
      estimate(config_, whole);
    }
    for (int const looks : {2, 3, 5, 8}) {
      SCOPED_TRACE(looks);
      std::filesystem::remove_all(options_.out);
      notices_.clear();
      int stops = 0;
      while (is_stopped_after(looks, 1 + stops % 2)) ASSERT_LT(++stops, 200);
      EXPECT_GT(stops, 0);
      EXPECT_NE(notices_.find("goes on from the saved state"), std::string::npos);
      EXPECT_EQ(result_in(options_.out), result_in(whole.out));
      EXPECT_EQ(slurp(options_.out + "/manifest.json"), slurp(whole.out + "/manifest.json"));
    }
  }
}

TEST_F(EstimateSessions, SaveOnTheWay) {
  // Killed after a save on the way: what was sampled before is not sampled again.
  double clock = 0.0;
  EstimateOptions options = options_;
  options.execution.checkpoint = 2.0;
  struct Killed {};
  options.now = [&] { return clock += 1.0; };
  options.progress = [&](EstimateProgress const& progress) {
    if (progress.samples >= 120'000) throw Killed();
  };
  options.passed = ticking();
  EXPECT_THROW(estimate(config_, options), Killed);
  options.progress = {};
  options.notice = [&](std::string const& line) { notices_ += line + "\n"; };
  estimate(config_, options);
  EXPECT_NE(notices_.find("goes on from the saved state"), std::string::npos) << notices_;
  EstimateOptions whole = options_;
  whole.out = folder_.file("whole");
  estimate(config_, whole);
  EXPECT_EQ(result_in(options_.out), result_in(whole.out));
}

TEST_F(EstimateSessions, WithoutADirectoryLeaveNothing) {
  options_.out.clear();
  std::atomic<bool> stop{true};
  options_.stop = &stop;
  expect_error(ExitCode::kInterrupted, {"--out DIR"}, [&] { estimate(config_, options_); });
  EXPECT_FALSE(std::filesystem::exists(config_.output.dir));
}

}  // namespace
}  // namespace fairlane
