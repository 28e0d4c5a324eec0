// Explanations against a plain reading of them.
#include "engine/search/genetic/lime.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/search/genetic/lime_math.h"
#include "tests/engine/search/encoded_subject.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

constexpr int kSamples = 2000;

double probability_of(TestSubject const& subject, std::vector<double> const& inputs) {
  naive::DoubleReference const reference(subject.view());
  auto const p = reference.probabilities(reference.activations(inputs).back());
  return p.size() == 1 ? p[0] : p[1];
}

/// Solves a linear system by elimination with pivots.
std::vector<double> solved(std::vector<std::vector<double>> a, std::vector<double> b) {
  for (std::size_t c = 0; c < b.size(); ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < b.size(); ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = 0; r < b.size(); ++r) {
      if (r == c) continue;
      double const factor = a[r][c] / a[c][c];
      for (std::size_t k = c; k < b.size(); ++k) a[r][k] -= factor * a[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = 0; c < b.size(); ++c) b[c] /= a[c][c];
  return b;
}

TEST(LimeMath, IsCloseToTheLibrarys) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-600.0, 600.0);
  for (int i = 0; i < 20'000; ++i) {
    double const x = exponent(random);
    ASSERT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-13) << x;
    double const y = std::exp(x / 10.0);
    ASSERT_NEAR(portable_log(y), std::log(y), 4e-16 * (1.0 + std::abs(x / 10.0))) << y;
  }
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(-746.0), 0.0);
  EXPECT_EQ(portable_exp(-INFINITY), 0.0);
  EXPECT_EQ(portable_exp(INFINITY), INFINITY);
  EXPECT_EQ(portable_log(1.0), 0.0);
}

// The normal equations with the intercept among the unknowns, which has no penalty.
TEST(Lime, RidgeSolvesTheNormalEquations) {
  constexpr std::size_t kColumns = 4;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> rows;
  std::vector<double> targets;
  std::vector<double> weights;
  std::vector<std::vector<double>> a(kColumns + 1, std::vector<double>(kColumns + 1, 0.0));
  std::vector<double> b(kColumns + 1, 0.0);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> x(kColumns + 1, 1.0);
    for (std::size_t c = 0; c < kColumns; ++c) x[c] = normal(random) + 3.0 * x[c];
    rows.insert(rows.end(), x.begin(), x.end() - 1);
    targets.push_back(normal(random) - 2.0 * x[1]);
    weights.push_back(std::abs(normal(random)));
    for (std::size_t c = 0; c <= kColumns; ++c) {
      b[c] += weights.back() * x[c] * targets.back();
      for (std::size_t d = 0; d <= kColumns; ++d) a[c][d] += weights.back() * x[c] * x[d];
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c) a[c][c] += 0.7;
  auto const expected = solved(a, b);
  auto const found = ridge(rows, targets, weights, 0.7);
  ASSERT_EQ(found.size(), kColumns);
  for (std::size_t c = 0; c < kColumns; ++c) EXPECT_NEAR(found[c], expected[c], 1e-10);
}

TEST(Lime, RidgeWithoutWeightSaysNothing) {
  EXPECT_EQ(ridge(std::vector{1.0, 2.0}, std::vector{0.5}, std::vector{0.0}, 1.0),
            (std::vector{0.0, 0.0}));
}

TEST(Lime, RanksBySize) {
  std::vector<double> const coefficients = {0.5, -2.0, 0.0, 0.5, 0.1};
  int const ranks[] = {1, 0, 4, 2, 3};
  for (std::size_t a = 0; a < coefficients.size(); ++a)
    EXPECT_EQ(rank_of(coefficients, a), ranks[a]);
}

