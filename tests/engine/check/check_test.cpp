#include "engine/check/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/check/double_evaluator.h"
#include "engine/results/run.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

// The bound must hold for the lane core's logits, and mean something: within a factor of the
// error's usual size.
void check_bound(SmallShape const& shape, double weight_scale) {
  SmallSubject subject(shape);
  for (auto& layer : subject.network.layers) {
    for (float& w : layer.weights) w *= static_cast<float>(weight_scale);
  }
  auto const backend = make_cpu_backend(subject.view, {});
  std::mt19937 random(shape.seed);
  int const outputs = subject.network.outputs();
  std::vector<float> lanes(static_cast<std::size_t>(outputs));
  std::vector<double> logits;
  std::vector<double> bound;
  double largest = 0.0;
  for (int i = 0; i < 500; ++i) {
    auto const row = subject.random_row(random);
    backend->logits(row.data(), 1, lanes.data());
    evaluate_double(subject.network, row.data(), logits, bound);
    ASSERT_EQ(logits.size(), lanes.size());
    for (std::size_t c = 0; c < lanes.size(); ++c) {
      double const error = std::abs(static_cast<double>(lanes[c]) - logits[c]);
      EXPECT_LE(error, bound[c]) << "row " << i;
      largest = std::max(largest, error / bound[c]);
    }
  }
  EXPECT_GT(largest, 1.0e-4) << "the bound is far too wide";
}

TEST(EvaluateDouble, BoundsTheErrorOfFloat) {
  for (Activation const activation :
       {Activation::kRelu, Activation::kLeakyRelu, Activation::kElu, Activation::kTanh,
        Activation::kSigmoid, Activation::kLinear, Activation::kSilu, Activation::kGelu,
        Activation::kGeluTanh}) {
    SmallShape shape;
    shape.activation = activation;
    for (auto const& widths :
         {std::vector<int>{1}, std::vector<int>{8, 6, 1}, std::vector<int>{16, 16, 16, 3}}) {
      shape.widths = widths;
      for (double const scale : {0.2, 1.0, 3.0}) {
        SCOPED_TRACE(testing::Message() << "activation " << static_cast<int>(activation) << ", "
                                        << widths.size() << " layers, scale " << scale);
        check_bound(shape, scale);
      }
    }
  }
}

TEST(EvaluateDouble, BoundsWhatFloatTakesForZero) {
  SmallShape shape;
  shape.widths = {1, 1};
  shape.activation = Activation::kSigmoid;
  SmallSubject subject(shape);
  for (float& w : subject.network.layers[0].weights) w = 0.0F;
  subject.network.layers[0].bias[0] = -88.75F;
  subject.network.layers[1].weights[0] = 1.0e38F;
  subject.network.layers[1].bias[0] = 0.0F;
  auto const backend = make_cpu_backend(subject.view, {});
  std::vector<std::int32_t> const row(subject.view.low.begin(), subject.view.low.end());
  float lane = 1.0F;
  backend->logits(row.data(), 1, &lane);
  std::vector<double> logits;
  std::vector<double> bound;
  evaluate_double(subject.network, row.data(), logits, bound);
  EXPECT_EQ(lane, 0.0F);
  EXPECT_GT(logits[0], 0.2);
  EXPECT_LE(logits[0], bound[0]);
}

TEST(EvaluateDouble, IsUnboundedWhereFloatOverflows) {
  SmallShape shape;
  shape.widths = {2, 2, 1};
  Network network = random_network(shape);
  for (auto& layer : network.layers) {
    for (float& w : layer.weights) w = 1.0e20F;
  }
  std::vector<double> logits;
  std::vector<double> bound;
  std::vector<std::int32_t> const row(6, 1);
  evaluate_double(network, row.data(), logits, bound);
  EXPECT_TRUE(std::isinf(bound[0]));
}

class CheckDirectory : public testing::Test {
 protected:
  void SetUp() override { finish_run({}); }
  void finish_run(SmallShape const& shape) {
    config = small_config(folder, shape);
    RunOptions options;
    options.execution.threads = 1;
    options.overwrite = true;
    run(config, options);
    csv = slurp(config.output.dir + "/instances.csv");
  }
  void rewrite(std::string const& file, std::string const& text) {
    folder.write("out/" + file, text);
  }
  /// Where the cell of a line begins (both from 0; line 0 is the header).
  std::size_t place_of(std::size_t line, std::size_t column) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < line; ++i) at = csv.find('\n', at) + 1;
    for (std::size_t i = 0; i < column; ++i) at = csv.find(',', at) + 1;
    return at;
  }
  std::string with_cell(std::size_t line, std::size_t column, std::string const& cell) const {
    std::size_t const at = place_of(line, column);
    return csv.substr(0, at) + cell + csv.substr(csv.find_first_of(",\n", at));
  }
  std::string cell(std::size_t line, std::size_t column) const {
    std::size_t const at = place_of(line, column);
    return csv.substr(at, csv.find_first_of(",\n", at) - at);
  }
  CheckResult expect_confirmed() const {
    CheckResult const result = check_directory(config.output.dir);
    EXPECT_EQ(result.failed, 0) << (result.failures.empty() ? "" : result.failures[0]);
    EXPECT_GT(result.confirmed, 0);
    return result;
  }
  void expect_refused(ExitCode code, std::string const& what) const {
    expect_error(code, {what}, [this] { check_directory(config.output.dir); });
  }
  /// With these instances.
  void expect_failure(std::string const& instances, std::string const& place,
                      std::string const& what) {
    rewrite("instances.csv", instances);
    CheckResult const result = check_directory(config.output.dir);
    EXPECT_GT(result.failed, 0) << what;
    ASSERT_FALSE(result.failures.empty());
    EXPECT_NE(result.failures[0].find(place), std::string::npos) << result.failures[0];
    EXPECT_NE(result.failures[0].find(what), std::string::npos) << result.failures[0];
  }
  TemporaryFolder folder;
  RunConfig config;
  std::string csv;
};

