#include "engine/count/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/count/binomial_interval.h"
#include "models/safetensors.h"
#include "tests/benchmarks.h"
#include "tests/brute_counts.h"
#include "tests/engine/count/estimated.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

// Values of the exact interval from the literature: Brown, Cai and DasGupta, Statistical Science 16
// (2001), and 1 - alpha^(1/n) for no success.
TEST(ClopperPearson, IsExact) {
  ShareInterval const none = clopper_pearson(0, 100, 0.95);
  EXPECT_EQ(none.low, 0.0);
  EXPECT_NEAR(none.high, 1.0 - std::pow(0.025, 1.0 / 100.0), 1e-12);
  ShareInterval const all = clopper_pearson(100, 100, 0.95);
  EXPECT_EQ(all.high, 1.0);
  EXPECT_NEAR(all.low, std::pow(0.025, 1.0 / 100.0), 1e-12);
  // Its ends are where the binomial tails are 2.5 %.
  constexpr int kSamples = 20;
  constexpr int kHits = 7;
  ShareInterval const some = clopper_pearson(kHits, kSamples, 0.95);
  auto const tail = [](double p, int from, int to) {
    double sum = 0.0;
    for (int k = from; k <= to; ++k) {
      double const choose = std::exp(std::lgamma(kSamples + 1.0) - std::lgamma(k + 1.0) -
                                     std::lgamma(kSamples - k + 1.0));
      sum += choose * std::pow(p, k) * std::pow(1.0 - p, kSamples - k);
    }
    return sum;
  };
  EXPECT_NEAR(tail(some.low, kHits, kSamples), 0.025, 1e-9);
  EXPECT_NEAR(tail(some.high, 0, kHits), 0.025, 1e-9);
  ShareInterval const nothing = clopper_pearson(0, 0, 0.95);
  EXPECT_EQ(nothing.low, 0.0);
  EXPECT_EQ(nothing.high, 1.0);
}

class Estimates : public ::testing::TestWithParam<char const*> {};

TEST_P(Estimates, CoverTheExactShare) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  TestSubject const subject(config);
  BruteCounts const brute = brute_counts(subject.view());
  // What constraints exclude is undefined for brute force, and counts nowhere for an estimate.
  bool const constrained = !subject.constraints().empty();
  std::int64_t const excluded = constrained ? brute.undefined : 0;
  std::int64_t const excluded_groups = constrained ? brute.unknown : 0;
  EXPECT_EQ(excluded > 0, constrained);
  double const exact = static_cast<double>(brute.instances) /
                       static_cast<double>(brute.groups * subject.variants() - excluded);
  double const causal = static_cast<double>(brute.discriminatory) /
                        static_cast<double>(brute.groups - excluded_groups);
  for (bool const adaptive : {false, true}) {
    SCOPED_TRACE(adaptive ? "adaptive" : "fixed");
    EstimateOptions options = on(1);
    options.error = 0.02;
    if (!adaptive) options.samples = 500;
    int covered = 0;
    int causal_covered = 0;
    constexpr int kRepeats = 100;
    for (int seed = 0; seed < kRepeats; ++seed) {
      config.seed = static_cast<std::uint64_t>(seed);
      auto const json = estimated(config, options);
      auto const& share = json["success_rate"];
      auto const& score = json["causal_score"];
      covered += share["low"] <= exact && exact <= share["high"] ? 1 : 0;
      causal_covered += score["low"] <= causal && causal <= score["high"] ? 1 : 0;
      auto const& counts = json["counts"];
      if (!adaptive) {
        EXPECT_EQ(counts["model_evaluations"], 500 * subject.variants());
        EXPECT_EQ(counts["samples"] < 500, constrained);
        EXPECT_EQ(json.contains("infeasible"), constrained);
      } else {
        // What is undefined may be discriminatory, too: that is no error of the sample.
        double const possible =
            counts["possible_hits"].get<double>() / counts["samples"].get<double>();
        EXPECT_LE(share["high"].get<double>() - possible, options.error);
        EXPECT_LE(share["share"].get<double>() - share["low"].get<double>(), options.error);
      }
    }
    EXPECT_GE(covered, 93);
    EXPECT_GE(causal_covered, 93);
  }
}

