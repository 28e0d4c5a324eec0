#include "models/trees/scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/models/expect_error.h"
#include "tests/models/trees/label_of.h"
#include "tests/models/trees/random_ensemble.h"

namespace fairlane {
namespace {

constexpr unsigned kSeed = 71;

template <class Real>
void add_naive(TreeEnsemble const& trees, std::int32_t at, float const* row, Real* sums) {
  auto const node = static_cast<std::size_t>(at);
  if (at < 0) {
    for (int i = 0; i < trees.width; ++i) {
      sums[i] += static_cast<Real>(trees.leaves[static_cast<std::size_t>(~at * trees.width + i)]);
    }
  } else {
    bool const goes_left = row[trees.feature[node]] <= trees.threshold[node];
    add_naive(trees, goes_left ? trees.left[node] : trees.right[node], row, sums);
  }
}

// Sums of a row, and the label that they give.
template <class Real>
std::vector<Real> naive_sums(TreeEnsemble const& trees, float const* row) {
  std::vector<Real> sums(trees.base.begin(), trees.base.end());
  for (std::size_t t = 0; t < trees.roots.size(); ++t) {
    add_naive(trees, trees.roots[t], row, sums.data() + trees.first_sum[t]);
  }
  for (Real& sum : sums) sum /= static_cast<Real>(trees.divisor);
  return sums;
}

std::vector<float> random_rows(std::mt19937& random, int inputs, std::size_t count) {
  std::vector<float> rows(count * static_cast<std::size_t>(inputs));
  for (float& x : rows) {
    x = static_cast<float>(static_cast<int>(random() % 18) - 6) +
        (random() % 5 == 0 ? 8998.0F : 0.0F);
    if (random() % 9 == 0) x += 0.25F;  // not only integers
  }
  return rows;
}

template <class Real>
void expect_naive(TreeEnsemble const& trees, std::mt19937& random, std::size_t count, int threads) {
  TreeScorer scorer(trees, threads);
  auto const rows = random_rows(random, trees.inputs, count);
  auto const outputs = static_cast<std::size_t>(scorer.outputs());
  std::vector<float> scores(count * outputs);
  scorer.score(rows.data(), count, scores.data());
  for (std::size_t i = 0; i < count; ++i) {
    auto const sums =
        naive_sums<Real>(trees, rows.data() + i * static_cast<std::size_t>(trees.inputs));
    int const best = static_cast<int>(std::max_element(sums.begin(), sums.end()) - sums.begin());
    int const label =
        sums.size() == 1 ? static_cast<double>(sums[0]) > trees.decision_threshold : best;
    ASSERT_EQ(label_of(scorer, scores.data() + i * outputs), label) << "row " << i;
    for (std::size_t k = 0; k < outputs; ++k) {
      auto const rounded = static_cast<float>(sums[outputs == 1 ? sums.size() - 1 : k]);
      float const score = scores[i * outputs + k];
      ASSERT_TRUE(score == rounded || score == std::nextafter(rounded, score))
          << score << " for " << rounded;
    }
  }
}

TEST(TreeScorer, EqualsANaiveWalk) {
  for (unsigned i = 0; i < 60; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + i));
    std::mt19937 random(kSeed + i);
    std::size_t const count = 1 + random() % 700;
    bool const in_double = i % 2 == 0;
    TreeEnsemble const trees = random_ensemble(random, in_double);
    if (in_double) {
      expect_naive<double>(trees, random, count, 1);
    } else {
      expect_naive<float>(trees, random, count, 1);
    }
  }
}

TEST(TreeScorer, SameBitsWhateverTheBatchAndTheThreads) {
  std::mt19937 random(kSeed);
  TreeEnsemble trees;
  trees = random_ensemble(random, true);
  while (trees.roots.size() < 6) trees = random_ensemble(random, true);
  constexpr std::size_t kCount = 20'000;  // enough for several threads
  auto const rows = random_rows(random, trees.inputs, kCount);
  auto const inputs = static_cast<std::size_t>(trees.inputs);
  auto const outputs = static_cast<std::size_t>(trees.outputs());
  std::vector<float> whole(kCount * outputs);
  TreeScorer one(trees, 1);
  one.score(rows.data(), kCount, whole.data());
  std::vector<float> scores(kCount * outputs);
  TreeScorer(trees, 3).score(rows.data(), kCount, scores.data());
  EXPECT_EQ(std::memcmp(whole.data(), scores.data(), scores.size() * sizeof(float)), 0);
  // Few rows are walked one by one.
  auto const next_step = [&] { return 1 + random() % (random() % 4 == 0 ? 900 : 12); };
  for (std::size_t first = 0, step = 1; first < kCount; first += step, step = next_step()) {
    one.score(rows.data() + first * inputs, std::min(step, kCount - first),
              scores.data() + first * outputs);
  }
  EXPECT_EQ(std::memcmp(whole.data(), scores.data(), scores.size() * sizeof(float)), 0);
  one.score(nullptr, 0, nullptr);
}

// One input, one threshold: `low` up to 0, `high` above.
TreeEnsemble stump(std::vector<double> low, std::vector<double> const& high) {
  TreeEnsemble trees;
  trees.source = "stump";
  trees.inputs = 1;
  trees.in_double = true;
  trees.sums = static_cast<int>(low.size());
  trees.width = trees.sums;
  trees.base.assign(low.size(), 0.0);
  trees.roots = {0};
  trees.first_sum = {0};
  trees.feature = {0};
  trees.threshold = {0.0F};
  trees.left = {-1};
  trees.right = {-2};
  trees.leaves = std::move(low);
  trees.leaves.insert(trees.leaves.end(), high.begin(), high.end());
  return trees;
}

