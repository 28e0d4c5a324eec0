// fairlane init: what it writes for a network and a table.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/init/protected_columns.h"
#include "base/error.h"
#include "models/data/domain_yaml.h"
#include "models/safetensors.h"
#include "tests/apps/command_line.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// Writes model.safetensors: logit = bias + weights * inputs.
void write_logistic(std::vector<float> const& weights, float bias) {
  DenseLayer layer;
  layer.name = "decision";
  layer.inputs = static_cast<int>(weights.size());
  layer.outputs = 1;
  layer.activation = Activation::kSigmoid;
  layer.weights = weights;
  layer.bias = {bias};
  Network network;
  network.layers = {layer};
  write_safetensors(network, "model.safetensors");
}

/// Writes people.csv: nurses and men are approved.
void write_people() {
  write_file("people.csv",
             "age,job,sex,team,class\n30,smith,male,a,1\n31,nurse,female,b,1\n32,clerk,female,c,0\n"
             "34,smith,female,a,0\n33,clerk,male,b,1\n40,nurse,male,c,1\n");
}

Outcome init_people(std::vector<std::string> const& more = {}) {
  std::vector<std::string> words = {"init", "model.safetensors", "people.csv", "--force"};
  words.insert(words.end(), more.begin(), more.end());
  return run_fairlane(words);
}

class InitTest : public testing::Test {
 protected:
  void SetUp() override { write_small_run(); }

 private:
  WorkingFolder folder_;
};

TEST_F(InitTest, WritesWhatRunTakes) {
  Outcome const outcome =
      run_fairlane({"init", "model.safetensors", "data.csv", "--out", "new/c.yaml"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "guessed")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "100.0 % of 40 rows")) << outcome.out;
  Domain const domain = read_domain_yaml("new/c.domain.yaml");
  EXPECT_EQ(domain.label, "class");
  EXPECT_TRUE(domain.attributes[0].is_protected);
  EXPECT_FALSE(domain.attributes[1].is_protected);
  EXPECT_TRUE(domain.attributes[2].is_protected);
  Outcome const run = run_fairlane({"run", "new/c.yaml", "--set", "local.num=5"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(fs::exists("new/results/c/DONE"));
}

TEST_F(InitTest, TakesNamesAndText) {
  write_file("people.csv", "f,income,sex,y z\n1,2,male,1\n2,9,female,0\n3,4,male,1\n");
  Outcome const outcome =
      run_fairlane({"init", "model.safetensors", "people.csv", "--protected", "f,sex", "--label",
                    "y z", "--domain", "d.yaml", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Domain const domain = read_domain_yaml("d.yaml");
  EXPECT_EQ(domain.attributes[2].categories, (std::vector<std::string>{"female", "male"}));
  EXPECT_TRUE(domain.attributes[0].is_protected);
  EXPECT_EQ(run_fairlane({"run", "people.yaml"}).code, 0);
}

TEST_F(InitTest, LeavesNothingBehindWhenItFails) {
  // Every attribute protected: the configuration would not run.
  EXPECT_NE(run_fairlane({"init", "model.safetensors", "data.csv", "--out", "c.yaml", "--protected",
                          "age,income,sex"})
                .code,
            0);
  EXPECT_FALSE(fs::exists("c.yaml"));
  EXPECT_FALSE(fs::exists("c.domain.yaml"));
}

TEST_F(InitTest, ForceLosesNothingWhenItFails) {
  std::vector<std::string> const files = {"c.yaml", "c.domain.yaml", "c.age.yaml"};
  auto const write_old = [&] {
    for (std::string const& file : files) write_file(file, "old " + file);
  };
  auto const expect_old = [&] {
    for (std::string const& file : files) EXPECT_EQ(slurp(file), "old " + file);
  };
  std::vector<std::string> const words = {
      "init", "model.safetensors", "data.csv", "--out", "c.yaml", "--force"};
  auto const with = [&](std::vector<std::string> const& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_fairlane(all);
  };
  write_old();
  // What would be written does not run.
  EXPECT_EQ(with({"--protected", "age,income,sex"}).code, static_cast<int>(ExitCode::kConfig));
  expect_old();
  // The last of the files cannot be written.
  fs::create_directory("c.sex.yaml");
  Outcome const blocked = with({"--protected", "age,sex"});
  EXPECT_EQ(blocked.code, static_cast<int>(ExitCode::kOutput));
  EXPECT_EQ(blocked.err,
            "fairlane: error: c.sex.yaml: is a directory, expected a file or a new name\n");
  expect_old();
  std::set<std::string> names;
  for (auto const& entry : fs::directory_iterator(".")) names.insert(entry.path().filename());
  EXPECT_EQ(names,
            (std::set<std::string>{"c.age.yaml", "c.domain.yaml", "c.sex.yaml", "c.yaml",
                                   "config.yaml", "data.csv", "domain.yaml", "model.safetensors"}));
  fs::remove("c.sex.yaml");
  EXPECT_EQ(with({"--protected", "age,sex"}).code, 0);
  for (std::string const& file : files) EXPECT_NE(slurp(file), "old " + file);
}

TEST_F(InitTest, ADeviceOrAPipeStaysWhatItIs) {
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  for (std::vector<std::string> const& names :
       {std::vector<std::string>{"--out", "pipe"}, {"--out", "c.yaml", "--domain", "pipe"}}) {
    std::vector<std::string> words = {"init", "model.safetensors", "data.csv", "--force"};
    words.insert(words.end(), names.begin(), names.end());
    Outcome const outcome = run_fairlane(words);
    EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kOutput)) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "pipe: is a device or a pipe")) << outcome.err;
    EXPECT_TRUE(fs::is_fifo("pipe"));
    EXPECT_FALSE(fs::exists("c.yaml"));
  }
}

