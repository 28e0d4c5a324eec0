#include "engine/audit/row_audit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/check/check.h"
#include "engine/config/config_yaml.h"
#include "tests/benchmarks.h"
#include "tests/checkout.h"
#include "tests/engine/count/estimated.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

std::unique_ptr<Backend> backend_for(TestSubject const& subject, int threads = 1) {
  Execution execution;
  execution.backend = "cpu";
  execution.threads = threads;
  return make_backend(subject, execution, 1, {});
}

RowAudit audited(TestSubject const& subject, std::int32_t favourable = 1, int threads = 1) {
  auto const backend = backend_for(subject, threads);
  return audit_rows(subject, *backend, favourable);
}

/// What is known without any code of the audit: `reference` evaluates one row after the other.
struct NaiveAudit {
  std::int64_t rows = 0;
  std::int64_t affected = 0;
  std::int64_t undefined = 0;
  std::vector<std::int64_t> favourable;               // [variants]
  std::vector<std::int64_t> undefined_members;        // [variants]
  std::map<std::pair<int, int>, std::int64_t> pairs;  // favourable as the first, not as the second
  std::vector<std::int64_t> members;                  // [variants] that exist
};

NaiveAudit naive_audit(SubjectView const& view, Dataset const& data, std::int32_t favourable) {
  naive::FloatReference const reference(view);
  NaiveAudit audit;
  for (std::int64_t r = 0; r < data.count(); ++r) {
    auto const begin = data.rows.begin() + r * data.attributes;
    auto const probe = reference.probe(Row(begin, begin + data.attributes));
    auto const& labels = probe.labels;
    audit.favourable.resize(labels.size());
    audit.undefined_members.resize(labels.size());
    audit.affected += probe.pair >= 0 ? 1 : 0;
    audit.undefined += probe.pair < 0 && probe.undefined ? 1 : 0;
    for (std::size_t a = 0; a < labels.size(); ++a) {
      audit.favourable[a] += labels[a] == favourable ? 1 : 0;
      audit.undefined_members[a] += labels[a] == kUndefinedLabel ? 1 : 0;
      for (std::size_t b = 0; b < labels.size(); ++b) {
        if (labels[a] == favourable && labels[b] != favourable && labels[b] != kUndefinedLabel)
          ++audit.pairs[{static_cast<int>(a), static_cast<int>(b)}];
      }
    }
  }
  audit.rows = data.count();
  audit.members.assign(audit.favourable.size(), audit.rows);
  if (view.constraints.empty()) return audit;
  // Whoever has no output does not exist.
  audit.undefined = 0;
  for (std::size_t v = 0; v < audit.members.size(); ++v)
    audit.members[v] -= std::exchange(audit.undefined_members[v], 0);
  return audit;
}

void expect_counts(RowAudit const& audit, NaiveAudit expected) {
  EXPECT_EQ(audit.affected, expected.affected);
  EXPECT_EQ(audit.undefined, expected.undefined);
  ASSERT_EQ(audit.variants.size(), expected.favourable.size());
  for (std::size_t v = 0; v < audit.variants.size(); ++v) {
    EXPECT_EQ(audit.variants[v].favourable, expected.favourable[v]) << v;
    EXPECT_EQ(audit.variants[v].undefined, expected.undefined_members[v]) << v;
    EXPECT_EQ(audit.variants[v].rows, expected.members[v]) << v;
    EXPECT_EQ(audit.variants[v].share, static_cast<double>(expected.favourable[v]) /
                                           static_cast<double>(expected.members[v]));
  }
  std::size_t known = 0;
  auto const variants = static_cast<int>(audit.variants.size());
  for (int a = 0; a < variants; ++a) {
    for (int b = 0; b < variants; ++b)
      known += expected.pairs[{a, b}] > expected.pairs[{b, a}] ? 1U : 0U;
  }
  EXPECT_EQ(audit.preferences.size(), known);
  std::int64_t last = audit.rows;
  for (Preference const& preference : audit.preferences) {
    int const better = preference.better;
    int const worse = preference.worse;
    EXPECT_EQ(preference.rows, (expected.pairs[{better, worse}]));
    EXPECT_EQ(preference.reverse_rows, (expected.pairs[{worse, better}]));
    std::int64_t const net = preference.rows - preference.reverse_rows;
    EXPECT_GT(net, 0);
    EXPECT_LE(net, last);
    last = net;
  }
}