TEST_P(Estimates, AreTheSameForAnyThreads) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  EstimateOptions options = on(1);
  options.samples = 200'000;
  options.trials = 3;
  auto const one = estimated(config, options);
  options.execution.threads = 3;
  EXPECT_EQ(one, estimated(config, options));
  EXPECT_NEAR(one["trials"]["mean"].get<double>(), one["success_rate"]["share"].get<double>(),
              0.01);
}

INSTANTIATE_TEST_SUITE_P(Subjects, Estimates,
                         ::testing::Values("one output", "several outputs", "undefined members",
                                           "constrained", "many constrained"),
                         name_of_kind);

// Shares that others measured by sampling, to 0.1 %.
TEST(EstimateOnBenchmarks, AgreesWithTheKnownShares) {
  FL_NEED_BENCHMARKS(benchmarks);
  struct Known {
    char const* model;
    char const* data;
    char const* attribute;
    double share;
  };
  constexpr double kTolerance = 0.001;
  for (Known const& known : {Known{"census", "census", "age", 0.1185},
                             {"census", "census", "race", 0.0928},
                             {"census", "census", "gender", 0.0378},
                             {"credit", "credit", "PersonStatusSex", 0.1027},
                             {"credit", "credit", "AgeInYears", 0.2862},
                             {"bank", "bank", "age", 0.1035},
                             {"census_retrained_eidig5", "census", "gender", 0.0094}}) {
    SCOPED_TRACE(std::string(known.model) + " " + known.attribute);
    RunConfig config;
    config.model = (benchmarks / "models" / (std::string(known.model) + ".h5")).string();
    config.domain = (benchmarks / "data" / (std::string(known.data) + ".domain.yaml")).string();
    config.protected_attributes = {{known.attribute, {}}};
    EstimateOptions options = on(2);
    options.samples = 1'000'000;
    auto const share = estimated(config, options)["success_rate"];
    EXPECT_NEAR(share["share"].get<double>(), known.share, kTolerance);
  }
}

// Undefined outputs may be anything: the share of their groups is not known to be 0, however many
// samples there are, and sampling ends all the same.
TEST(Estimate, KnowsNothingOfWhatIsUndefined) {
  TemporaryFolder const folder;
  SmallShape shape;
  RunConfig const config = small_config(folder, shape);
  SmallSubject overflowing(shape);
  for (auto& layer : overflowing.network.layers) std::ranges::fill(layer.weights, 1e30F);
  for (auto& layer : overflowing.network.layers) std::ranges::fill(layer.bias, 1e30F);
  write_safetensors(overflowing.network, config.model);
  EstimateOptions options = on(2);
  for (bool const fixed : {false, true}) {
    if (fixed) options.samples = 2000;
    auto const json = estimated(config, options);
    auto const samples = json["counts"]["samples"].get<std::int64_t>();
    EXPECT_LE(samples, 1 << 16);
    EXPECT_EQ(json["undefined"], samples * 8);
    EXPECT_EQ(json["counts"]["undefined_groups"], samples);
    for (char const* const score : {"causal_score", "success_rate", "group_score"}) {
      EXPECT_EQ(json[score]["low"], 0.0) << score;
      EXPECT_EQ(json[score]["high"], 1.0) << score;
    }
  }
  options.search_above = 0.5;
  options.largest_set = 1;
  auto const sets = estimated(config, options)["sets"];
  EXPECT_EQ(sets["found"].size(), 0U);
  EXPECT_EQ(sets["undecided"].size(), shape.ranges.size());
}