TEST_F(InitTest, AFolderThatItCreatedGoesWhenItFails) {
  EXPECT_NE(run_fairlane({"init", "model.safetensors", "data.csv", "--out", "new/deep/c.yaml",
                          "--protected", "age,income,sex"})
                .code,
            0);
  EXPECT_FALSE(fs::exists("new"));
}

TEST_F(InitTest, NoLabelIsInvented) {
  write_file("people.csv", "label,income,sex\n3,2,0\n4,9,1\n5,4,0\n");
  Outcome const outcome = init_people();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string const text = slurp("people.domain.yaml");
  EXPECT_TRUE(contains(outcome.err, "no column is left for labels: all 3")) << outcome.err;
  EXPECT_FALSE(contains(text, "\nlabel:")) << text;
  EXPECT_TRUE(contains(text, "{name: label, low: 3, high: 5}")) << text;
  EXPECT_EQ(run_fairlane({"run", "people.yaml"}).code, 0);
}

TEST_F(InitTest, WhatIsNoCodeIsNamed) {
  write_file("people.csv", "age,income,sex,class\n1,2.5,0,1\n2,3,1,0\n3,4,1,0\n");
  EXPECT_TRUE(contains(init_people().err, "no integer codes, such as '2.5'"));
  write_file("people.csv", "age,income,sex,class\n1,2,0,1\n2,99999999,1,0\n3,4,1,0\n");
  EXPECT_TRUE(contains(init_people().err, "no integer codes, such as '99999999'"));
  write_file("people.csv", "age,income,sex,class\n1,2,0,1\n2,3,0,0\n");
  Outcome const single = init_people({"--protected", "sex"});
  EXPECT_EQ(single.code, static_cast<int>(ExitCode::kData));
  EXPECT_TRUE(contains(single.err, "column 'sex' of people.csv has a single value")) << single.err;
}

TEST_F(InitTest, TextIsOneHotWhereThatGivesTheModelsInputs) {
  struct Case {
    std::vector<float> weights;  // age; clerk, nurse, smith; female, male; a, b, c
    float bias;
    std::vector<std::string> encodings;  // of job, sex, team
  };
  std::string const all = "one-hot";
  std::string const but_first = "one-hot but the first";
  std::vector<Case> const cases = {
      {{0, 0, 1, 0, 0, 1, 0, 0, 0}, -0.5F, {all, all, all}},
      {{0, 0, 1, 0, 1, 0, 0, 0}, -0.5F, {all, but_first, all}},
      {{0, 1, 0, 1, 0, 0}, -0.5F, {but_first, but_first, but_first}},
  };
  write_people();
  for (Case const& c : cases) {
    write_logistic(c.weights, c.bias);
    Outcome const outcome = init_people();
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(contains(outcome.out, "100.0 % of 6 rows")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, "4 as " + std::to_string(c.weights.size()) + " inputs"))
        << outcome.out;
    EXPECT_TRUE(contains(outcome.err, "one-hot")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "ways of giving the table")) << outcome.err;
    Domain const domain = read_domain_yaml("people.domain.yaml");
    ASSERT_EQ(domain.size(), 4);
    EXPECT_EQ(domain.attributes[0].encoding.text(), "identity");
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(domain.attributes[i + 1].encoding.text(), c.encodings[i]) << c.weights.size();
    EXPECT_EQ(run_fairlane({"run", "people.yaml", "--overwrite"}).code, 0);
  }
}

TEST_F(InitTest, EqualCountsEncodeNothing) {
  write_people();
  write_logistic({0, 1, 1, 0}, -0.5F);
  Outcome const outcome = init_people();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "codes in alphabetical order")) << outcome.err;
  EXPECT_FALSE(contains(slurp("people.domain.yaml"), "encoding")) << slurp("people.domain.yaml");
}

