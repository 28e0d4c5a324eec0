// Configurations: what is read, where paths lead, what --set changes.
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/config/config_yaml.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

std::string const kLeast =
    "model: m.h5\n"
    "domain: d.yaml\n"
    "protected: [age]\n"
    "output: {dir: out}\n";

RunConfig parse(std::string const& text, std::vector<Override> const& overrides = {}) {
  return parse_run_config(text, "dir/c.yaml", "dir", overrides);
}

RunConfig parse_with(std::vector<std::string> const& sets) {
  std::vector<Override> overrides;
  for (std::string const& set : sets) overrides.push_back(parse_set(set));
  return parse(kLeast, overrides);
}

TEST(Config, DefaultsAreThePapers) {
  RunConfig const config = parse(kLeast);
  EXPECT_EQ(config.method, "eidig");
  EXPECT_EQ(config.seed, 42U);
  EXPECT_EQ(config.threshold, 0.5);
  EXPECT_EQ(config.arithmetic, Arithmetic::kExact);
  EXPECT_EQ(config.global.num, 1000);
  EXPECT_EQ(config.global.clusters, 4);
  EXPECT_EQ(config.global.max_iter, 10);
  EXPECT_EQ(config.global.decay, 0.5);
  EXPECT_EQ(config.local.num, 1000);
  EXPECT_EQ(config.local.update_interval, 5U);
  EXPECT_EQ(config.local.epsilon, 1.0e-6);
  EXPECT_EQ(config.perturbation_size, 1.0);
  EXPECT_FALSE(config.budget.seconds.has_value());
  EXPECT_EQ(config.output.format, OutputFormat::kCsv);
  EXPECT_FALSE(config.output.trace);
  EXPECT_FALSE(config.output.path_coverage);
  EXPECT_EQ(config.sg.t1, 0.3);
  EXPECT_FALSE(config.sg.t2.has_value());
  EXPECT_EQ(config.sg.samples, 5000);
  EXPECT_EQ(config.sg.frontier, 1);
  EXPECT_EQ(config.sg.surrogate, Surrogate::kPerInstance);
  EXPECT_EQ(config.sg.neighbours, Neighbours::kMarginal);
  EXPECT_EQ(config.sg.solver, ToggleSolver::kSticky);
  EXPECT_EQ(config.sg.order, QueueOrder::kLeaf);
}