TEST(Lime, ScalesAreTheTablesOrTheDomains) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {}, 30);
  {
    TestSubject const subject(config);
    auto const scales = column_scales(subject);
    auto const& rows = subject.data()->rows;
    auto const n = static_cast<double>(subject.data()->count());
    for (std::size_t a = 0; a < scales.size(); ++a) {
      double sum = 0.0;
      double squares = 0.0;
      for (std::size_t i = a; i < rows.size(); i += scales.size()) {
        sum += rows[i];
        squares += rows[i] * rows[i];
      }
      EXPECT_NEAR(scales[a].mean, sum / n, 1e-12);
      EXPECT_NEAR(scales[a].scale, std::sqrt(squares / n - sum * sum / n / n), 1e-12);
    }
  }
  config.data.clear();
  TestSubject const subject(config);
  auto const scales = column_scales(subject);
  // 4 codes from -2 on.
  EXPECT_EQ(scales[0].mean, -0.5);
  EXPECT_NEAR(scales[0].scale, std::sqrt(1.25), 1e-15);
}

class LimeModels : public ::testing::TestWithParam<char const*> {};

TEST_P(LimeModels, AreTheNetworkBetweenItsCodes) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  TestSubject const subject(config);
  LimeModel const model(subject);
  auto const width = static_cast<std::size_t>(model.attributes());
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-4.0, 9.0);
  constexpr std::int64_t kRows = 100;
  std::vector<double> rows(kRows * width);
  for (double& x : rows) x = static_cast<float>(value(random));
  std::vector<double> p(kRows);
  model.probabilities(rows.data(), kRows, p.data());
  for (std::size_t i = 0; i < kRows; ++i) {
    std::vector<double> const row(&rows[i * width], &rows[i * width] + width);
    ASSERT_NEAR(p[i], probability_of(subject, row), 2e-5) << i;
  }
}

// Coefficients by a plain loop over what explain() asks about.
TEST_P(LimeModels, AreExplainedByAWeightedLinearModel) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  TestSubject const subject(config);
  LimeExplainer const explainer(subject, kSamples, 7);
  auto const scales = column_scales(subject);
  std::size_t const n = scales.size();
  for (std::uint32_t number : {0U, 5U}) {
    std::int32_t const* const row = &subject.data()->rows[number * n];
    auto const samples = explainer.samples(row, number);
    std::vector<std::vector<double>> a(n + 1, std::vector<double>(n + 1, 0.0));
    std::vector<double> b(n + 1, 0.0);
    for (int i = 0; i < kSamples; ++i) {
      std::vector<double> const sample(&samples[static_cast<std::size_t>(i) * n],
                                       &samples[static_cast<std::size_t>(i) * n] + n);
      std::vector<double> x(n + 1, 1.0);
      double distance = 0.0;
      for (std::size_t c = 0; c < n; ++c) {
        x[c] = (sample[c] - scales[c].mean) / scales[c].scale;
        distance += std::pow((sample[c] - row[c]) / scales[c].scale, 2.0);
      }
      double const width = 0.75 * std::sqrt(static_cast<double>(n));
      double const weight = std::sqrt(std::exp(-distance / (width * width)));
      double const p = probability_of(subject, sample);
      for (std::size_t c = 0; c <= n; ++c) {
        b[c] += weight * x[c] * p;
        for (std::size_t d = 0; d <= n; ++d) a[c][d] += weight * x[c] * x[d];
      }
    }
    for (std::size_t c = 0; c < n; ++c) a[c][c] += 1.0;
    auto const expected = solved(a, b);
    auto const found = explainer.explain(row, number);
    for (std::size_t c = 0; c < n; ++c) EXPECT_NEAR(found[c], expected[c], 1e-6) << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LimeModels,
                         ::testing::Values("one output", "several outputs", "tanh", "silu"),
                         name_of_kind);

