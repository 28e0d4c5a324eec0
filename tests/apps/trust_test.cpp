// What a pass of a command means: it is not given where outputs are undefined, where nothing was
// checked, or where the files are no longer those of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "models/safetensors.h"
#include "tests/apps/command_line.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kIntegrity = static_cast<int>(ExitCode::kIntegrity);
constexpr int kPolicy = static_cast<int>(ExitCode::kPolicy);

json parsed(Outcome const& outcome) { return json::parse(outcome.out, nullptr, false); }

/// No output of this network is finite.
void undefine_all() {
  Network network = small_network();
  network.layers[0].bias = {3e38F, 3e38F};
  network.layers[1].weights = {3e38F, 3e38F};
  write_safetensors(network, "model.safetensors");
}

/// Outputs are infinite from an income of 7 on. Of the ten incomes two discriminate (4 and 5),
/// three are unknown.
void undefine_some() {
  Network network = small_network();
  DenseLayer& hidden = network.layers[0];
  hidden.outputs = 3;
  hidden.weights = {0.0F, 0.0F, 0.0F, 1.0F, 0.0F, 1e20F, 0.0F, 1.0F, 0.0F};
  hidden.bias = {0.0F, 0.0F, -6.5e20F};
  DenseLayer& last = network.layers[1];
  last.inputs = 3;
  last.weights = {1.0F, 1.5F, 1e20F};
  write_safetensors(network, "model.safetensors");
}

/// A million groups instead of 100, of which the same share discriminates.
void enlarge_domain() {
  edit_file("domain.yaml", "name: age, low: 0, high: 9", "name: age, low: 0, high: 99999");
}

class Trust : public testing::Test {
 protected:
  void SetUp() override { write_small_run(); }
  WorkingFolder folder_;
};

TEST_F(Trust, NothingDefinedIsNoPass) {
  undefine_all();
  Outcome const run = run_fairlane({"run", "config.yaml", "-q"});
  EXPECT_EQ(run.code, kIntegrity);
  EXPECT_THAT(run.out, StartsWith("undefined "));
  EXPECT_THAT(run.err,
              HasSubstr("model.safetensors: the output of every tried input is undefined"));
  EXPECT_EQ(run_fairlane({"run", "config.yaml", "-q", "--fail-above", "1"}).code, kIntegrity);
  Outcome const check = run_fairlane({"check", "out"});
  EXPECT_EQ(check.code, kIntegrity);
  EXPECT_THAT(check.out, StartsWith("undefined "));
  EXPECT_THAT(check.err, HasSubstr("nothing was checked"));
  Outcome const walk = run_fairlane({"enumerate", "config.yaml", "--out", "all", "-q"});
  EXPECT_EQ(walk.code, kIntegrity);
  EXPECT_THAT(walk.out, StartsWith("undefined              all 200 evaluated inputs"));
  EXPECT_THAT(walk.out, HasSubstr("0  (0.0000 to 100.0000 % of all groups)"));
  Outcome const estimate = run_fairlane({"estimate", "config.yaml", "-q", "--samples", "2000"});
  EXPECT_EQ(estimate.code, kIntegrity);
  EXPECT_THAT(estimate.out, StartsWith("undefined              all 4,000 evaluated inputs"));
  EXPECT_THAT(estimate.out, HasSubstr("0.0000 %  (0.0000 to 100.0000 %)"));
}