TEST(Estimate, GoesOnWhereNothingIsFound) {
  TemporaryFolder const folder;
  SmallShape shape;
  RunConfig const config = small_config(folder, shape);
  SmallSubject refused(shape);
  refused.network.layers.back().bias[0] = -1e9F;
  write_safetensors(refused.network, config.model);
  TestSubject const subject(config);
  ASSERT_EQ(brute_counts(subject.view()).discriminatory, 0);
  EstimateOptions options = on(1);
  options.error = 0.001;
  auto const json = estimated(config, options);
  EXPECT_EQ(json["counts"]["hits"], 0);
  EXPECT_LE(json["success_rate"]["high"], 0.001);
  // As many as it takes: log(0.025) / log(1 - 0.001).
  EXPECT_GE(json["counts"]["samples"], 3687);
}

/// What the data's rows within a1 in [1, 3] are, one by one: how many, in mixed groups, IDIs, and
/// positive by variant, and those that are known or unknown besides.
struct RowCounts {
  int rows = 0;
  int mixed = 0;
  int unknown = 0;
  int instances = 0;
  std::vector<int> positive;
};

RowCounts count_rows(TestSubject const& subject) {
  naive::Reference<naive::Float> const reference(subject.view());
  Dataset const& data = *subject.data();
  RowCounts counts;
  for (std::int64_t r = 0; r < data.count(); ++r) {
    auto const begin = data.rows.begin() + r * data.attributes;
    naive::Row const row(begin, begin + data.attributes);
    if (row[1] < 1 || row[1] > 3) continue;
    auto const probe = reference.probe(row);
    ++counts.rows;
    counts.mixed += probe.mixed ? 1 : 0;
    counts.unknown += !probe.mixed && probe.undefined ? 1 : 0;
    counts.instances += probe.pair >= 0 ? 1 : 0;
    counts.positive.resize(probe.labels.size());
    for (std::size_t v = 0; v < probe.labels.size(); ++v)
      counts.positive[v] += probe.labels[v] != 0 && probe.labels[v] != kUndefinedLabel ? 1 : 0;
  }
  return counts;
}

TEST(Estimate, OfRowsIsTheirExactShare) {
  for (char const* const kind : {"one output", "many undefined"}) {
    SCOPED_TRACE(kind);
    TemporaryFolder const folder;
    RunConfig const config = small_config(folder, shape_of(kind), 500);
    TestSubject const subject(config);
    RowCounts const expected = count_rows(subject);
    ASSERT_GT(expected.instances, 0);
    ASSERT_LT(expected.rows, 500);
    EstimateOptions options = on(2);
    options.region.rows = true;
    options.region.ranges = {{"a1", 1, 3}};
    auto const json = estimated(config, options);
    EXPECT_EQ(json["counts"]["samples"], expected.rows);
    EXPECT_EQ(json["counts"]["unique_groups"], expected.mixed);
    EXPECT_EQ(json["counts"]["hits"], expected.instances);
    auto const [least, most] =
        std::minmax_element(expected.positive.begin(), expected.positive.end());
    EXPECT_EQ(json["group_score"]["share"],
              static_cast<double>(*most - *least) / static_cast<double>(expected.rows));
    EXPECT_EQ(json["counts"]["undefined_groups"], expected.unknown);
    EXPECT_EQ(expected.unknown > 0, std::string(kind) == "many undefined");
    double const high =
        static_cast<double>(expected.mixed + expected.unknown) / static_cast<double>(expected.rows);
    for (char const* const score : {"causal_score", "success_rate"}) {
      EXPECT_EQ(json[score]["low"], json[score]["share"]) << score;
      EXPECT_EQ(json[score]["high"], high) << score;
    }
    EXPECT_LE(json["group_score"]["low"], json["group_score"]["share"]);
    EXPECT_GE(json["group_score"]["high"], json["group_score"]["share"]);
    EXPECT_EQ(json["group_score"]["low"] == json["group_score"]["high"], expected.unknown == 0);
  }
}

