// What a retraining is made of: instances that are picked, hidden attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/results/run.h"
#include "engine/retrain/candidates.h"
#include "engine/retrain/found_instances.h"
#include "engine/retrain/recipe.h"
#include "engine/retrain/retraining_set.h"
#include "tests/engine/learning/ruled_table.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

RetrainConfig by_severity() {
  RetrainConfig config;
  config.picking = Picking::kSeverity;
  return config;
}

TEST(FoundInstances, AreThoseOfTheRun) {
  RuledTable const ruled;
  run(ruled.config, {});
  FoundInstances const found =
      read_instances(ruled.config.output.dir, *ruled.subject, by_severity());
  ASSERT_EQ(found.count(), 12U);  // skill 4 and 5 in three groups on both sides
  for (std::size_t i = 0; i < found.count(); ++i) {
    std::int32_t const* const a = &found.pairs.first[i * 3];
    std::int32_t const* const b = &found.pairs.second[i * 3];
    EXPECT_TRUE(a[0] == 4 || a[0] == 5);
    EXPECT_EQ(a[0], b[0]);
    EXPECT_EQ(a[1], b[1]);
    EXPECT_EQ(a[2], 1 - b[2]);
    EXPECT_GT(found.severity[i], 0.0F);
  }
}

TEST(FoundInstances, ArePickedAsAsked) {
  RuledTable const ruled;
  run(ruled.config, {});
  FoundInstances const found =
      read_instances(ruled.config.output.dir, *ruled.subject, by_severity());
  auto const picked = [&](Picking picking) {
    RunConfig config = ruled.config;
    config.retrain.picking = picking;
    config.global.clusters = 2;
    return pick(found, *ruled.subject, config, 1);
  };
  for (Picking const picking :
       {Picking::kRandom, Picking::kGroups, Picking::kClusters, Picking::kSeverity}) {
    auto sorted = picked(picking);
    std::ranges::sort(sorted);
    for (std::uint32_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  }
  std::set<std::pair<int, int>> groups;
  auto const by_group = picked(Picking::kGroups);
  for (std::size_t i = 0; i < 6; ++i) {
    groups.insert({found.pairs.first[by_group[i] * 3], found.pairs.first[by_group[i] * 3 + 1]});
  }
  EXPECT_EQ(groups.size(), 6U);  // all of them before any a second time
  auto const by_severity = picked(Picking::kSeverity);
  for (std::size_t i = 1; i < by_severity.size(); ++i)
    EXPECT_GE(found.severity[by_severity[i - 1]], found.severity[by_severity[i]]);
}

TEST(FoundInstances, OfClustersArePickedInTurn) {
  RuledTable const ruled;
  FoundInstances found;
  for (std::int32_t i = 0; i < 40; ++i) {
    // Four of five have a skill of 0 or 1, the others of 9.
    found.pairs.first.insert(found.pairs.first.end(), {i % 5 == 0 ? 9 : i % 2, i % 3, 0});
    found.severity.push_back(0.0F);
  }
  RunConfig config = ruled.config;
  config.retrain.picking = Picking::kClusters;
  config.global.clusters = 2;
  auto const order = pick(found, *ruled.subject, config, 1);
  ASSERT_EQ(order.size(), 40U);
  int rare = 0;
  for (std::size_t i = 0; i < 16; ++i) rare += order[i] % 5 == 0 ? 1 : 0;
  EXPECT_EQ(rare, 8);  // all of them, every second one
}

TEST(FoundInstances, WeighAsTheirSeverityDoes) {
  RuledTable const ruled;
  run(ruled.config, {});
  RetrainConfig config;
  FoundInstances const even = read_instances(ruled.config.output.dir, *ruled.subject, config);
  EXPECT_EQ(even.pairs.weights, std::vector<float>(12, 1.0F));
  config.weights = FoundWeights::kSeverity;
  FoundInstances const found = read_instances(ruled.config.output.dir, *ruled.subject, config);
  double sum = 0.0;
  for (std::size_t i = 0; i < 12; ++i) {
    sum += static_cast<double>(found.pairs.weights[i]);
    EXPECT_NEAR(found.pairs.weights[i] * found.severity[0],
                found.pairs.weights[0] * found.severity[i], 1e-6F);
  }
  EXPECT_NEAR(sum, 12.0, 1e-5);
}

TEST(FoundInstances, BringTheirSimilarSets) {
  RuledTable const ruled;
  FoundInstances found;
  found.pairs = {{4, 1, 0}, {4, 1, 1}, {1.0F}};
  found.severity = {0.5F};
  using Rows = std::vector<std::int32_t>;
  EXPECT_EQ(added_members(found, 0, *ruled.subject, AddedMembers::kInstance), (Rows{4, 1, 0}));
  EXPECT_EQ(added_members(found, 0, *ruled.subject, AddedMembers::kPair), (Rows{4, 1, 0, 4, 1, 1}));
  EXPECT_EQ(added_members(found, 0, *ruled.subject, AddedMembers::kAll), (Rows{4, 1, 0, 4, 1, 1}));
  RuledTable const constrained("", "constraints:\n  - {if: {group: 1}, then: {side: 0}}\n");
  EXPECT_EQ(added_members(found, 0, *constrained.subject, AddedMembers::kAll), (Rows{4, 1, 0}));
}

TEST(FoundInstances, OfAnotherQuestionAreRefused) {
  RuledTable const ruled;
  run(ruled.config, {});
  RunConfig other = ruled.config;
  other.protected_attributes = {{"group", {}}};
  TestSubject const subject(other);
  expect_error(ExitCode::kData, {"compares other protected values"},
               [&] { read_instances(ruled.config.output.dir, subject, RetrainConfig{}); });
  RunConfig none = ruled.config;
  none.output.format = OutputFormat::kNone;
  none.output.dir = ruled.small.file("none");
  run(none, {});
  expect_error(ExitCode::kData, {"none", "no instances"},
               [&] { read_instances(none.output.dir, *ruled.subject, RetrainConfig{}); });
  RunConfig few = ruled.config;
  few.output.dir = ruled.small.file("few");
  few.output.columns = OutputColumns::kLabels;
  run(few, {});
  EXPECT_GT(read_instances(few.output.dir, *ruled.subject, RetrainConfig{}).count(), 0U);
  expect_error(ExitCode::kData, {"few", "has no scores", "output.columns: all"},
               [&] { read_instances(few.output.dir, *ruled.subject, by_severity()); });
  few.output.columns = OutputColumns::kInputs;
  RunOptions replacing;
  replacing.overwrite = true;
  run(few, replacing);
  expect_error(ExitCode::kData, {"few", "has no pairs"},
               [&] { read_instances(few.output.dir, *ruled.subject, RetrainConfig{}); });
  expect_error(ExitCode::kNoInput, {"manifest.json"}, [&] {
    read_instances(ruled.small.file("absent"), *ruled.subject, RetrainConfig{});
  });
}

TEST(RetrainingSet, ForgetsProtectedAttributesBitForBit) {
  RuledTable const ruled;
  TrainingRows rows = ruled.table.train;
  hide_protected(*ruled.subject, rows);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    EXPECT_EQ(rows.inputs[i * 4], ruled.table.train.inputs[i * 4]);
    EXPECT_EQ(rows.inputs[i * 4 + 1], ruled.table.train.inputs[i * 4 + 1]);
    EXPECT_EQ(rows.inputs[i * 4 + 2], 0.0F);
    EXPECT_EQ(rows.inputs[i * 4 + 3], 0.0F);
  }
  Network network = initial_network(TrainConfig{}, 4, 1, 3);
  std::vector<float> const before = network.layers[0].weights;
  forget_protected(*ruled.subject, network);
  std::vector<float> const& weights = network.layers[0].weights;
  auto const outputs = static_cast<std::size_t>(network.layers[0].outputs);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_EQ(weights[i], i / outputs < 2 ? before[i] : 0.0F);
}