TEST_F(Trust, SomeUndefinedWidenEveryShare) {
  undefine_some();
  Outcome const text = run_fairlane({"run", "config.yaml", "-q"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("undefined "));
  json const summary = parsed(run_fairlane({"run", "config.yaml", "-q", "--json"}));
  EXPECT_GT(summary.at("undefined"), 0);
  json const& share = summary.at("domain_share");
  EXPECT_EQ(share.at("source"), "count");
  EXPECT_EQ(share.at("undefined_groups"), 30);
  EXPECT_EQ(share.at("low"), 0.2);
  EXPECT_EQ(share.at("high"), 0.5);
  EXPECT_EQ(run_fairlane({"check", "out"}).code, 0);
  json const counted =
      parsed(run_fairlane({"enumerate", "config.yaml", "--out", "all", "-q", "--json"}));
  EXPECT_EQ(counted.at("counts").at("undefined_groups"), 30);
  EXPECT_EQ(counted.at("success_rate_high"), 0.5);
  json const estimated =
      parsed(run_fairlane({"estimate", "config.yaml", "-q", "--json", "--samples", "4000"}));
  for (char const* score : {"success_rate", "causal_score"}) {
    EXPECT_NEAR(estimated.at(score).at("low").get<double>(), 0.2, 0.03);
    EXPECT_NEAR(estimated.at(score).at("high").get<double>(), 0.5, 0.03);
  }
  json const known =
      parsed(run_fairlane({"run", "config.yaml", "-q", "--json", "--against", "all"}));
  EXPECT_EQ(known.at("domain_share").at("source"), "enumeration");
  EXPECT_EQ(known.at("domain_share").at("high"), 0.5);
}

TEST_F(Trust, APolicyDoesNotPassWhatIsUndefined) {
  undefine_some();
  for (bool const large : {false, true}) {
    SCOPED_TRACE(large);
    if (large) enlarge_domain();
    auto const judged = [&](char const* rate) {
      return run_fairlane({"run", "config.yaml", "--overwrite", "--fail-above", rate});
    };
    EXPECT_EQ(judged("0.05").code, kPolicy);
    Outcome const undecided = judged("0.3");
    EXPECT_EQ(undecided.code, kIntegrity);
    EXPECT_THAT(undecided.err, HasSubstr("--fail-above 30.00 %: undecided"));
    EXPECT_THAT(undecided.err, HasSubstr("undefined outputs"));
    EXPECT_EQ(judged("0.55").code, 0);
  }
}

TEST_F(Trust, APolicyJudgesTheShareOfTheDomain) {
  auto const judged = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "config.yaml", "--overwrite", "--fail-above"});
    return run_fairlane(flags);
  };
  // Every fifth group; of what the search tries it is another share.
  EXPECT_EQ(judged({"0.2"}).code, 0);
  EXPECT_EQ(judged({"0.1999"}).code, kPolicy);
  enlarge_domain();
  EXPECT_EQ(judged({"0.21"}).code, 0);
  EXPECT_EQ(judged({"0.19"}).code, kPolicy);
  EXPECT_EQ(judged({"0.205", "--samples", "500"}).code, kIntegrity);
  EXPECT_EQ(judged({"0.205"}).code, 0) << "as many samples as it takes";
  Outcome const undecided = judged({"0.2"});
  EXPECT_EQ(undecided.code, kIntegrity);
  EXPECT_THAT(undecided.err, HasSubstr("by a sample of"));
  EXPECT_EQ(judged({"0"}).code, kPolicy) << "a finding is above nothing";
  Outcome const nothing = judged({"0.1", "--samples", "0"});
  EXPECT_EQ(nothing.code, static_cast<int>(ExitCode::kUsage));
  EXPECT_THAT(nothing.err, HasSubstr("--samples"));
}

TEST_F(Trust, TheShareOfTheDomainChangesNothingElse) {
  enlarge_domain();
  json const with = parsed(run_fairlane({"run", "config.yaml", "-q", "--json", "--out", "with"}));
  json const again = parsed(run_fairlane(
      {"run", "config.yaml", "-q", "--json", "--out", "again", "--threads", "3", "--batch", "7"}));
  json without = parsed(
      run_fairlane({"run", "config.yaml", "-q", "--json", "--out", "without", "--samples", "0"}));
  json const& share = with.at("domain_share");
  EXPECT_EQ(share.at("source"), "sample");
  EXPECT_EQ(share.at("groups"), 10'000);
  EXPECT_EQ(share.at("confidence"), 0.95);
  EXPECT_LE(share.at("low"), 0.2);
  EXPECT_GE(share.at("high"), 0.2);
  EXPECT_LT(share.at("high").get<double>() - share.at("low").get<double>(), 0.02);
  EXPECT_EQ(share, again.at("domain_share"));
  EXPECT_FALSE(without.contains("domain_share"));
  without["domain_share"] = share;
  without["timing"] = with.at("timing");
  EXPECT_EQ(without, with);
  EXPECT_EQ(slurp("with/instances.csv"), slurp("without/instances.csv"));
  EXPECT_EQ(slurp("with/manifest.json"), slurp("without/manifest.json"));
  std::string const text = run_fairlane({"run", "config.yaml", "--out", "with"}).out;
  EXPECT_THAT(text, HasSubstr("share of the domain"));
  EXPECT_THAT(text, HasSubstr("by a sample of 10,000"));
  EXPECT_THAT(text, HasSubstr("share of tried inputs"));
  EXPECT_THAT(text, Not(HasSubstr("success rate")));
}

// Two inputs in each of a million groups; every fifth group discriminates.
TEST_F(Trust, LittleFoundIsNoProof) {
  enlarge_domain();
  auto const run_with = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "config.yaml", "-q", "--overwrite"});
    return run_fairlane(flags);
  };
  std::vector<std::string> const few = {"--set", "global.num=3", "--set", "local.num=1"};
  auto const few_with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), few.begin(), few.end());
    return run_with(flags);
  };
  json const summary = parsed(few_with({"--json"}));
  ASSERT_LT(summary.at("counts").at("unique_groups"), 10);
  json const& little = summary.at("little_found");
  EXPECT_EQ(little.at("share_at_most"), summary.at("domain_share").at("high"));
  EXPECT_EQ(little.at("instances_at_most"),
            std::floor(2e6 * little.at("share_at_most").get<double>()));
  EXPECT_EQ(little.at("confidence"), 0.95);
  EXPECT_EQ(little.at("enumeration"),
            (json{{"groups", 1'000'000}, {"model_evaluations", 2'000'000}}));
  EXPECT_GT(summary.at("timing").at("enumeration_seconds_at_most"), 0.0);
  std::string const text = few_with({}).out;
  EXPECT_THAT(text, HasSubstr("\nlittle found "));
  EXPECT_THAT(text,
              HasSubstr("`fairlane enumerate` takes 2,000,000 model evaluations at most, about "));
  json const unsampled = parsed(few_with({"--json", "--samples", "0"}));
  EXPECT_EQ(unsampled.at("little_found"),
            (json{{"share_at_most", nullptr}, {"enumeration", little.at("enumeration")}}));
  EXPECT_THAT(few_with({"--samples", "0"}).out, HasSubstr("--samples N bounds their share"));
  EXPECT_FALSE(parsed(run_with({"--json"})).contains("little_found")) << "a search that finds more";
}

