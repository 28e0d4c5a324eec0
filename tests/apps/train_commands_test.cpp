// fairlane train and retrain as a person uses them, on the demo's table.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/formats/json.h"
#include "models/keras/h5.h"
#include "models/train/forest.h"
#include "tests/apps/command_line.h"
#include "tests/checkout.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

/// A folder with the demo's files and a configuration.
class TrainingFolder {
 public:
  TrainingFolder() {
    for (char const* name : {"census.csv", "census.domain.yaml", "census.safetensors"})
      fs::copy(source_dir() + "/configs/demo/" + name, name);
    write_config("");
  }
  static void write_config(std::string const& more) {
    std::ofstream("config.yaml")
        << "model: census.safetensors\ndata: census.csv\ndomain: census.domain.yaml\n"
           "protected: [gender]\nglobal: {num: 50}\nlocal: {num: 50}\n"
           "train: {layers: [8], epochs: 4}\noutput: {dir: out}\n" +
               more;
  }

 private:
  WorkingFolder folder_;
};

/// Files of a directory with their bytes; summary.json without times.
std::map<std::string, std::string> results_in(std::string const& dir) {
  std::map<std::string, std::string> files;
  for (auto const& entry : fs::directory_iterator(dir)) {
    std::string const name = entry.path().filename().string();
    files[name] = slurp(entry.path());
    if (name != "summary.json") continue;
    Json summary = Json::parse(files[name]);
    summary.erase("timing");
    files[name] = summary.dump();
  }
  return files;
}

TEST(TrainCommand, WritesAModelThatCanBeTested) {
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  Outcome const outcome = run_fairlane({"train", "config.yaml", "-q"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "held out")) << outcome.out;
  auto const files = results_in("out");
  for (char const* name : {"DONE", "manifest.json", "summary.json", "model.safetensors", "model.h5",
                           "model.onnx", "run.yaml", "history.csv"})
    EXPECT_TRUE(files.contains(name)) << name;
  Json const summary = Json::parse(files.at("summary.json"));
  EXPECT_GT(summary.at("metrics").at("test").at("accuracy").get<double>(), 0.6);
  EXPECT_LE(summary.at("epochs").get<int>(), 4);
  Network const native = read_safetensors("out/model.safetensors");
  Network const keras = read_keras_h5("out/model.h5");
  for (std::size_t l = 0; l < native.layers.size(); ++l) {
    EXPECT_EQ(native.layers[l].weights, keras.layers[l].weights);
    EXPECT_EQ(native.layers[l].bias, keras.layers[l].bias);
  }
  Outcome const tested = run_fairlane(
      {"run", "out/run.yaml", "-q", "--set", "global.num=20", "--set", "local.num=20"});
  EXPECT_EQ(tested.code, 0) << tested.err;
}

TEST(TrainCommand, GivesTheSameBytesAgain) {
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  ASSERT_EQ(run_fairlane({"train", "config.yaml", "-q"}).code, 0);
  auto const once = results_in("out");
  ASSERT_EQ(run_fairlane({"train", "config.yaml", "-q", "--threads", "1"}).code, 0);
  EXPECT_EQ(once, results_in("out"));
  Outcome const other = run_fairlane({"train", "config.yaml", "-q", "--seed", "7"});
  EXPECT_EQ(other.code, static_cast<int>(ExitCode::kOutput)) << other.err;
  EXPECT_EQ(once, results_in("out"));
  ASSERT_EQ(run_fairlane({"train", "config.yaml", "-q", "--seed", "7", "--overwrite"}).code, 0);
  EXPECT_NE(once.at("model.safetensors"), results_in("out").at("model.safetensors"));
}

TEST(TrainCommand, NeedsNoModelButTakesItsShape) {
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  std::ofstream("config.yaml") << "data: census.csv\ndomain: census.domain.yaml\n"
                                  "protected: [gender]\ntrain: {epochs: 1}\noutput: {dir: out}\n";
  ASSERT_EQ(run_fairlane({"train", "config.yaml", "-q"}).code, 0);
  EXPECT_EQ(read_safetensors("out/model.safetensors").layers.size(), 6U);
  ASSERT_EQ(run_fairlane({"train", "config.yaml", "-q", "--out", "like", "--set",
                          "model=census.safetensors"})
                .code,
            0);
  Network const like = read_safetensors("census.safetensors");
  Network const trained = read_safetensors("like/model.safetensors");
  ASSERT_EQ(trained.layers.size(), like.layers.size());
  for (std::size_t l = 0; l < like.layers.size(); ++l)
    EXPECT_EQ(trained.layers[l].outputs, like.layers[l].outputs);
  EXPECT_NE(trained.layers[0].weights, like.layers[0].weights);
}