/// That every row says what an instance's row would: the backend describes those.
void expect_descriptions(RowAudit const& audit, TestSubject const& subject) {
  auto const backend = backend_for(subject);
  Dataset const& data = *subject.data();
  std::vector<Description> described(static_cast<std::size_t>(data.count()));
  backend->describe(data.rows.data(), described.size(), described.data());
  double sum = 0.0;
  double most = 0.0;
  for (std::size_t i = 0; i < described.size(); ++i) {
    Description const& d = described[i];
    bool const hit = d.pair_variant >= 0;
    ASSERT_EQ(audit.is_affected[i] != 0, hit) << i;
    ASSERT_EQ(audit.own_label[i], d.label == kUndefinedLabel ? -1 : d.label) << i;
    ASSERT_EQ(audit.other_variant[i], d.pair_variant) << i;
    ASSERT_EQ(audit.other_label[i], hit ? d.pair_label : -1) << i;
    ASSERT_EQ(audit.severity[i], hit ? static_cast<double>(d.severity) : 0.0) << i;
    if (d.label != kUndefinedLabel) {
      ASSERT_EQ(audit.own_score[i], d.score) << i;
      ASSERT_EQ(audit.other_score[i], d.pair_score) << i;
    }
    sum += audit.severity[i];
    most = std::max(most, audit.severity[i]);
  }
  EXPECT_EQ(audit.severity_max, most);
  EXPECT_EQ(audit.severity_mean,
            audit.affected > 0 ? sum / static_cast<double>(audit.affected) : 0.0);
}

void expect_value_shares(RowAudit const& audit, Dataset const& data) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int64_t, std::int64_t>> counts;
  for (std::int64_t r = 0; r < data.count(); ++r) {
    for (int a = 0; a < data.attributes; ++a) {
      auto& [rows, affected] =
          counts[{a, data.rows[static_cast<std::size_t>(r * data.attributes + a)]}];
      ++rows;
      affected += audit.is_affected[static_cast<std::size_t>(r)];
    }
  }
  std::erase_if(counts, [&](auto const& entry) {
    return entry.second.first < kLeastRows || 100 * entry.second.first < audit.rows;
  });
  ASSERT_EQ(audit.worst.size(), counts.size());
  double last = 1.0;
  for (ValueShare const& share : audit.worst) {
    EXPECT_EQ((counts[{share.attribute, share.code}]), std::make_pair(share.rows, share.affected));
    EXPECT_EQ(share.share, static_cast<double>(share.affected) / static_cast<double>(share.rows));
    EXPECT_LE(share.share, last);
    last = share.share;
  }
}

class RowAudits : public ::testing::TestWithParam<char const*> {};

TEST_P(RowAudits, CountWhatTheRowsAreOneByOne) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()), 700);
  TestSubject const subject(config);
  for (std::int32_t favourable = 0; favourable < std::max(2, subject.model().outputs());
       ++favourable) {
    SCOPED_TRACE(favourable);
    RowAudit const audit = audited(subject, favourable, 2);
    EXPECT_EQ(audit.rows, subject.data()->count());
    EXPECT_EQ(audit.rows < 700, !subject.constraints().empty());
    EXPECT_GT(audit.affected, 0);
    expect_counts(audit, naive_audit(subject.view(), *subject.data(), favourable));
    expect_descriptions(audit, subject);
    expect_value_shares(audit, *subject.data());
  }
}