// However many sets are looked at, their intervals hold together: each alone is wider.
TEST(Estimate, IntervalsOfSetsHoldTogether) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {3, 4, 3, 4, 5, 3};
  shape.selected = {0};
  RunConfig config = small_config(folder, shape);
  EstimateOptions options = on(1);
  options.search_above = 0.0001;
  options.confidence = 0.6;  // so that single intervals would often miss
  options.error = 0.2;
  options.largest_set = 1;
  std::map<std::string, double> exact;
  for (int a = 0; a < 6; ++a) {
    RunConfig other = config;
    other.protected_attributes = {{"a" + std::to_string(a), {}}};
    TestSubject const subject(other);
    BruteCounts const brute = brute_counts(subject.view());
    exact["a" + std::to_string(a)] =
        static_cast<double>(brute.discriminatory) / static_cast<double>(brute.groups);
  }
  int all_hold = 0;
  constexpr int kRepeats = 60;
  for (int seed = 0; seed < kRepeats; ++seed) {
    config.seed = static_cast<std::uint64_t>(seed);
    auto const json = estimated(config, options);
    EXPECT_EQ(json["sets"]["compared"], 6);
    bool holds = true;
    for (char const* const which : {"found", "undecided"}) {
      for (auto const& set : json["sets"][which]) {
        double const share = exact.at(set["protected"][0].get<std::string>());
        holds = holds && set["low"] <= share && share <= set["high"];
      }
    }
    all_hold += holds ? 1 : 0;
  }
  EXPECT_GE(all_hold, static_cast<int>(0.6 * kRepeats));
  // The same set looked at beside others is known less closely.
  options.largest_set = 1;
  auto const one = estimated(config, options);
  options.largest_set = 3;
  auto const many = estimated(config, options);
  EXPECT_EQ(many["sets"]["compared"], 6 + 15 + 20);
  ASSERT_FALSE(one["sets"]["found"].empty());
  auto const& narrow = one["sets"]["found"][0];
  auto const& wide = many["sets"]["found"][0];
  ASSERT_EQ(narrow["protected"], wide["protected"]);
  ASSERT_EQ(narrow["samples"], wide["samples"]);
  EXPECT_LT(wide["low"], narrow["low"]);
  EXPECT_GT(wide["high"], narrow["high"]);
}

TEST(Estimate, FindsTheSmallestSetsThatDiscriminate) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {3, 4, 3, 4};
  shape.selected = {0};
  RunConfig const config = small_config(folder, shape);
  constexpr double kAbove = 0.3;
  // By brute force: causal scores of all sets up to two attributes, supersets of a found one left
  // out.
  std::vector<std::vector<int>> expected;
  for (std::vector<int> const& set : std::vector<std::vector<int>>{
           {0}, {1}, {2}, {3}, {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}) {
    bool const known = std::any_of(expected.begin(), expected.end(), [&](auto const& found) {
      return std::includes(set.begin(), set.end(), found.begin(), found.end());
    });
    if (known) continue;
    RunConfig other = config;
    other.protected_attributes.clear();
    for (int const a : set) other.protected_attributes.push_back({"a" + std::to_string(a), {}});
    TestSubject const subject(other);
    BruteCounts const brute = brute_counts(subject.view());
    double const score =
        static_cast<double>(brute.discriminatory) / static_cast<double>(brute.groups);
    ASSERT_GT(std::abs(score - kAbove), 0.01) << "too near to the threshold to be told";
    if (score > kAbove) expected.push_back(set);
  }
  ASSERT_GT(expected.size(), 0U);
  EstimateOptions options = on(1);
  options.search_above = kAbove;
  options.largest_set = 2;
  std::vector<std::vector<int>> found;
  auto const json = estimated(config, options);
  for (auto const& set : json["sets"]["found"]) {
    found.emplace_back();
    for (auto const& name : set["protected"])
      found.back().push_back(name.get<std::string>().back() - '0');
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(json["sets"]["undecided"].size(), 0U);
}

}  // namespace
}  // namespace fairlane