TEST(TrainCommand, SaysWhatIsWrong) {
  struct Wrong {
    std::vector<std::string> set;
    ExitCode code;
    std::vector<std::string> parts;
  };
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  for (Wrong const& wrong :
       {Wrong{{"train.layers=[0]"}, ExitCode::kConfig, {"train.layers", "1..65536"}},
        Wrong{{"train.layers=[]"}, ExitCode::kConfig, {"train.layers", "a list of 1 to"}},
        Wrong{{"train.test=1"}, ExitCode::kConfig, {"train.test", "0..0.9"}},
        Wrong{{"train.layer=[3]"}, ExitCode::kConfig, {"train.layer", "did you mean", "layers"}},
        Wrong{{"train.optimizer=adams"}, ExitCode::kConfig, {"adams", "did you mean", "adam"}},
        Wrong{{"train.test=0.9", "train.validation=0.9"}, ExitCode::kData, {"too few"}},
        Wrong{{"data=null"}, ExitCode::kConfig, {"data"}}}) {
    std::vector<std::string> arguments = {"train", "config.yaml", "-q"};
    for (std::string const& set : wrong.set) arguments.insert(arguments.end(), {"--set", set});
    Outcome const outcome = run_fairlane(arguments);
    EXPECT_EQ(outcome.code, static_cast<int>(wrong.code)) << outcome.err;
    for (std::string const& part : wrong.parts)
      EXPECT_TRUE(contains(outcome.err, part)) << part << "\nin: " << outcome.err;
    EXPECT_FALSE(fs::exists("out"));
  }
}

TEST(TrainCommand, SaysHowToGetLibTorch) {
  TrainingFolder const folder;
  PluginDir const dir("/nonexistent");
  for (char const* command : {"train", "retrain"}) {
    Outcome const outcome = run_fairlane({command, "config.yaml", "-q"});
    EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kUnavailable)) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "libtorch-dev")) << outcome.err;
    EXPECT_FALSE(fs::exists("out/DONE"));
  }
}

class RetrainRecipe : public testing::TestWithParam<char const*> {};

