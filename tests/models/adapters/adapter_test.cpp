// models/adapters/fairlane_adapter.py and the examples beside it.
#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

#include "engine/check/double_evaluator.h"
#include "models/model.h"
#include "models/network_file.h"
#include "tests/benchmarks.h"
#include "tests/checkout.h"
#include "tests/models/exec/exec_test.h"
#include "tests/python_module.h"

namespace fairlane {
namespace {

class AdapterTest : public ExecScorerTest {};

/// The adapter with an argument that is quoted.
std::string adapter_of(std::string const& model) {
  return model_python() + source_file("models/adapters/fairlane_adapter.py") + " " + model;
}

std::string adapter(std::string const& function) {
  return adapter_of(source_file("tests/models/exec/numpy_model.py:" + function));
}

TEST_F(AdapterTest, AnswersForAFunction) {
  FL_NEED_MODULE("numpy");
  auto const scorer = make_exec_scorer(adapter("exact"), kInputs, options(2, 3000));
  EXPECT_EQ(scorer->kind(), ScoreKind::kLogits);
  auto const rows = some_rows(20'000);
  auto const scores = scores_of(*scorer, rows);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    float expected = -300.0F;
    for (std::size_t a = 0; a < kInputs; ++a)
      expected += static_cast<float>(a + 1) * rows[i * kInputs + a];
    ASSERT_EQ(scores[i], expected) << i;
  }
}

TEST_F(AdapterTest, GivesEqualRowsEqualScores) {
  FL_NEED_MODULE("numpy");
  auto const rows = some_rows(20'000);
  std::vector<float> expected;
  for (auto const& [children, batch_rows] : {std::pair{1, 8192}, {3, 1001}, {2, 65}, {1, 20'000}}) {
    auto const scorer = make_exec_scorer(adapter("network"), kInputs,
                                         options(children, static_cast<std::size_t>(batch_rows)));
    auto const scores = scores_of(*scorer, rows);
    if (expected.empty()) expected = scores;
    EXPECT_TRUE(scores == expected) << children << " x " << batch_rows;
    auto const copies = std::vector<float>(expected.size(), expected[4]);
    std::vector<float> same;
    for (std::size_t i = 0; i < expected.size(); ++i)
      same.insert(same.end(), rows.begin() + 4 * kInputs, rows.begin() + 5 * kInputs);
    EXPECT_TRUE(scores_of(*scorer, same) == copies) << "the place in a batch matters";
    for (std::size_t i = 0; i < 3; ++i) {  // one by one
      float score = 0.0F;
      scorer->score(rows.data() + i * kInputs, 1, &score);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(score), std::bit_cast<std::uint32_t>(expected[i]));
    }
  }
}

TEST_F(AdapterTest, AsksForFewerRowsWhereTheirPlaceMatters) {
  FL_NEED_MODULE("numpy");
  auto const rows = some_rows(5000);
  auto const whole = make_exec_scorer(adapter("placed"), kInputs, options(1, 5000));
  auto const scores = scores_of(*whole, rows);
  auto const parts = make_exec_scorer(adapter("placed"), kInputs, options(2, 77));
  EXPECT_TRUE(scores_of(*parts, rows) == scores);
}

TEST_F(AdapterTest, RunsTheExample) {
  FL_NEED_MODULE("numpy");
  ExecOptions here = options();
  here.folder = source_dir() + "/models/adapters";
  auto const scorer =
      make_exec_scorer(model_python() + "fairlane_adapter.py example_rule.py:approve", 9, here);
  EXPECT_EQ(scorer->kind(), ScoreKind::kLabels);
  // A woman and a man, both with a degree, in technical work, and 17 points.
  EXPECT_EQ(scores_of(*scorer, {2, 4, 3, 0, 1, 0, 0, 1, 4, 2, 4, 3, 0, 1, 0, 1, 1, 4}),
            (std::vector<float>{1, 0, 0, 1}));
}

TEST_F(AdapterTest, ADomainFileTurnsCodesIntoNamedCategories) {
  FL_NEED_MODULE("numpy");
  FL_NEED_MODULE("pandas");
  FL_NEED_MODULE("yaml");
  TemporaryFolder const folder;
  std::string const domain = folder.file("people.domain.yaml");
  std::ofstream(domain) << "label: class\n"
                           "attributes:\n"
                           "  - {name: age, low: 20, high: 60}\n"
                           "  - {name: job, categories: [\"no\", clerk, nurse]}\n"
                           "  - {name: zone, values: [4, 7, 9], categories: [a, b, c]}\n"
                           "  - {name: 'home town', low: 2, categories: ['1', 'x y']}\n";
  auto const scorer =
      make_exec_scorer(adapter("frame") + " --domain '" + domain + "'", 4, options(1, 3000));
  // age, job, zone and town; the last row lies beyond its categories.
  EXPECT_EQ(scores_of(*scorer, {33, 0, 4, 2, 34, 1, 7, 3, 35, 2, 9, 2, 36, 3, 10, 4}),
            (std::vector<float>{33 + 100 + 1000 + 10000, 34 + 200 + 2000 + 20000,
                                35 + 300 + 3000 + 10000, 36 + 300 + 3000 + 20000}));
  std::ofstream(domain) << "attributes:\n  - {name: age, encoding: {affine: {mean: 1, std: 2}}}\n";
  auto const encoded =
      make_exec_scorer(adapter("frame") + " --domain '" + domain + "'", 1, options(1, 3000));
  float score = 0.0F;
  float const row = 3.0F;
  expect_error(ExitCode::kStopped, {"age has an encoding"},
               [&] { encoded->score(&row, 1, &score); });
}

TEST_F(AdapterTest, ANetworkInNumpyDecidesAsOurs) {
  FL_NEED_MODULE("h5py");
  FL_NEED_BENCHMARKS(dir);
  constexpr double kUndecided = 1e-4;  // logits of float32 that nothing need agree on
  auto const path = (dir / "models" / "census.h5").string();
  Network const network = load_network(path);
  auto const scorer = make_exec_scorer(
      model_python() + source_file("models/adapters/example_keras.py") + " '" + path + "'",
      network.inputs(), options(2));
  auto const rows = some_rows(50'000, network.inputs());
  auto const scores = scores_of(*scorer, rows);
  DoubleEvaluator evaluator(network);
  std::vector<std::int32_t> row(static_cast<std::size_t>(network.inputs()));
  int greater = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * row.size()), row.size(),
                row.begin());
    evaluator.evaluate(row.data());
    double const logit = evaluator.logits().front();
    greater += logit > 0 ? 1 : 0;
    if (std::abs(logit) > kUndecided) {
      ASSERT_EQ(scores[i] > 0, logit > 0) << i << ": " << scores[i] << " " << logit;
    }
  }
  EXPECT_GT(greater, 0);
  EXPECT_LT(greater, 50'000);
}

TEST_F(AdapterTest, QuotesWhatFails) {
  FL_NEED_MODULE("numpy");
  expect_unavailable(adapter("fails"),
                     {"exited with status 1", "ValueError: cannot take 13 inputs"});
  expect_unavailable(adapter("too_few"), {"ValueError: predict returned (1,) for 2048 rows"});
  expect_unavailable(adapter("nothing"), {"has no attribute 'nothing'"});
  expect_unavailable(adapter_of("model.onnx"),
                     {"model.onnx: expected FILE.py:FUNCTION or one of .joblib"});
}

std::vector<float> floats_in(std::string const& path) {
  std::string const bytes = slurp(path);
  std::vector<float> all(bytes.size() / sizeof(float));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
  return all;
}

/// A library that the adapter knows, and a file of its that is refused, with words of the message.
struct Library {
  char const* name;
  char const* refused;
  char const* why;
};

class LibraryTest : public AdapterTest, public testing::WithParamInterface<Library> {};

TEST_P(LibraryTest, SaysWhatTheLibrarySays) {
  constexpr float kTolerance = 1e-5F;  // of sums of float32 whose order depends on the rows' number
  constexpr int kMissing = 77 << 8;    // as std::system gives it
  constexpr int kFewInputs = 4;
  Library const& library = GetParam();
  int const status =
      std::system((model_python() + source_file("tests/models/exec/make_models.py") + " " +
                   library.name + " '" + folder_.file("") + "' 2>'" + folder_.file("log") + "'")
                      .c_str());
  if (status == kMissing) GTEST_SKIP() << model_python() << ": " << slurp(folder_.file("log"));
  ASSERT_EQ(status, 0) << slurp(folder_.file("log"));
  auto const rows = floats_in(folder_.file("rows"));
  std::istringstream models(slurp(folder_.file("models")));
  std::string file;
  std::string kind;
  int outputs = 0;
  int count = 0;
  for (; models >> file >> kind >> outputs; ++count) {
    SCOPED_TRACE(file);
    auto const scorer =
        make_exec_scorer(adapter_of("'" + folder_.file(file) + "'"), kFewInputs, options());
    EXPECT_EQ(name_of(scorer->kind()), kind);
    ASSERT_EQ(scorer->outputs(), outputs);
    auto const scores = scores_of(*scorer, rows);
    auto const expected = floats_in(folder_.file(file + ".scores"));
    if (kind == "labels") {
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(scores[2 * i + 1], expected[i]) << i;
      continue;
    }
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
      ASSERT_NEAR(scores[i], expected[i], kTolerance) << i;
  }
  EXPECT_GE(count, 4);
  if (library.refused != nullptr) {
    expect_unavailable(adapter_of("'" + folder_.file(library.refused) + "'"), {library.why});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Adapter, LibraryTest,
    testing::Values(Library{"sklearn", nullptr, nullptr}, Library{"xgboost", nullptr, nullptr},
                    Library{"keras", nullptr, nullptr},
                    Library{"torch", "state.pt", "holds OrderedDict, expected a module"}),
    [](auto const& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace fairlane