TEST_P(RowAudits, SayWhatEstimateSaysOfTheRows) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()), 700);
  EstimateOptions options = on(1);
  options.region.rows = true;
  auto const json = estimated(config, options);
  TestSubject const subject(config);
  RowAudit const audit = audited(subject);
  auto const rows = static_cast<double>(audit.rows);
  EXPECT_EQ(json["counts"]["hits"], audit.affected);
  EXPECT_EQ(json["success_rate"]["low"], static_cast<double>(audit.affected) / rows);
  EXPECT_EQ(json["success_rate"]["high"],
            static_cast<double>(audit.affected + audit.undefined) / rows);
}

INSTANTIATE_TEST_SUITE_P(Subjects, RowAudits,
                         ::testing::Values("one output", "several outputs", "undefined members",
                                           "many variants", "many undefined", "gelu", "constrained",
                                           "many constrained"),
                         name_of_kind);

TEST(RowAudit, ComparesOnlyTheListedValues) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of("many variants"), 900);
  config.protected_attributes = {{"a0", {-2, 1, 5}}, {"a4", {3, 9}}};
  TestSubject const subject(config);
  ASSERT_LT(subject.data()->count(), 900);
  RowAudit const audit = audited(subject);
  EXPECT_EQ(audit.rows, subject.data()->count());
  ASSERT_EQ(audit.variants.size(), 6U);
  EXPECT_EQ(audit.variants[3].values, (std::vector<std::int32_t>{1, 9}));
  expect_counts(audit, naive_audit(subject.view(), *subject.data(), 1));
  expect_descriptions(audit, subject);
}

// A slow program must not be asked twice for the same.
TEST(RowAudit, AsksAScorerOnceForEachGroup) {
  TemporaryFolder const folder;
  SmallShape shape = shape_of("several outputs");
  shape.ranges = {4, 2, 2, 2, 2, 2};  // 700 rows of 16 groups
  RunConfig const config = small_config(folder, shape, 700);
  TestSubject const network(config);
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities, ScoreKind::kLabels}) {
    SCOPED_TRACE(name_of(kind));
    auto const calls = std::make_shared<std::int64_t>(0);
    TestSubject const subject(config, disguised(network.view(), kind, {std::nullopt, calls, 0}));
    auto const backend = backend_for(subject);
    *calls = 0;
    RowAudit const audit = audit_rows(subject, *backend, 1);
    EXPECT_EQ(*calls, 1);
    EXPECT_EQ(audit.groups, 16);
    expect_counts(audit, naive_audit(network.view(), *network.data(), 1));
    expect_descriptions(audit, subject);
    if (kind == ScoreKind::kLogits) {
      RowAudit const same = audited(network);
      EXPECT_EQ(audit.severity, same.severity);
      EXPECT_EQ(audit.own_score, same.own_score);
    }
  }
}

// Who does not exist widens no difference of scores, whichever output it is of.
TEST(RowAudit, MeasuresSeverityAmongWhoExists) {
  TemporaryFolder const folder;
  SmallShape shape = shape_of("constrained");
  shape.widths = {9, 5, 3};
  RunConfig const config = small_config(folder, shape, 700);
  TestSubject const network(config);
  RowAudit const expected = audited(network);
  for (ScoreKind const kind : {ScoreKind::kProbabilities, ScoreKind::kLabels}) {
    SCOPED_TRACE(name_of(kind));
    TestSubject const subject(config, disguised(network.view(), kind));
    RowAudit const audit = audited(subject);
    expect_counts(audit, naive_audit(network.view(), *network.data(), 1));
    expect_descriptions(audit, subject);
    for (std::size_t i = 0; i < audit.severity.size(); ++i) {
      double const wanted = kind == ScoreKind::kLabels ? static_cast<double>(audit.is_affected[i])
                                                       : expected.severity[i];
      ASSERT_NEAR(audit.severity[i], wanted, 1e-6) << i;
    }
  }
}

TEST(RowAudit, LeavesUndefinedAnswersOfAScorerAside) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of("one output"), 700);
  TestSubject const network(config);
  TestSubject const subject(
      config, disguised(network.view(), ScoreKind::kProbabilities, {std::nullopt, nullptr, 5}));
  RowAudit const audit = audited(subject);
  EXPECT_GT(audit.undefined, 0);
  EXPECT_GT(std::count(audit.own_label.begin(), audit.own_label.end(), -1), 0);
  expect_descriptions(audit, subject);
}