// Columns of the small subject: a0..a5, pair_a0, pair_a4, then these.
constexpr std::size_t kPair = 6;
constexpr std::size_t kLabel = 8;
constexpr std::size_t kPairLabel = 9;
constexpr std::size_t kScore = 10;
constexpr std::size_t kPhase = 12;
constexpr std::size_t kSeed = 13;

TEST_F(CheckDirectory, ConfirmsAnHonestRun) {
  CheckResult const result = expect_confirmed();
  EXPECT_EQ(result.confirmed + result.marginal, result.instances);
}

TEST_F(CheckDirectory, ConfirmsSeveralClasses) {
  SmallShape shape;
  shape.widths = {8, 4};
  finish_run(shape);
  expect_confirmed();
}

TEST_F(CheckDirectory, NoticesADamagedCell) {
  std::string const other_label = cell(3, kLabel) == "0" ? "1" : "0";
  struct Damage {
    std::size_t column;
    std::string cell;
    std::string said;
  };
  for (Damage const& damage : std::vector<Damage>{{kLabel, other_label, "label"},
                                                  {kPairLabel, "7", "label 7"},
                                                  {kScore, "0.123", "score is 0.123"},
                                                  {kScore, "nan", "score is nan"},
                                                  {3, "99", ""},
                                                  {kPair, "17", "not among the compared"},
                                                  {kPhase, "both", "phase"},
                                                  {kSeed, "01", "no integer"},
                                                  {0, "", "no integer"}}) {
    SCOPED_TRACE(damage.cell);
    expect_failure(with_cell(3, damage.column, damage.cell), "instances.csv:4", damage.said);
  }
  expect_failure(with_cell(3, kSeed, cell(3, kSeed) + "1"), "summary.json", "signature");
}

TEST_F(CheckDirectory, NoticesDamagedLines) {
  std::size_t const second = place_of(1, 0);
  std::size_t const third = place_of(2, 0);
  std::size_t const fourth = place_of(3, 0);
  expect_failure(csv.substr(0, csv.size() - 1), "instances.csv", "no end");
  expect_failure(csv.substr(0, third) + csv.substr(second), "instances.csv:3", "twice");
  expect_failure(csv.substr(0, second) + csv.substr(third, fourth - third) +
                     csv.substr(second, third - second) + csv.substr(fourth),
                 "instances.csv:3", "out of order");
  expect_failure(csv.substr(0, second) + csv.substr(third), "summary.json", "unique_instances");
}

TEST_F(CheckDirectory, TellsThatThePairIsNotTheFirst) {
  // Give some instance a later member of its similar set with the pair's label, if it has one.
  TestSubject const subject(config);
  auto const backend = make_cpu_backend(subject.view(), {});
  std::size_t const lines = static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n'));
  for (std::size_t line = 1; line < lines; ++line) {
    std::vector<std::int32_t> row;
    for (std::size_t a = 0; a < 6; ++a) row.push_back(std::stoi(cell(line, a)));
    auto member = row;
    member[0] = subject.view().high[0];
    member[4] = subject.view().high[4];
    Description description;
    backend->describe(member.data(), 1, &description);
    bool const is_later = cell(line, kPair) != std::to_string(member[0]);
    if (!is_later || std::to_string(description.label) != cell(line, kPairLabel)) continue;
    csv = with_cell(line, kPair, std::to_string(member[0]));
    csv = with_cell(line, kPair + 1, std::to_string(member[4]));
    expect_failure(csv, "instances.csv:" + std::to_string(line + 1), "not the first");
    return;
  }
  GTEST_SKIP() << "no instance has two members with another label";
}

TEST_F(CheckDirectory, NoticesChangedInputsAndUnfinishedRuns) {
  std::string const model = slurp(config.model);
  folder.write("model.safetensors", model + " ");
  expect_refused(ExitCode::kIntegrity, "model.safetensors: has SHA-256");
  folder.write("model.safetensors", model);
  std::string const summary = slurp(config.output.dir + "/summary.json");
  rewrite("summary.json", "{}");
  expect_refused(ExitCode::kData, "summary.json");
  rewrite("summary.json", summary);
  rewrite("instances.csv", "x\n");
  expect_refused(ExitCode::kData, "instances.csv:1");
  std::filesystem::remove(config.output.dir + "/DONE");
  expect_refused(ExitCode::kOutput, "DONE");
  expect_error(ExitCode::kNoInput, {"nowhere"}, [&] { check_directory(folder.file("nowhere")); });
}

}  // namespace
}  // namespace fairlane