TEST(Config, EveryKeyIsRead) {
  RunConfig const config = parse(
      "model: ../m.h5\n"
      "data: t.csv\n"
      "domain: /abs/d.yaml\n"
      "protected: [age, {race: [4, 0]}, {sex: }]\n"
      "out_of_domain: clip\n"
      "threshold: 0.25\n"
      "method: maft\n"
      "seed: 18446744073709551615\n"
      "arithmetic: fast\n"
      "global: {num: 4294967295, clusters: 10000, max_iter: 1000000, step: 2.0, decay: 0,\n"
      "         seeding: uniform, seeds: s.csv}\n"
      "local: {num: 0, step: 3, update_interval: inf, epsilon: 1.0e-3}\n"
      "gradient: {perturbation_size: 0.5}\n"
      "sg: {t1: 0.4, t2: 0.2, samples: 100000, frontier: 65536, surrogate: cached,\n"
      "     neighbours: local, solver: lowest, order: program}\n"
      "budget: {seeds: 1, iterations: 2, evaluations: 4, instances: 3, seconds: 0.5}\n"
      "output: {dir: o, format: npy, trace: true, path_coverage: true}\n");
  EXPECT_EQ(config.model, "m.h5");
  EXPECT_EQ(config.data, "dir/t.csv");
  EXPECT_EQ(config.domain, "/abs/d.yaml");
  ASSERT_EQ(config.protected_attributes.size(), 3U);
  EXPECT_EQ(config.protected_attributes[0].name, "age");
  EXPECT_TRUE(config.protected_attributes[0].values.empty());
  EXPECT_EQ(config.protected_attributes[1].name, "race");
  EXPECT_EQ(config.protected_attributes[1].values, (std::vector<std::int32_t>{0, 4}));
  EXPECT_TRUE(config.protected_attributes[2].values.empty());
  EXPECT_EQ(config.out_of_domain, OutOfDomain::kClip);
  EXPECT_EQ(config.threshold, 0.25);
  EXPECT_EQ(config.method, "maft");
  EXPECT_EQ(config.seed, 18446744073709551615U);
  EXPECT_EQ(config.arithmetic, Arithmetic::kFast);
  EXPECT_EQ(config.global.num, 4294967295);
  EXPECT_EQ(config.global.step, 2.0);
  EXPECT_EQ(config.global.seeding, "uniform");
  EXPECT_EQ(config.global.seeds, "dir/s.csv");
  EXPECT_EQ(config.local.num, 0);
  EXPECT_EQ(config.local.update_interval, kNeverUpdate);
  EXPECT_EQ(config.perturbation_size, 0.5);
  EXPECT_EQ(config.budget.seeds, 1);
  EXPECT_EQ(config.budget.iterations, 2);
  EXPECT_EQ(config.budget.evaluations, 4);
  EXPECT_EQ(config.budget.instances, 3);
  EXPECT_EQ(config.budget.seconds, 0.5);
  EXPECT_EQ(config.output.dir, "dir/o");
  EXPECT_EQ(config.output.format, OutputFormat::kNpy);
  EXPECT_TRUE(config.output.trace);
  EXPECT_TRUE(config.output.path_coverage);
  EXPECT_EQ(config.sg.t1, 0.4);
  EXPECT_EQ(config.sg.t2, 0.2);
  EXPECT_EQ(config.sg.samples, 100'000);
  EXPECT_EQ(config.sg.frontier, 65'536);
  EXPECT_EQ(config.sg.surrogate, Surrogate::kCached);
  EXPECT_EQ(config.sg.neighbours, Neighbours::kLocal);
  EXPECT_EQ(config.sg.solver, ToggleSolver::kLowest);
  EXPECT_EQ(config.sg.order, QueueOrder::kProgram);
  EXPECT_EQ(config.positions.at("local.num"), "dir/c.yaml:12:14");
}

TEST(Config, ProtectedMayBeANameOrAMap) {
  EXPECT_EQ(parse_with({"protected=race"}).protected_attributes.size(), 1U);
  RunConfig const config = parse_with({"protected={race: [0, 4], sex: [1, 0]}"});
  ASSERT_EQ(config.protected_attributes.size(), 2U);
  EXPECT_EQ(config.protected_attributes[1].values, (std::vector<std::int32_t>{0, 1}));
}

TEST(Config, SetChangesEveryKey) {
  RunConfig const config = parse_with({"model=n.h5",          "data=t.csv",
                                       "domain=e.yaml",       "protected=[race]",
                                       "out_of_domain=drop",  "threshold=0.75",
                                       "method=adf",          "seed=7",
                                       "global.num=10",       "global.clusters=3",
                                       "global.max_iter=4",   "global.step=5",
                                       "global.decay=0.25",   "global.seeding=all",
                                       "global.seeds=s.csv",  "local.num=6",
                                       "local.step=7",        "local.update_interval=8",
                                       "local.epsilon=0.5",   "gradient.perturbation_size=2",
                                       "budget.seeds=9",      "budget.iterations=10",
                                       "budget.instances=11", "budget.seconds=1.5",
                                       "output.dir=p",        "output.format=none",
                                       "output.trace=true",   "arithmetic=fast",
                                       "aequitas.lanes=12",   "aequitas.acceptance=reset"});
  EXPECT_EQ(config.model, "n.h5");  // relative to the working directory
  EXPECT_EQ(config.data, "t.csv");
  EXPECT_EQ(config.domain, "e.yaml");
  ASSERT_EQ(config.protected_attributes.size(), 1U);
  EXPECT_EQ(config.protected_attributes[0].name, "race");
  EXPECT_EQ(config.out_of_domain, OutOfDomain::kDrop);
  EXPECT_EQ(config.threshold, 0.75);
  EXPECT_EQ(config.method, "adf");
  EXPECT_EQ(config.seed, 7U);
  EXPECT_EQ(config.arithmetic, Arithmetic::kFast);
  EXPECT_EQ(config.aequitas.lanes, 12);
  EXPECT_EQ(config.aequitas.acceptance, Acceptance::kReset);
  EXPECT_EQ(config.global.num, 10);
  EXPECT_EQ(config.global.clusters, 3);
  EXPECT_EQ(config.global.max_iter, 4);
  EXPECT_EQ(config.global.step, 5.0);
  EXPECT_EQ(config.global.decay, 0.25);
  EXPECT_EQ(config.global.seeding, "all");
  EXPECT_EQ(config.global.seeds, "s.csv");
  EXPECT_EQ(config.local.num, 6);
  EXPECT_EQ(config.local.step, 7.0);
  EXPECT_EQ(config.local.update_interval, 8U);
  EXPECT_EQ(config.local.epsilon, 0.5);
  EXPECT_EQ(config.perturbation_size, 2.0);
  EXPECT_EQ(config.budget.seeds, 9);
  EXPECT_EQ(config.budget.iterations, 10);
  EXPECT_EQ(config.budget.instances, 11);
  EXPECT_EQ(config.budget.seconds, 1.5);
  EXPECT_EQ(config.output.dir, "p");
  EXPECT_EQ(config.output.format, OutputFormat::kNone);
  EXPECT_TRUE(config.output.trace);
  EXPECT_EQ(config.positions.at("global.num"), "--set global.num");
}

TEST(Config, SetTakesSectionsAndNothing) {
  RunConfig const config = parse_with({"global={num: 5, decay: 1}", "budget.seconds=2",
                                       "budget.seconds=", "data=x.csv", "data=null"});
  EXPECT_EQ(config.global.num, 5);
  EXPECT_EQ(config.global.decay, 1.0);
  EXPECT_FALSE(config.budget.seconds.has_value());
  EXPECT_TRUE(config.data.empty());
}

TEST(Config, TheLastSetHolds) { EXPECT_EQ(parse_with({"seed=3", "seed=4"}).seed, 4U); }

TEST(Config, PlainValuesAreNotReadAsYaml) {
  RunConfig const config = parse(kLeast, {{"--out", "output.dir", "[a]: *b", false}});
  EXPECT_EQ(config.output.dir, "[a]: *b");
}

TEST(Config, ASectionMayBeEmpty) {
  EXPECT_EQ(parse(kLeast + "budget:\nglobal:\n").global.num, 1000);
}

TEST(Config, AnErrorNamesThePlaceAndTheNearestName) {
  expect_error(ExitCode::kConfig, {"dir/c.yaml:5:10", "'itrations'", "did you mean 'iterations'?"},
               [] { parse(kLeast + "budget: {itrations: 5}\n"); });
  expect_error(ExitCode::kConfig,
               {"dir/c.yaml:5:1", "'clusters'", "did you mean 'global.clusters'?"},
               [] { parse(kLeast + "clusters: 5\n"); });
  expect_error(ExitCode::kConfig, {"--set globl.num", "did you mean 'global.num'?"},
               [] { parse_with({"globl.num=5"}); });
  expect_error(ExitCode::kConfig, {"--set local.step", "0.5", "whole number", "integers"},
               [] { parse_with({"local.step=0.5"}); });
  expect_error(ExitCode::kConfig, {"--set seed", "a list"}, [] { parse_with({"seed=[1]"}); });
}

TEST(Config, AMissingKeyIsNamed) {
  for (char const* key : {"model", "domain", "protected"}) {
    std::string text;
    for (std::size_t at = 0; at < kLeast.size();) {
      std::string const line = kLeast.substr(at, kLeast.find('\n', at) + 1 - at);
      if (line.rfind(key, 0) != 0) text += line;
      at += line.size();
    }
    expect_error(ExitCode::kConfig, {"dir/c.yaml:1:1", key}, [&] { parse(text); });
  }
}

}  // namespace
}  // namespace fairlane