TEST(RowAudit, IsTheSameForAnyThreads) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of("many undefined"), 3000);
  TestSubject const subject(config);
  RowAudit const one = audited(subject, 1, 1);
  RowAudit const three = audited(subject, 1, 3);
  EXPECT_EQ(one.is_affected, three.is_affected);
  EXPECT_EQ(one.severity, three.severity);
  EXPECT_EQ(one.severity_mean, three.severity_mean);
  EXPECT_EQ(one.other_variant, three.other_variant);
  ASSERT_EQ(one.preferences.size(), three.preferences.size());
  for (std::size_t i = 0; i < one.preferences.size(); ++i)
    EXPECT_EQ(one.preferences[i].rows, three.preferences[i].rows);
}

TEST(RowAudit, TakesAnyPeople) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of("one output"), 300);
  TestSubject const subject(config);
  auto const backend = backend_for(subject);
  auto const& rows = subject.data()->rows;
  auto const half = static_cast<std::size_t>(subject.data()->attributes) * 150;
  RowAudit const first = audit_rows(subject, *backend, {rows.data(), half}, 1);
  RowAudit const rest = audit_rows(subject, *backend, {rows.data() + half, rows.size() - half}, 1);
  EXPECT_EQ(first.affected + rest.affected, audited(subject).affected);
  RowAudit const none = audit_rows(subject, *backend, std::span<std::int32_t const>(), 1);
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.variants.size(), 8U);
  EXPECT_EQ(none.variants[0].share, 0.0);
}

// The instances of a run, audited as a table, are what instances.csv says of them.
TEST(RowAudit, SaysWhatInstancesSay) {
  for (char const* const kind : {"one output", "several outputs", "undefined members"}) {
    SCOPED_TRACE(kind);
    TemporaryFolder const folder;
    RunConfig const config = small_config(folder, shape_of(kind));
    run(config, options_with(1));
    std::istringstream csv(slurp(config.output.dir + "/instances.csv"));
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(csv, line);) {
      std::istringstream cells(line);
      lines.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) lines.back().push_back(cell);
    }
    ASSERT_GT(lines.size(), 100U);
    auto const& header = lines[0];
    auto const cell = [&](std::size_t i, std::string const& name) {
      auto const found = std::find(header.begin(), header.end(), name);
      return std::stof(lines[i + 1].at(static_cast<std::size_t>(found - header.begin())));
    };
    TestSubject const subject(config);
    int const attributes = subject.domain().size();
    std::vector<std::int32_t> rows;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      for (int a = 0; a < attributes; ++a)
        rows.push_back(std::stoi(lines[i + 1].at(static_cast<std::size_t>(a))));
    }
    auto const backend = backend_for(subject);
    RowAudit const audit = audit_rows(subject, *backend, rows, 1);
    EXPECT_EQ(audit.affected, audit.rows);
    EXPECT_EQ(check_directory(config.output.dir).failed, 0);
    for (std::size_t i = 0; i < audit.is_affected.size(); ++i) {
      auto const variant = static_cast<std::size_t>(audit.other_variant[i]);
      ASSERT_EQ(cell(i, "pair_a0"), audit.variants[variant].values[0]) << i;
      ASSERT_EQ(cell(i, "pair_a4"), audit.variants[variant].values[1]) << i;
      ASSERT_EQ(cell(i, "label"), audit.own_label[i]) << i;
      ASSERT_EQ(cell(i, "pair_label"), audit.other_label[i]) << i;
      ASSERT_EQ(cell(i, "score"), audit.own_score[i]) << i;
      ASSERT_EQ(cell(i, "pair_score"), audit.other_score[i]) << i;
    }
    auto const summary = without_timing(config.output.dir);
    EXPECT_EQ(summary.at("severity").at("max"), audit.severity_max);
    EXPECT_DOUBLE_EQ(summary.at("severity").at("mean"), audit.severity_mean);
  }
}

