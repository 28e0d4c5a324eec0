// What XGBoost, LightGBM and scikit-learn themselves say about rows, see
// tests/models/trees/generate.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/trees/scorer.h"
#include "tests/checkout.h"
#include "tests/models/temporary.h"
#include "tests/models/trees/label_of.h"

namespace fairlane {
namespace {

std::filesystem::path folder() {
  return std::filesystem::path(source_dir()) / "tests/models/trees";
}

class TreeGolden : public testing::TestWithParam<std::string> {};

TEST_P(TreeGolden, TheLibrarysOwnLabelsAndScores) {
  std::string const name = GetParam();
  TreeScorer scorer(load_trees((folder() / name).string()), 1);
  auto const golden = nlohmann::json::parse(
      slurp(folder() / (std::filesystem::path(name).stem().string() + ".golden.json")));
  ASSERT_GE(golden.size(), 60U);
  auto const outputs = static_cast<std::size_t>(scorer.outputs());
  std::vector<float> rows;
  for (auto const& row : golden) {
    for (auto const& x : row.at("row")) rows.push_back(x.get<float>());
  }
  ASSERT_EQ(rows.size(), golden.size() * static_cast<std::size_t>(scorer.inputs()));
  std::vector<float> scores(golden.size() * outputs);
  scorer.score(rows.data(), golden.size(), scores.data());
  std::vector<int> seen(8, 0);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    auto expected = golden[i].at("scores").get<std::vector<double>>();
    if (scorer.kind() == ScoreKind::kProbabilities && expected.size() == 2)
      expected.erase(expected.begin());
    ASSERT_EQ(expected.size(), outputs);
    for (std::size_t k = 0; k < outputs; ++k) {
      EXPECT_EQ(scores[i * outputs + k], static_cast<float>(expected[k]))
          << "row " << golden[i].dump();
    }
    int const label = golden[i].at("label").get<int>();
    EXPECT_EQ(label_of(scorer, scores.data() + i * outputs), label) << "row " << golden[i].dump();
    ++seen[static_cast<std::size_t>(label)];
  }
  EXPECT_GE(std::count_if(seen.begin(), seen.end(), [](int count) { return count > 0; }), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Libraries, TreeGolden,
    testing::Values("xgboost_logistic.json", "xgboost_logitraw.json", "xgboost_softprob.json",
                    "xgboost_softmax.json", "xgboost_dart.json", "xgboost_forest.json",
                    "xgboost_partition.json", "xgboost_onehot.json", "xgboost_softprob.ubj",
                    "xgboost_onehot.ubj", "xgboost_partition.ubj", "xgboost_dart.ubj",
                    "lightgbm_binary.txt", "lightgbm_multiclass.txt", "lightgbm_ova.txt",
                    "lightgbm_categories.txt", "lightgbm_zero.txt", "lightgbm_forest.txt",
                    "sklearn_tree.json", "sklearn_forest.json", "sklearn_extra.json",
                    "sklearn_boosting.json", "sklearn_boosting3.json", "sklearn_hist.json",
                    "sklearn_hist3.json"),
    [](auto const& test) {
      std::string name = test.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace fairlane