TEST_F(InitTest, ATableWithoutLabelsMayBeOneHot) {
  write_file("people.csv", "age,team\n30,a\n31,b\n32,c\n");
  write_logistic({0, 0, 0, 1}, -0.5F);
  Outcome const outcome = init_people();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "2 as 4 inputs, label absent")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "--standardise")) << outcome.err;
}

TEST_F(InitTest, SaysWhereTheLastColumnMayBeTheLabel) {
  write_file("people.csv", "age,team,class\n30,a,1\n31,b,0\n");
  write_logistic({0, 0, 1}, -0.5F);
  Outcome const outcome = init_people();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "label absent")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "--label class")) << outcome.err;
  Outcome const named = init_people({"--label", "class", "--json"});
  ASSERT_EQ(named.code, 0) << named.err;
  auto const json = nlohmann::json::parse(named.out);
  EXPECT_EQ(json.at("attributes"), 2);
  EXPECT_EQ(json.at("inputs"), 3);
  // One-hot in the table's order agrees with neither row, before the number with one.
  EXPECT_EQ(json.at("tried").at(0).at("agreement"), 0.0);
  EXPECT_EQ(json.at("agreement"), 0.5);
  EXPECT_EQ(json.at("majority"), 0.5);
}

TEST_F(InitTest, StandardiseTakesMeanAndStdOfTheTable) {
  std::string table = "age,income,sex,class\n";
  for (int i = 0; i < 8; ++i) {
    table += "3," + std::to_string(i * i) + (i % 2 == 0 ? ",0" : ",1") + (i > 4 ? ",1\n" : ",0\n");
  }
  write_file("people.csv", table);  // income is 17.5 in the mean, between 16 and 25
  write_logistic({5, 1, 0}, 0.0F);
  Outcome const outcome = init_people({"--standardise"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "100.0 % of 8 rows")) << outcome.out;
  Domain const domain = read_domain_yaml("people.domain.yaml");
  EXPECT_EQ(domain.attributes[0].encoding.text(), "affine (mean 3, std 1)") << "a constant";
  Encoding const& income = domain.attributes[1].encoding;
  EXPECT_EQ(income.kind, EncodingKind::kAffine);
  EXPECT_DOUBLE_EQ(income.mean, 17.5);
  // The mean of the fourth powers of 0..7 is 584.5.
  EXPECT_NEAR(income.std, std::sqrt(584.5 - 17.5 * 17.5), 1e-12);
  EXPECT_EQ(domain.attributes[2].encoding.text(), "affine (mean 0.5, std 0.5)");
  // Without the flag, too: as they are, the numbers agree less with the labels.
  std::string const standardised = slurp("people.domain.yaml");
  ASSERT_EQ(init_people().code, 0);
  EXPECT_EQ(slurp("people.domain.yaml"), standardised);
}

TEST_F(InitTest, StandardiseLeavesTextOneHot) {
  write_people();
  write_logistic({0, 0, 1, 0, 0, 1, 0, 0, 0}, -0.5F);
  Outcome const outcome = init_people({"--standardise"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "100.0 % of 6 rows")) << outcome.out;
  Domain const domain = read_domain_yaml("people.domain.yaml");
  EXPECT_EQ(domain.attributes[0].encoding.kind, EncodingKind::kAffine);
  EXPECT_EQ(domain.attributes[1].encoding.kind, EncodingKind::kOneHot);
}

TEST_F(InitTest, GapsBetweenFewCodesAreMentioned) {
  write_file("people.csv", "age,income,sex,class\n10,1,0,0\n11,2,1,0\n12,4,0,0\n13,8,3,1\n");
  ASSERT_EQ(init_people().code, 0);
  std::string const text = slurp("people.domain.yaml");
  EXPECT_TRUE(contains(text, "#   income: 1, 2, 4, 8\n#   sex: 0, 1, 3\n")) << text;
  EXPECT_FALSE(contains(text, "#   age")) << text;
  EXPECT_TRUE(contains(text, "income, low: 1, high: 8}")) << text;
}

TEST(InitTable, ProtectedNamesAreRecognised) {
  for (char const* name : {"age", "Age", "AgeInYears", "PersonStatusSex", "sex", "gender_code",
                           "RACE", "native-nationality"}) {
    EXPECT_TRUE(is_protected_name(name)) << name;
  }
  for (char const* name : {"wage", "mortgage", "sexton", "trace", "education", "", "agency"}) {
    EXPECT_FALSE(is_protected_name(name)) << name;
  }
}

}  // namespace
}  // namespace fairlane