TEST(RowAudit, TakesEnsemblesOfTrees) {
  constexpr int kRows = 2000;
  for (char const* const model : {"xgboost_logistic", "xgboost_softmax"}) {
    SCOPED_TRACE(model);
    TemporaryFolder const folder;
    RunConfig config;
    config.model = source_dir() + "/tests/models/trees/" + model + ".json";
    config.domain = folder.write("domain.yaml",
                                 "name: people\nattributes:\n"
                                 "  - {name: age, low: 18, high: 70}\n"
                                 "  - {name: job, low: 0, high: 5}\n"
                                 "  - {name: degree, low: 0, high: 3}\n"
                                 "  - {name: sex, low: 0, high: 1, protected: true}\n");
    std::mt19937 random(1);
    std::string table = "age,job,degree,sex,label\n";
    for (int i = 0; i < kRows; ++i) {
      for (auto const& [low, count] : {std::pair{18U, 53U}, {0U, 6U}, {0U, 4U}, {0U, 2U}})
        table += std::to_string(low + random() % count) + ",";
      table += "0\n";
    }
    config.data = folder.write("data.csv", table);
    config.protected_attributes = {{"sex", {}}};
    TestSubject const subject(config);
    RowAudit const audit = audited(subject);
    EXPECT_GT(audit.affected, 0);
    EXPECT_LT(audit.groups, kRows);
    expect_descriptions(audit, subject);
    EstimateOptions options = on(1);
    options.region.rows = true;
    EXPECT_EQ(estimated(config, options)["counts"]["hits"], audit.affected);
  }
}

TEST(RowAudit, StopsAndRefuses) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of("one output"));
  TestSubject const subject(config);
  auto const backend = backend_for(subject);
  std::atomic<bool> const stop{true};
  expect_error(ExitCode::kInterrupted, {"interrupted"},
               [&] { audit_rows(subject, *backend, 1, &stop); });
  expect_error(ExitCode::kUsage, {"the favourable class is 2, expected one of 0..1"},
               [&] { audit_rows(subject, *backend, 2); });
  config.data.clear();
  TestSubject const bare(config);
  expect_error(ExitCode::kNoInput, {"no table is given"}, [&] { audit_rows(bare, *backend, 1); });
}

/// What planted.json says of the demo's table.
TEST(RowAuditOfTheDemo, CountsThePlantedRows) {
  std::string const folder = source_dir() + "/configs/demo/";
  RunConfig config = read_run_config(folder + "config.yaml", {});
  struct Planted {
    std::vector<ProtectedAttribute> attributes;
    std::int64_t affected;
  };
  for (Planted const& planted : {Planted{{{"age", {}}}, 77},
                                 {{{"race", {}}}, 0},
                                 {{{"gender", {}}}, 186},
                                 {{{"age", {}}, {"race", {}}, {"gender", {}}}, 258}}) {
    config.protected_attributes = planted.attributes;
    TestSubject const subject(config);
    RowAudit const audit = audited(subject);
    EXPECT_EQ(audit.affected, planted.affected);
    EstimateOptions options = on(1);
    options.region.rows = true;
    EXPECT_EQ(estimated(config, options)["counts"]["hits"], audit.affected);
    expect_counts(audit, naive_audit(subject.view(), *subject.data(), 1));
  }
  // Men are preferred to women, and nobody else to anybody.
  config.protected_attributes = {{"gender", {}}};
  RowAudit const audit = audited(TestSubject(config));
  ASSERT_EQ(audit.preferences.size(), 1U);
  EXPECT_EQ(audit.preferences[0].better, 1);
  EXPECT_EQ(audit.preferences[0].worse, 0);
  EXPECT_EQ(audit.preferences[0].rows, 186);
  EXPECT_EQ(audit.preferences[0].reverse_rows, 0);
}

}  // namespace
}  // namespace fairlane