TEST(Lime, SamplesAreNormalAroundTheTablesMeans) {
  TemporaryFolder const folder;
  TestSubject const subject(small_config(folder, {}));
  constexpr int kMany = 40'000;
  LimeExplainer const explainer(subject, kMany, 11);
  auto const scales = column_scales(subject);
  std::size_t const n = scales.size();
  std::int32_t const* const row = subject.data()->rows.data();
  auto const samples = explainer.samples(row, 3);
  for (std::size_t c = 0; c < n; ++c) {
    EXPECT_EQ(samples[c], row[c]);
    double sum = 0.0;
    double squares = 0.0;
    int within = 0;
    for (std::size_t i = n + c; i < samples.size(); i += n) {
      double const z = (samples[i] - scales[c].mean) / scales[c].scale;
      sum += z;
      squares += z * z;
      within += std::abs(z) < 1.0 ? 1 : 0;
    }
    double const four = 4.0 / std::sqrt(static_cast<double>(kMany));  // standard deviations
    EXPECT_NEAR(sum / kMany, 0.0, four);
    EXPECT_NEAR(squares / kMany, 1.0, four * std::sqrt(2.0));
    EXPECT_NEAR(static_cast<double>(within) / kMany, 0.6827, four * 0.4655);
  }
  EXPECT_EQ(samples, explainer.samples(row, 3));
  EXPECT_NE(samples, explainer.samples(row, 4));
}

// Where codes stand for columns, the model is asked about codes; its twin knows them as numbers.
TEST(Lime, EncodedAttributesAreAskedAboutAsCodes) {
  TemporaryFolder const folder;
  TwinShape const shape;
  TestSubject const subject(twin_config(folder, shape, Which::kEncoded));
  LimeModel const model(subject);
  LimeExplainer const explainer(subject, kSamples, 5);
  std::size_t const n = shape.ways.size();
  auto const samples = explainer.samples(subject.data()->rows.data(), 0);
  auto const backend = make_cpu_backend(subject.view(), {});
  int compared = 0;
  for (std::size_t i = 0; i < samples.size(); i += n) {
    Row codes;
    std::vector<double> row;
    for (std::size_t a = 0; a < n; ++a) {
      bool const number = shape.ways[a] == Way::kAffine || shape.ways[a] == Way::kList;
      codes.push_back(static_cast<std::int32_t>(std::floor(samples[i + a] + 0.5)));
      if (!number) {
        ASSERT_EQ(codes.back(), samples[i + a]);
        ASSERT_TRUE(subject.view().allows(a, codes.back()));
      }
      row.push_back(codes.back());
    }
    if (!subject.view().allows(1, codes[1]) || !subject.view().allows(3, codes[3])) continue;
    ++compared;
    float logit = 0.0F;
    backend->logits(codes.data(), 1, &logit);
    double p = 0.0;
    model.probabilities(row.data(), 1, &p);
    ASSERT_NEAR(p, 1.0 / (1.0 + std::exp(-static_cast<double>(logit))), 1e-5);
  }
  EXPECT_GT(compared, 100);
}

TEST(Lime, ScorersAreExplainedAsNetworks) {
  TemporaryFolder const folder;
  for (char const* kind : {"one output", "several outputs"}) {
    RunConfig const config = small_config(folder, shape_of(kind));
    TestSubject const network(config);
    std::int32_t const* const row = network.data()->rows.data();
    auto const expected = LimeExplainer(network, kSamples, 1).explain(row, 0);
    for (ScoreKind const scores : {ScoreKind::kLogits, ScoreKind::kProbabilities}) {
      TestSubject const scorer(config, disguised(network.view(), scores));
      LimeExplainer const explainer(scorer, kSamples, 1);
      EXPECT_TRUE(explainer.single_thread());
      auto const found = explainer.explain(row, 0);
      for (std::size_t c = 0; c < found.size(); ++c) EXPECT_NEAR(found[c], expected[c], 1e-5);
    }
  }
}

TEST(Lime, UndefinedSamplesSayNothing) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  TestSubject const network(config);
  auto const explain = [&](std::uint32_t undefined) {
    ScorerFaults faults;
    faults.undefined = undefined;
    TestSubject const scorer(config, disguised(network.view(), ScoreKind::kLogits, faults));
    return LimeExplainer(scorer, kSamples, 1).explain(network.data()->rows.data(), 0);
  };
  EXPECT_EQ(explain(1), std::vector<double>(6, 0.0));
  auto const some = explain(3);
  EXPECT_NE(some, explain(0));
  for (double const c : some) EXPECT_TRUE(std::isfinite(c));
}

}  // namespace
}  // namespace fairlane
