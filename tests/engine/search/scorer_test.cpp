// Whole runs on models of which nothing is known but their scores: the same files as for the
// network behind them, whatever fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/check/check.h"
#include "engine/count/enumerate.h"
#include "engine/count/estimate.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ScorerRun : public ::testing::Test {
 protected:
  void prepare(SmallShape const& shape, char const* method) {
    config_ = small_config(folder_, shape);
    config_.method = method;
    config_.global.num = 20;
    config_.local.num = 6;
    config_.output.trace = true;
    network_ = std::make_unique<TestSubject>(config_);
  }
  RunConfig to_dir(char const* name) const { return to(config_, folder_.file(name)); }
  RunOptions with_scorer(ScoreKind kind, ScorerFaults faults = {}) const {
    RunOptions options = options_with(1);
    options.execution.batch = 8;
    options.execution.model = disguised(network_->view(), kind, std::move(faults));
    return options;
  }
  nlohmann::json summary(char const* name) const { return without_timing(folder_.file(name)); }

  TemporaryFolder const folder_;
  RunConfig config_;
  std::unique_ptr<TestSubject> network_;
};

TEST_F(ScorerRun, WritesWhatTheNetworksRunWrites) {
  for (char const* kind : {"one output", "several outputs"}) {
    for (char const* method : {"themis", "maft", "grft"}) {
      SCOPED_TRACE(std::string(kind) + ", " + method);
      prepare(shape_of(kind), method);
      for (char const* name : {"network", "scorer"}) fs::remove_all(folder_.file(name));
      run(to_dir("network"), options_with(2));
      run(to_dir("scorer"), with_scorer(ScoreKind::kLogits));
      EXPECT_EQ(slurp(folder_.file("network") + "/instances.csv"),
                slurp(folder_.file("scorer") + "/instances.csv"));
      EXPECT_EQ(slurp(folder_.file("network") + "/global.csv"),
                slurp(folder_.file("scorer") + "/global.csv"));
      auto found = summary("scorer");
      EXPECT_EQ(found.at("scores"), "logits");
      found.erase("scores");
      EXPECT_EQ(found, summary("network"));
      EXPECT_GT(found.at("counts").at("unique_instances"), 0);
    }
  }
}

TEST_F(ScorerRun, SaysWhereThereAreOnlyLabels) {
  prepare({}, "maft");
  RunOptions options = with_scorer(ScoreKind::kLabels);
  std::vector<std::string> notices;
  options.notice = [&](std::string const& line) { notices.push_back(line); };
  run(config_, options);
  EXPECT_THAT(notices, ::testing::Contains(HasSubstr("the model gives labels only")));
  auto const found = without_timing(config_.output.dir);
  EXPECT_EQ(found.at("scores"), "labels");
  EXPECT_EQ(found.at("severity").at("max"), 1.0);
  EXPECT_THAT(slurp(config_.output.dir + "/manifest.json"), HasSubstr("\"scores\": \"labels\""));
  CheckResult const checked = check_directory(config_.output.dir, options.execution.model);
  EXPECT_EQ(checked.confirmed, found.at("counts").at("unique_instances"));
}

TEST_F(ScorerRun, IsCheckedByAskingAnew) {
  for (char const* method : {"maft", "margin", "margin-walk"}) {
    for (ScoreKind const kind :
         {ScoreKind::kLogits, ScoreKind::kProbabilities, ScoreKind::kLabels}) {
      for (char const* outputs : {"one output", "several outputs", "many variants"}) {
        SCOPED_TRACE(std::string(method) + ", " + name_of(kind) + ", " + outputs);
        prepare(shape_of(outputs), method);
        config_.local.num = 20;
        fs::remove_all(config_.output.dir);
        ScorerFaults faults;
        faults.undefined = 9;
        run(config_, with_scorer(kind, faults));
        auto const count = without_timing(config_.output.dir).at("counts").at("unique_instances");
        EXPECT_GT(count, 0);
        CheckResult const good =
            check_directory(config_.output.dir, disguised(network_->view(), kind, faults));
        EXPECT_EQ(good.confirmed, count);
        EXPECT_EQ(good.failed, 0) << good.failures.at(0);
        EXPECT_EQ(good.marginal, 0);
        // Another model, whose undefined rows are others, does not confirm all.
        faults.undefined = 7;
        CheckResult const bad =
            check_directory(config_.output.dir, disguised(network_->view(), kind, faults));
        EXPECT_GT(bad.failed, 0);
        EXPECT_EQ(bad.failed + bad.confirmed, count);
      }
    }
  }
}

// Whichever call a model fails at, the search goes on where it was, or nothing is there.
class ScorerFailure : public ScorerRun, public ::testing::WithParamInterface<char const*> {};

TEST_P(ScorerFailure, GoesOnAfterItAtAnyCall) {
  prepare({}, GetParam());
  config_.global.num = 6;
  config_.local.num = 3;
  ScorerFaults counted;
  counted.calls = std::make_shared<std::int64_t>(0);
  run(to_dir("whole"), with_scorer(ScoreKind::kProbabilities, counted));
  std::int64_t const calls = *counted.calls;
  ASSERT_GT(calls, 10);
  int resumed = 0;
  for (std::int64_t at = 0; at < calls; ++at) {
    SCOPED_TRACE(at);
    ScorerFaults faults;
    faults.failing_call = at;
    expect_error(ExitCode::kStopped,
                 {"a network in disguise has died", "state", "the same command goes on"},
                 [&] { run(config_, with_scorer(ScoreKind::kProbabilities, faults)); });
    EXPECT_FALSE(fs::exists(config_.output.dir + "/instances.csv"));
    EXPECT_FALSE(fs::exists(config_.output.dir + "/DONE"));
    ScorerFaults rest;
    rest.calls = std::make_shared<std::int64_t>(0);
    run(config_, with_scorer(ScoreKind::kProbabilities, rest));
    expect_same_output(folder_.file("whole"), config_.output.dir);
    EXPECT_FALSE(fs::exists(config_.output.dir + "/.partial"));
    resumed += *rest.calls < calls ? 1 : 0;
    fs::remove_all(config_.output.dir);
  }
  EXPECT_GT(resumed, 0);
}