TEST_F(Trust, NothingFoundIsNoProof) {
  enlarge_domain();
  Network network = small_network();
  network.layers[1].weights = {0.0F, 0.0F};
  write_safetensors(network, "model.safetensors");
  Outcome const run = run_fairlane({"run", "config.yaml", "-q"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nnothing found "));
  EXPECT_THAT(run.out, HasSubstr("up to 0.0369 % of all inputs (737) may be IDIs, with 95 %"));
  // Of 10,000 groups that are drawn none is unfair.
  json const summary = json::parse(slurp("out/summary.json"));
  EXPECT_NEAR(summary.at("little_found").at("share_at_most").get<double>(),
              1.0 - std::pow(0.025, 1e-4), 1e-12);
}

TEST_F(Trust, WhatIsCountedLeavesNothingOpen) {
  std::vector<std::string> const few = {"run",   "config.yaml",  "-q",    "--json",
                                        "--set", "global.num=1", "--set", "local.num=1"};
  json const summary = parsed(run_fairlane(few));
  EXPECT_LT(summary.at("counts").at("unique_groups"), 10);
  EXPECT_EQ(summary.at("domain_share").at("source"), "count");
  EXPECT_FALSE(summary.contains("little_found"));
}

TEST_F(Trust, ARunSaysHowOftenTheModelAgreesWithTheTable) {
  int agreed = 0;
  for (int i = 0; i < 40; ++i) {  // as write_small_run writes the table, and small_network decides
    int const income = i * 7 % 10;
    bool const decision = income + 1.5 * (i % 2) > 5.25;
    agreed += decision == (income > 4) ? 1 : 0;
  }
  Outcome const run = run_fairlane({"run", "config.yaml", "-q", "--json"});
  EXPECT_EQ(parsed(run).at("agreement"), agreed / 40.0);
  EXPECT_THAT(run_fairlane({"inspect", "out"}).out, HasSubstr("agreement"));
  undefine_all();  // which is not the same as deciding 0
  run_fairlane({"run", "config.yaml", "-q", "--overwrite"});
  EXPECT_EQ(json::parse(slurp("out/summary.json")).at("agreement"), 0.0);
  edit_file("domain.yaml", "label: class", "label: unknown");
  json const unlabelled =
      parsed(run_fairlane({"run", "config.yaml", "-q", "--overwrite", "--json"}));
  EXPECT_FALSE(unlabelled.contains("agreement"));
}

TEST_F(Trust, ARecordedRunIsNotRepeatedWithOtherInputs) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml"}).code, 0);
  for (char const* file : {"model.safetensors", "data.csv", "domain.yaml"}) {
    SCOPED_TRACE(file);
    std::string const before = slurp(file);
    std::string const recorded = sha256_file(file);
    if (std::string(file) == "model.safetensors") {
      Network network = small_network();
      network.layers.back().bias = {-6.25F};
      write_safetensors(network, file);
    } else {
      write_file(file, before + (std::string(file) == "data.csv" ? "1,2,1,0\n" : "# changed\n"));
    }
    Outcome const refused = run_fairlane({"run", "out/manifest.json", "--out", "again"});
    EXPECT_EQ(refused.code, static_cast<int>(ExitCode::kData));
    for (std::string const& part :
         {std::string(file), recorded, sha256_file(file), std::string("--allow-changed-inputs")})
      EXPECT_THAT(refused.err, HasSubstr(part));
    EXPECT_FALSE(fs::exists("again"));
    Outcome const allowed =
        run_fairlane({"run", "out/manifest.json", "--out", "other", "--allow-changed-inputs"});
    EXPECT_EQ(allowed.code, 0) << allowed.err;
    EXPECT_THAT(allowed.err, HasSubstr("this is not the recorded run"));
    EXPECT_NE(slurp("other/manifest.json"), slurp("out/manifest.json"));
    write_file(file, before);
    fs::remove_all("other");
  }
  EXPECT_EQ(run_fairlane({"run", "out/manifest.json", "--out", "again"}).code, 0);
  EXPECT_EQ(slurp("again/manifest.json"), slurp("out/manifest.json"));
  Outcome const useless = run_fairlane({"run", "config.yaml", "--allow-changed-inputs"});
  EXPECT_EQ(useless.code, static_cast<int>(ExitCode::kUsage));
}

TEST_F(Trust, WithoutPairsNothingIsChecked) {
  ASSERT_EQ(run_fairlane({"run", "config.yaml", "--set", "output.format=none"}).code, 0);
  Outcome const check = run_fairlane({"check", "out"});
  EXPECT_EQ(check.code, kIntegrity);
  EXPECT_THAT(check.err, HasSubstr("out: nothing was checked: output.format is none"));
}

TEST_F(Trust, AnEditedEnumerationIsRefused) {
  auto const against = [] {
    return run_fairlane({"run", "config.yaml", "-q", "--overwrite", "--against", "all"});
  };
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "all"}).code, 0);
  ASSERT_EQ(against().code, 0);
  std::string const summary = slurp("all/summary.json");
  auto const number = [](json const& value) { return value.dump(); };
  for (char const* name : {"unique_groups", "unique_instances", "groups", "undefined_groups"}) {
    SCOPED_TRACE(name);
    json edited = json::parse(summary);
    auto& count = edited["counts"][name];
    count = count.get<int>() + 2;
    // An edit that keeps the rates in step is noticed as well.
    edited["group_rate"] =
        edited["counts"]["unique_groups"].get<double>() / edited["counts"]["groups"].get<double>();
    edited["success_rate"] = edited["counts"]["unique_instances"].get<double>() /
                             edited["counts"]["inputs"].get<double>();
    write_file("all/summary.json", number(edited));
    Outcome const outcome = against();
    EXPECT_EQ(outcome.code, kIntegrity);
    EXPECT_THAT(outcome.err, HasSubstr("--against: all: "));
  }
  write_file("all/summary.json", summary);
  EXPECT_EQ(against().code, 0);
  edit_file("all/values.csv", "income,4,10,10", "income,4,10,9");
  EXPECT_THAT(against().err, HasSubstr("values.csv 19 for income"));
  edit_file("all/values.csv", "income,4,10,9", "income,4,12,10");
  EXPECT_THAT(against().err, HasSubstr("counts 100 groups, but values.csv 102 for income"));
  fs::remove("all/DONE");
  Outcome const unfinished = against();
  EXPECT_EQ(unfinished.code, kIntegrity);
  EXPECT_THAT(unfinished.err, HasSubstr("DONE"));
}