TEST(RetrainingSet, IsWrittenWithWhatWasAdded) {
  RuledTable const ruled;
  AddedRows added;
  added.set(ruled.table, {4, 1, 0, 5, 2, 1}, {{0, 1}, {0.6F, 1.0F}}, {1.0F, 3.0F});
  EXPECT_EQ(added_csv(ruled.table.domain, added),
            "skill,group,side,hired,vote\n4,1,0,0,0.6000\n5,2,1,1,1.0000\n");
  TrainingRows rows;
  rows.attributes = 3;
  rows.columns = 4;
  std::int32_t const row[] = {9, 0, 1};
  rows.add(ruled.table.domain, row, 1);
  EXPECT_EQ(labelled_csv(ruled.table.domain, rows, 1), "skill,group,side,hired\n9,0,1,1\n");
  added.append_to(rows);
  EXPECT_EQ(labelled_csv(ruled.table.domain, rows, 1),
            "skill,group,side,hired,added\n9,0,1,1,0\n4,1,0,0,1\n5,2,1,1,1\n");
  EXPECT_EQ(rows.inputs, (std::vector<float>{9, 0, 0, 1, 4, 1, 1, 0, 5, 2, 0, 1}));
}

TEST(RetrainingSet, WeighsWhatWasAdded) {
  RuledTable const ruled;
  AddedRows added;
  added.set(ruled.table, {4, 1, 0, 5, 2, 1}, {{0, 1}, {0.6F, 1.0F}}, {0.5F, 3.0F});
  std::vector<float> weights = {1.0F, 2.0F, 1.0F, 2.0F};  // of classes
  added.weigh(weights);
  EXPECT_EQ(weights, (std::vector<float>{1.0F, 2.0F, 0.5F, 6.0F}));
}