INSTANTIATE_TEST_SUITE_P(Methods, ScorerFailure, ::testing::Values("maft", "margin"));

TEST_F(ScorerRun, NothingIsLeftWhereNothingCanBeSaved) {
  prepare({}, "themis");
  ScorerFaults counted;
  counted.calls = std::make_shared<std::int64_t>(0);
  run(to_dir("whole"), with_scorer(ScoreKind::kLogits, counted));
  for (std::int64_t at = 0; at < *counted.calls; ++at) {
    ScorerFaults faults;
    faults.failing_call = at;
    expect_error(ExitCode::kUnavailable, {"a network in disguise has died"},
                 [&] { run(config_, with_scorer(ScoreKind::kLogits, faults)); });
    EXPECT_FALSE(fs::exists(config_.output.dir));
  }
}

TEST_F(ScorerRun, IsEnumeratedAndEstimated) {
  for (char const* kind : {"one output", "several outputs"}) {
    SCOPED_TRACE(kind);
    prepare(shape_of(kind), "maft");
    std::vector<nlohmann::json> counted;
    std::vector<nlohmann::json> estimated;
    std::vector<std::string> instances;
    std::vector<ModelOptions> const ways = {{},
                                            disguised(network_->view(), ScoreKind::kLogits),
                                            disguised(network_->view(), ScoreKind::kProbabilities)};
    for (ModelOptions const& way : ways) {
      EnumerateOptions walk;
      walk.execution.threads = 2;
      walk.execution.model = way;
      walk.instances.all = true;
      walk.overwrite = true;
      enumerate(config_, walk);
      counted.push_back(without_timing(config_.output.dir));
      counted.back().erase("scores");
      instances.push_back(slurp(config_.output.dir + "/instances.csv"));
      EXPECT_EQ(check_directory(config_.output.dir, way).failed, 0);
      EstimateOptions sample;
      sample.execution.threads = 2;
      sample.execution.model = way;
      sample.samples = 400;
      sample.search_above = 0.1;
      auto json = nlohmann::json::parse(estimate(config_, sample));
      json.erase("timing");
      json.erase("scores");
      estimated.push_back(std::move(json));
    }
    for (std::size_t i = 1; i < ways.size(); ++i) {
      EXPECT_EQ(counted[i], counted[0]);
      EXPECT_EQ(instances[i], instances[0]);
      EXPECT_EQ(estimated[i], estimated[0]);
    }
  }
}

TEST_F(ScorerRun, AWalkGoesOnAfterAFailureAtAnyCall) {
  prepare({}, "maft");
  auto const walk = [&](ScorerFaults faults) {
    EnumerateOptions options;
    options.execution.threads = 1;
    options.execution.model = disguised(network_->view(), ScoreKind::kLogits, std::move(faults));
    enumerate(config_, options);
  };
  ScorerFaults counted;
  counted.calls = std::make_shared<std::int64_t>(0);
  walk(counted);
  auto const whole = without_timing(config_.output.dir);
  std::string const values = slurp(config_.output.dir + "/values.csv");
  ASSERT_GT(*counted.calls, 0);
  for (std::int64_t at = 0; at < *counted.calls; ++at) {
    SCOPED_TRACE(at);
    fs::remove_all(config_.output.dir);
    ScorerFaults faults;
    faults.failing_call = at;
    expect_error(ExitCode::kStopped, {"a network in disguise has died", "state is saved"},
                 [&] { walk(faults); });
    EXPECT_FALSE(fs::exists(config_.output.dir + "/values.csv"));
    walk({});
    EXPECT_EQ(without_timing(config_.output.dir), whole);
    EXPECT_EQ(slurp(config_.output.dir + "/values.csv"), values);
  }
}

TEST_F(ScorerRun, GradientsAndFastArithmeticAreNotForIt) {
  for (char const* method : {"eidig", "adf"}) {
    prepare({}, method);
    expect_error(ExitCode::kConfig, {method, "gradients", "a network in disguise", "maft"},
                 [&] { run(config_, with_scorer(ScoreKind::kLogits)); });
    EXPECT_FALSE(fs::exists(config_.output.dir));
  }
  prepare({}, "maft");
  config_.arithmetic = Arithmetic::kFast;
  RunOptions options = with_scorer(ScoreKind::kLogits);
  std::vector<std::string> notices;
  options.notice = [&](std::string const& line) { notices.push_back(line); };
  run(config_, options);
  EXPECT_THAT(notices, ::testing::Contains(HasSubstr("fast has no meaning")));
}

TEST_F(ScorerRun, RefusesWhatIsNoProbability) {
  class Wrong final : public Scorer {
   public:
    std::string name() const override { return "wrong"; }
    int inputs() const override { return 6; }
    int outputs() const override { return 1; }
    ScoreKind kind() const override { return ScoreKind::kProbabilities; }
    void score(float const*, std::size_t count, float* scores) override {
      std::fill_n(scores, count, 1.5F);
    }
  };
  prepare({}, "themis");
  RunOptions options = with_scorer(ScoreKind::kProbabilities);
  options.execution.model.make = [] { return std::make_shared<Wrong>(); };
  expect_error(ExitCode::kData, {"wrong", "1.5", "between 0 and 1"},
               [&] { run(config_, options); });
}

}  // namespace
}  // namespace fairlane