TEST_F(Trust, NothingTriedIsNoPass) {
  char const* const no_time = "budget.seconds=1e-30";
  Outcome const run = run_fairlane({"run", "config.yaml", "-q", "--set", no_time});
  EXPECT_EQ(run.code, kIntegrity);
  EXPECT_THAT(run.err, HasSubstr("before it tried an input"));
  std::vector<std::string> compare = {
      "compare", "config.yaml", "-q",        "--methods", "eidig,themis",
      "--out",   "compared",    "--repeats", "2",         "--set"};
  compare.push_back(no_time);
  Outcome const compared = run_fairlane(compare);
  EXPECT_EQ(compared.code, kIntegrity);
  EXPECT_THAT(compared.err, HasSubstr("nothing was compared"));
  undefine_all();
  compare.back() = "budget.evaluations=1000";
  compare.push_back("--overwrite");
  EXPECT_EQ(run_fairlane(compare).code, kIntegrity);
}

TEST_F(Trust, AMalformedEnumerationIsBadData) {
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "all"}).code, 0);
  std::string const values = slurp("all/values.csv");
  std::string const header = "attribute,value,groups,discriminatory_groups\n";
  std::vector<std::string> const spoilt = {
      "",
      header,                                   // no attribute at all
      values.substr(0, values.find("income")),  // one of two
      values.substr(0, values.size() - 1),      // cut short
      values + "income,4\n",                    //
      values + "income,4,x,10\n",               //
      values + "income,4,10,99999999999999999999\n",
      values + "income,4,-1,-1\n",
      values + "\n",
      "value,attribute" + values.substr(header.find(",groups")),
  };
  for (std::string const& text : spoilt) {
    SCOPED_TRACE(text);
    write_file("all/values.csv", text);
    Outcome const outcome =
        run_fairlane({"run", "config.yaml", "-q", "--overwrite", "--against", "all"});
    EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kData));
    EXPECT_THAT(outcome.err, StartsWith("fairlane: error: --against: all/values.csv: "));
  }
}