std::vector<float> scores_of(TreeEnsemble const& trees, std::vector<float> const& rows) {
  TreeScorer scorer(trees, 1);
  std::vector<float> scores(rows.size() * static_cast<std::size_t>(scorer.outputs()));
  scorer.score(rows.data(), rows.size(), scores.data());
  return scores;
}

TEST(TreeScorer, RoundingNeverChangesALabel) {
  constexpr double kTiny = 1e-60;  // zero in float32
  EXPECT_GT(scores_of(stump({-1.0}, {kTiny}), {1.0F})[0], 0.0F);
  EXPECT_EQ(scores_of(stump({-1.0}, {0.0}), {1.0F})[0], 0.0F);
  auto at_threshold = stump({-1.0}, {0x1p-24});
  at_threshold.decision_threshold =
      0x1p-24;  // a probability of one half in the library's arithmetic
  EXPECT_EQ(scores_of(at_threshold, {1.0F})[0], 0.0F);
  at_threshold.decision_threshold = -kTiny;
  at_threshold.leaves[1] = 0.0;
  EXPECT_GT(scores_of(at_threshold, {1.0F})[0], 0.0F);

  auto halves = stump({0.5 + 1e-12, 0.5 - 1e-12}, {0.5 - 1e-12, 0.5 + 1e-12});
  halves.kind = ScoreKind::kProbabilities;
  auto const p = scores_of(halves, {0.0F, 1.0F});
  EXPECT_EQ(p[0], 0.5F);
  EXPECT_EQ(p[1], std::nextafter(0.5F, 1.0F));

  auto const margins = scores_of(stump({0.0, 1.0, 1.0 + 1e-12}, {0.0, 1.0, 1.0}), {0.0F, 1.0F});
  EXPECT_EQ(margins[1], 1.0F);
  EXPECT_EQ(margins[2], std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(margins[4], margins[5]) << "equal sums stay equal";
}

TEST(TreeScorer, ANaNIsUndefined) {
  for (std::size_t const more : {0, 20}) {  // few rows are walked one by one
    SCOPED_TRACE(more);
    std::vector<float> rows{1.0F, std::nanf(""), 0.0F, HUGE_VALF, -HUGE_VALF};
    rows.resize(rows.size() + more);
    auto const scores = scores_of(stump({-1.0}, {2.0}), rows);
    EXPECT_EQ(scores[0], 2.0F);
    EXPECT_TRUE(std::isnan(scores[1]));
    EXPECT_EQ(scores[2], -1.0F);
    EXPECT_EQ(scores[3], 2.0F);
    EXPECT_EQ(scores[4], -1.0F);
  }
}

TEST(TreeScorer, ATreeOfOneLeafAndAFeatureThatNothingAsksFor) {
  auto trees = stump({-1.0}, {2.0});
  trees.roots = {-2, 0};
  trees.first_sum = {0, 0};
  trees.inputs = 2;
  TreeScorer scorer(trees, 1);
  std::vector<float> const rows{1.0F, 7.0F};
  float score = 0.0F;
  scorer.score(rows.data(), 1, &score);
  EXPECT_EQ(score, 4.0F);
}

TEST(TreeScorer, TakesValidEnsemblesOnly) {
  auto const bad = [](auto const& change) {
    auto trees = stump({-1.0}, {2.0});
    change(trees);
    return trees;
  };
  auto const refuse = [](std::string const& part, TreeEnsemble const& trees) {
    expect_error(ExitCode::kData, {"stump", part}, [&] { TreeScorer(trees, 1); });
  };
  refuse("node 0 leads to 0", bad([](auto& t) { t.left[0] = 0; }));
  refuse("node 0 leads to 1", bad([](auto& t) { t.right[0] = 1; }));
  refuse("node 0 leads to -3", bad([](auto& t) { t.right[0] = -3; }));
  refuse("tree 0 leads to 5", bad([](auto& t) { t.roots[0] = 5; }));
  refuse("tree 0 adds to sum 1", bad([](auto& t) { t.first_sum[0] = 1; }));
  refuse("feature 1, expected 0..0", bad([](auto& t) { t.feature[0] = 1; }));
  refuse("threshold inf", bad([](auto& t) { t.threshold[0] = HUGE_VALF; }));
  refuse("leaf value[1] is nan", bad([](auto& t) { t.leaves[1] = std::nan(""); }));
  refuse("leaf value[1] is 1e+60", bad([](auto& t) { t.leaves[1] = 1e60, t.in_double = false; }));
  refuse("base[0] is inf", bad([](auto& t) { t.base[0] = HUGE_VAL; }));
  refuse("divides by 0", bad([](auto& t) { t.divisor = 0.0; }));
  refuse("has 0 trees", bad([](auto& t) { t.roots.clear(); }));
  refuse("has 2 names of features, expected 1", bad([](auto& t) { t.features = {"a", "b"}; }));
  refuse("has 0 thresholds", bad([](auto& t) { t.threshold.clear(); }));
  auto deep = stump({-1.0}, {2.0});
  for (std::int32_t i = 0; i < kMaxTreeDepth; ++i) {
    deep.left.back() = i + 1;
    deep.feature.push_back(0);
    deep.threshold.push_back(0.0F);
    deep.left.push_back(-1);
    deep.right.push_back(-2);
  }
  refuse("tree 0 is 4097 nodes deep", deep);
}

}  // namespace
}  // namespace fairlane