TEST_P(RetrainRecipe, JudgesEveryCandidateAndTakesTheBest) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  TrainingFolder const folder;
  TrainingFolder::write_config(
      "retrain: {candidates: 2, accuracy_lost: 0.1, check_evaluations: 5000}\n");
  std::vector<std::string> const command = {"retrain",
                                            "config.yaml",
                                            "-q",
                                            "--set",
                                            std::string("retrain.recipe=") + GetParam(),
                                            "--set",
                                            "train.epochs=12",
                                            "--set",
                                            "output.words=true",
                                            "--set",
                                            "output.plausibility=true"};
  std::string const original = slurp("census.safetensors");
  Outcome const outcome = run_fairlane(command);
  ASSERT_TRUE(outcome.code == 0 || outcome.code == static_cast<int>(ExitCode::kPartly))
      << outcome.err;
  EXPECT_EQ(slurp("census.safetensors"), original);
  auto const files = results_in("out");
  Json const summary = Json::parse(files.at("summary.json"));
  EXPECT_EQ(summary.at("taken").is_null(), outcome.code != 0);
  EXPECT_EQ(files.contains("model.safetensors"), outcome.code == 0);
  EXPECT_GE(summary.at("candidates").size(), 1U);
  if (outcome.code == 0) {
    double least = 1.0;
    for (auto const& one : summary.at("candidates"))
      least = std::min(least, one.at("domain_share").at("share").get<double>());
    auto const& taken = summary.at("candidates")[summary.at("taken").get<std::size_t>()];
    EXPECT_EQ(taken.at("domain_share").at("share").get<double>(), least);
    auto const joint = [&](char const* side) {
      return summary.at(side).at("fairness").at("joint").at("share").get<double>();
    };
    EXPECT_LT(joint("after"), joint("before"));
    // The written model has the share that is told: the demo is small enough to be counted.
    Outcome const counted =
        run_fairlane({"enumerate", "out/run.yaml", "--out", "counted", "--json", "-q"});
    ASSERT_EQ(counted.code, 0) << counted.err;
    EXPECT_EQ(Json::parse(counted.out).at("success_rate").get<double>(), joint("after"));
  }
  std::vector<std::string> again = command;
  again.insert(again.end(), {"--out", "again"});
  run_fairlane(again);
  auto other = results_in("again");
  EXPECT_EQ(other.at("summary.json"), files.at("summary.json"));
  if (outcome.code == 0) {
    EXPECT_EQ(other.at("model.safetensors"), files.at("model.safetensors"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RetrainRecipe,
                         testing::Values("consistency", "eidig", "aequitas", "unaware"));

TEST(RetrainCommand, SearchesTheBestModelInFurtherRounds) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  TrainingFolder const folder;
  TrainingFolder::write_config(
      "retrain: {recipe: eidig, rounds: 4, share: 1, accuracy_lost: 0.2, f1_lost: 0.5, "
      "members: all, check_evaluations: 0}\n");
  Outcome const outcome =
      run_fairlane({"retrain", "config.yaml", "-q", "--json", "--set", "train.epochs=40"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const summary = Json::parse(outcome.out);
  Json const& rounds = summary.at("rounds");
  Json const& candidates = summary.at("candidates");
  ASSERT_GE(candidates.size(), 2U) << outcome.out;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates[i].at("round").get<std::size_t>(), i);
    // Both members of each pair, and the rows of earlier rounds.
    rows += 2 * rounds[i].at("unique_instances").get<std::int64_t>();
    EXPECT_EQ(candidates[i].at("added_rows").get<std::int64_t>(), rows);
  }
  // It ends with a round that finds nothing or brings no better model, or with the last one.
  auto const taken = summary.at("taken").get<std::size_t>();
  if (rounds.size() > candidates.size()) {
    EXPECT_EQ(rounds[rounds.size() - 1].at("unique_instances"), 0);
  } else if (rounds.size() < 4) {
    EXPECT_EQ(taken, candidates.size() - 2);
  }
  // All that the last one learnt from.
  std::string const added = slurp("out/added.csv");
  EXPECT_EQ(static_cast<std::int64_t>(std::ranges::count(added, '\n')) - 1, rows);
}

TEST(RetrainCommand, LeavesNoIdiToAnUnawareModel) {
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  TrainingFolder::write_config(
      "retrain: {recipe: unaware, accuracy_lost: 1, f1_lost: 1, target: 0}\n");
  Outcome const outcome = run_fairlane({"retrain", "config.yaml", "-q", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json const summary = Json::parse(outcome.out);
  EXPECT_EQ(summary.at("after").at("fairness").at("joint").at("share"), 0.0);
  EXPECT_EQ(summary.at("after").at("fairness").at("margin").at("unique_groups"), 0);
  EXPECT_EQ(summary.at("target_reached"), true);
}

TEST(RetrainCommand, ExportsASetAndJudgesAModel) {
  FL_NEED_TORCH(dir);
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)";
  TrainingFolder const folder;
  TrainingFolder::write_config("retrain: {recipe: eidig, accuracy_lost: 1}\n");
  Outcome const exported = run_fairlane({"retrain", "config.yaml", "-q", "--export"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_FALSE(fs::exists("out/model.safetensors"));
  std::string const set = slurp("out/retraining.csv");
  EXPECT_TRUE(contains(set.substr(0, set.find('\n')), ",approved,added"));
  // Another program's work: a network of the set.
  Outcome const trained = run_fairlane(
      {"train", "config.yaml", "-q", "--out", "theirs", "--set", "data=out/retraining.csv"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  Outcome const judged = run_fairlane({"retrain", "config.yaml", "-q", "--json", "--out", "judged",
                                       "--evaluate", "theirs/model.h5"});
  ASSERT_TRUE(judged.code == 0 || judged.code == static_cast<int>(ExitCode::kPartly)) << judged.err;
  Json const summary = Json::parse(judged.out);
  ASSERT_EQ(summary.at("candidates").size(), 1U);
  EXPECT_TRUE(summary.at("recipe").is_null());
  EXPECT_FALSE(fs::exists("judged/model.safetensors"));
  Outcome const both =
      run_fairlane({"retrain", "config.yaml", "-q", "--export", "--evaluate", "theirs/model.h5"});
  EXPECT_EQ(both.code, static_cast<int>(ExitCode::kUsage));
}

TEST(RetrainCommand, TakesNoModelThatAlwaysDecidesTheSame) {
  FL_NEED_TORCH(dir);
  constexpr int kBothLabels = 4;  // rows that keep their label
  TrainingFolder const folder;
  TrainingFolder::write_config(
      "retrain: {recipe: consistency, candidates: 1, accuracy_lost: 1, f1_lost: 1, "
      "check_evaluations: 0}\n");
  // All rows but a few have one label, so that a network learns to decide nothing else.
  std::istringstream table(slurp("census.csv"));
  std::string uniform;
  int number = 0;
  for (std::string line; std::getline(table, line); ++number) {
    if (number > kBothLabels) line.back() = '1';
    uniform += line + "\n";
  }
  std::ofstream("census.csv") << uniform;
  Outcome const refused =
      run_fairlane({"retrain", "config.yaml", "-q", "--json", "--set", "train.learning_rate=0.05"});
  EXPECT_EQ(refused.code, static_cast<int>(ExitCode::kPartly)) << refused.err;
  Json const summary = Json::parse(refused.out);
  Json const& candidate = summary.at("candidates")[0];
  ASSERT_EQ(candidate.at("validation").at("decided_classes"), 1);
  ASSERT_EQ(candidate.at("domain_share").at("share"), 0.0);
  EXPECT_TRUE(summary.at("taken").is_null());
}

TEST(RetrainCommand, WritesNothingWhereNothingIsBetter) {
  FL_NEED_TORCH(dir);
  TrainingFolder const folder;
  TrainingFolder::write_config(
      "retrain: {recipe: consistency, candidates: 1, accuracy_lost: 0, target: 0}\n");
  // One epoch of a tiny rate teaches nothing.
  Outcome const outcome = run_fairlane({"retrain", "config.yaml", "-q", "--set",
                                        "train={epochs: 1, layers: [2], "
                                        "learning_rate: 1.0e-9, patience: null}"});
  EXPECT_EQ(outcome.code, static_cast<int>(ExitCode::kPartly)) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "No candidate is better")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "target was not reached")) << outcome.out;
  EXPECT_FALSE(fs::exists("out/model.safetensors"));
}

}  // namespace
}  // namespace fairlane