TEST_F(Trust, NamesWithCommasQuotesAndLineEndsAreReadBack) {
  edit_file("data.csv", "income", "\"in\"\"co,\nme\"");
  edit_file("domain.yaml", "income", "\"in\\\"co,\\nme\"");
  ASSERT_EQ(run_fairlane({"enumerate", "config.yaml", "--out", "all"}).code, 0);
  EXPECT_THAT(slurp("all/values.csv"), HasSubstr("\n\"in\"\"co,\nme\",4,10,10\n"));
  Outcome const outcome = run_fairlane({"run", "config.yaml", "-q", "--against", "all"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("recall"));
  EXPECT_EQ(run_fairlane({"check", "out"}).code, 0);
  EXPECT_THAT(run_fairlane({"inspect", "out"}).out, HasSubstr("in\"co,\\nme 4"));
}

TEST_F(Trust, AnAttributeMayHaveTheNameOfAResult) {
  for (char const* name : {"label", "pair_sex", "pair_label", "score", "pair_score", "seed"}) {
    SCOPED_TRACE(name);
    write_small_run();
    edit_file("data.csv", "income", name);
    edit_file("domain.yaml", "income", name);
    for (char const* format : {"csv", "npy"}) {
      ASSERT_EQ(run_fairlane({"run", "config.yaml", "--overwrite", "--set",
                              std::string("output.format=") + format})
                    .code,
                0);
      Outcome const check = run_fairlane({"check", "out"});
      EXPECT_EQ(check.code, 0) << format << check.err;
      Outcome const shown = run_fairlane({"inspect", "out"});
      EXPECT_EQ(shown.code, 0) << format << shown.err;
      if (std::string(format) == "csv") {
        EXPECT_THAT(shown.out, HasSubstr(std::string(name) + " 4"));
      }
    }
  }
}

TEST_F(Trust, ResultsBehindALinkAreThoseOfTheirFolder) {
  fs::create_directories("far/away/there");
  fs::create_directory_symlink("far/away", "link");
  fs::create_directory_symlink("far/away/there", "direct");
  for (std::string const dir : {"link/out", "direct"}) {
    SCOPED_TRACE(dir);
    ASSERT_EQ(run_fairlane({"run", "config.yaml", "--out", dir}).code, 0);
    Outcome const check = run_fairlane({"check", dir});
    EXPECT_EQ(check.code, 0) << check.err;
    Outcome const shown = run_fairlane({"inspect", dir});
    EXPECT_THAT(shown.out, HasSubstr("first findings")) << shown.err;
    Outcome const again = run_fairlane({"run", dir + "/manifest.json", "--out", "again"});
    EXPECT_EQ(again.code, 0) << again.err;
    fs::remove_all("again");
  }
  // A configuration, too, speaks of the files beside itself.
  ASSERT_EQ(run_fairlane({"init", "model.safetensors", "data.csv", "--out", "link/c.yaml"}).code,
            0);
  EXPECT_THAT(slurp("far/away/c.yaml"), HasSubstr("model: ../../model.safetensors\n"));
  for (char const* config : {"link/c.yaml", "far/away/c.yaml"}) {
    Outcome const run = run_fairlane({"run", config, "--out", "of"});
    EXPECT_EQ(run.code, 0) << run.err;
  }
}

}  // namespace
}  // namespace fairlane