TEST(RetrainingSet, KeepsWhatEarlierRoundsAdded) {
  RuledTable const ruled;
  AddedRows first;
  first.set(ruled.table, {4, 1, 0, 5, 2, 1}, {{0, 1}, {0.6F, 1.0F}}, {1.0F, 3.0F});
  AddedRows second;
  second.set(ruled.table, {9, 0, 1}, {{1}, {0.8F}}, {0.5F});
  AddedRows all;
  all.append(first);
  all.append(second);
  EXPECT_EQ(added_csv(ruled.table.domain, all),
            "skill,group,side,hired,vote\n4,1,0,0,0.6000\n5,2,1,1,1.0000\n9,0,1,1,0.8000\n");
  EXPECT_EQ(all.weights, (std::vector<float>{1.0F, 3.0F, 0.5F}));
  all.keep(2);
  EXPECT_EQ(all.weights.size(), 2U);
  EXPECT_EQ(added_csv(ruled.table.domain, all), added_csv(ruled.table.domain, first));
  EXPECT_EQ(all.rows.inputs, first.rows.inputs);
}

/// A candidate with so many percent right and so many percent IDIs.
Candidate candidate(double accuracy, double share, int classes = 2) {
  Candidate one;
  one.validation.rows = 100;
  one.validation.accuracy = accuracy;
  one.validation.f1 = 0.5;
  one.validation.decided_classes = classes;
  one.share.share = share;
  return one;
}

TEST(Candidates, AreChosenByFairnessAmongThoseThatAreGoodEnough) {
  Original original;
  original.validation = candidate(0.80, 0.3).validation;
  original.share.share = 0.3;
  RetrainConfig config;
  config.accuracy_lost = 0.02;
  EXPECT_EQ(choose({}, original, config), std::nullopt);
  EXPECT_EQ(choose({candidate(0.9, 0.3)}, original, config), std::nullopt);
  EXPECT_EQ(choose({candidate(0.77, 0.1)}, original, config), std::nullopt);
  EXPECT_EQ(choose({candidate(0.79, 0.0, 1)}, original, config), std::nullopt);
  std::vector<Candidate> const all = {candidate(0.81, 0.2), candidate(0.79, 0.1),
                                      candidate(0.79, 0.2), candidate(0.5, 0.05)};
  EXPECT_EQ(choose(all, original, config), 1U);
  Json const json = candidates_json(all);
  std::vector<bool> pareto;
  for (auto const& one : json) pareto.push_back(one.at("is_pareto").get<bool>());
  EXPECT_EQ(pareto, (std::vector<bool>{true, true, false, true}));
}

TEST(Recipes, AreFoundByTheirNames) {
  for (Recipe const& recipe : recipes()) EXPECT_EQ(&find_recipe(recipe.name), &recipe);
  EXPECT_EQ(candidate_strength(2.0, 0), 2.0);
  EXPECT_EQ(candidate_strength(2.0, 2), 18.0);
}

}  // namespace
}  // namespace fairlane
