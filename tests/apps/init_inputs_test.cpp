// fairlane init: how it finds out what the columns of a table are to a model.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "models/data/domain.h"
#include "models/data/domain_yaml.h"
#include "models/model.h"
#include "models/safetensors.h"
#include "tests/apps/command_line.h"
#include "tests/checkout.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Writes a network of one layer: logits = bias + weights * inputs.
/// weights  [inputs][outputs]
void write_layer(std::string const& path, int inputs, std::vector<float> const& weights,
                 std::vector<float> const& bias) {
  DenseLayer layer;
  layer.name = "decision";
  layer.inputs = inputs;
  layer.outputs = static_cast<int>(bias.size());
  layer.activation = bias.size() == 1 ? Activation::kSigmoid : Activation::kSoftmax;
  layer.weights = weights;
  layer.bias = bias;
  Network network;
  network.layers = {layer};
  write_safetensors(network, path);
}

Names names_of(Domain const& domain) {
  Names names;
  for (Attribute const& attribute : domain.attributes) names.push_back(attribute.name);
  return names;
}

nlohmann::json init_json(std::vector<std::string> words) {
  words.insert(words.begin(), "init");
  words.insert(words.end(), {"--json", "--force"});
  Outcome const outcome = run_fairlane(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
}

/// A refusal: one line that holds all parts.
void expect_refused(int code, std::vector<std::string> const& words, Names const& parts) {
  Outcome const outcome = run_fairlane(words);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  for (std::string const& part : parts) EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

class InitInputsTest : public testing::Test {
 private:
  WorkingFolder folder_;
};

TEST_F(InitInputsTest, TheOrderAndScaleThatAgreeBestAreTaken) {
  // Trained on [hours in 0..1, age in 0..1, job = a, job = b, job = c], and the table begins with
  // the text: 1 where hours outweigh age, unless the job is c.
  write_layer("m.safetensors", 5, {8, -8, 0, 0, -4}, {0.0F});
  std::string table = "job,hours,age,class\n";
  for (int i = 0; i < 60; ++i) {
    int const hours = 10 + i * 7 % 31;
    int const age = 20 + i * 13 % 41;
    char const job = static_cast<char>('a' + i % 3);
    double const logit = 8.0 * (hours - 10) / 30 - 8.0 * (age - 20) / 40 - (job == 'c' ? 4.0 : 0.0);
    table += std::string(1, job) + "," + std::to_string(hours) + "," + std::to_string(age) +
             (logit > 0.0 ? ",1\n" : ",0\n");
  }
  write_file("t.csv", table);
  auto const json = init_json({"m.safetensors", "t.csv"});
  EXPECT_EQ(json.at("agreement"), 1.0);
  EXPECT_EQ(json.at("encoding"), "numbers scaled to 0..1, text one-hot, text behind the numbers");
  EXPECT_EQ(json.at("tried").size(), 6U);
  for (auto const& tried : json.at("tried")) {
    EXPECT_TRUE(tried.at("agreement") < 1.0 || tried.at("encoding") == json.at("encoding"))
        << tried.dump();
  }
  Domain const domain = read_domain_yaml("t.domain.yaml");
  EXPECT_EQ(names_of(domain), (Names{"hours", "age", "job"}));
  EXPECT_EQ(domain.attributes[0].encoding.text(), "affine (mean 10, std 30)");
  EXPECT_EQ(domain.attributes[2].encoding.text(), "one-hot");
  Outcome const people = run_fairlane({"init", "m.safetensors", "t.csv", "--force"});
  EXPECT_TRUE(contains(people.err, "6 ways")) << people.err;
  EXPECT_TRUE(contains(people.err, "100.0 % with numbers scaled to 0..1")) << people.err;
  EXPECT_EQ(run_fairlane({"run", "t.yaml"}).code, 0);
}

TEST_F(InitInputsTest, NamesThatTheModelKnowsDecideTheOrder) {
  std::string const model = source_dir() + "/tests/models/exported/classical/named_forest2.onnx";
  auto const scorer = load_model(model, 0, {}).scorer();
  std::string table = "id,e,d,c,b,a,class\n";
  for (int i = 0; i < 50; ++i) {
    int const e = i % 8;
    int const d = i * 3 % 8;
    int const c = i * 5 / 3 % 8;
    int const b = i * 7 / 5 % 8;
    int const a = i * 11 / 7 % 8;
    std::vector<float> const row = {static_cast<float>(d), static_cast<float>(b),
                                    static_cast<float>(a), static_cast<float>(c),
                                    static_cast<float>(e)};
    float score = 0.0F;
    scorer->score(row.data(), 1, &score);
    table += "x" + std::to_string(i) + "," + std::to_string(e) + "," + std::to_string(d) + "," +
             std::to_string(c) + "," + std::to_string(b) + "," + std::to_string(a) + "," +
             (score > 0.5F ? "1\n" : "0\n");
  }
  write_file("t.csv", table);
  auto const json = init_json({model, "t.csv", "--protected", "a"});
  EXPECT_EQ(json.at("named"), true);
  EXPECT_EQ(json.at("label"), "class");
  EXPECT_EQ(json.at("agreement"), 1.0);
  EXPECT_EQ(names_of(read_domain_yaml("t.domain.yaml")), (Names{"d", "b", "a", "c", "e"}));
  Outcome const people = run_fairlane({"init", model, "t.csv", "--protected", "a", "--force"});
  EXPECT_TRUE(contains(people.err, "left out: id")) << people.err;
  EXPECT_EQ(run_fairlane({"run", "t.yaml", "--set", "local.num=5"}).code, 0);
}

/// Trees that ask only for the inputs of these names; each is 1 where its input is above a half.
void write_named_trees(Names const& features, std::size_t decisive) {
  nlohmann::json const tree = {{"feature", {decisive}},
                               {"threshold", {0.5}},
                               {"left", {-1}},
                               {"right", {-2}},
                               {"leaves", {-1.0, 1.0}}};
  nlohmann::json const file = {{"format", "fairlane-trees"},
                               {"version", 1},
                               {"library", "test"},
                               {"features", features},
                               {"inputs", features.size()},
                               {"scores", "logits"},
                               {"base", {0.0}},
                               {"leaf", "number"},
                               {"divisor", 1},
                               {"cut", 0.0},
                               {"trees", nlohmann::json::array({tree})}};
  write_file("trees.json", file.dump());
}

constexpr char const* kPeople =
    "sex,job,age,zone,class\nmale,smith,30,4,0\nfemale,nurse,31,7,1\nfemale,clerk,32,4,0\n"
    "male,smith,33,9,0\nfemale,nurse,34,9,1\nmale,nurse,35,7,1\n";

TEST_F(InitInputsTest, NamesOfCategoriesAreOneHot) {
  write_file("t.csv", kPeople);
  // As pandas names them; smiths and women have no input.
  write_named_trees({"age", "job_nurse", "job_clerk", "zone_4", "zone_7", "zone_9", "sex_male"}, 1);
  auto const json = init_json({"trees.json", "t.csv"});
  EXPECT_EQ(json.at("agreement"), 1.0);
  Domain const domain = read_domain_yaml("t.domain.yaml");
  EXPECT_EQ(names_of(domain), (Names{"age", "job", "zone", "sex"}));
  EXPECT_EQ(domain.attributes[1].categories, (Names{"smith", "nurse", "clerk"}));
  EXPECT_EQ(domain.attributes[1].encoding.text(), "one-hot but the first");
  EXPECT_EQ(domain.attributes[2].values, (std::vector<std::int32_t>{4, 7, 9}));
  EXPECT_EQ(domain.attributes[2].encoding.text(), "one-hot");
  EXPECT_EQ(domain.attributes[3].categories, (Names{"female", "male"}));
  EXPECT_EQ(run_fairlane({"run", "t.yaml"}).code, 0);

  // As scikit-learn's ColumnTransformer names them; only some categories have an input.
  write_named_trees(
      {"encode__job_nurse", "encode__sex_male", "encode__sex_female", "remainder__age"}, 0);
  EXPECT_EQ(init_json({"trees.json", "t.csv", "--label", "class"}).at("agreement"), 1.0);
  Domain const other = read_domain_yaml("t.domain.yaml");
  EXPECT_EQ(names_of(other), (Names{"job", "sex", "age"}));
  EXPECT_EQ(other.attributes[0].encoding.text(), "table of 3 x 1");
  EXPECT_EQ(other.attributes[1].categories, (Names{"male", "female"}));
}

TEST_F(InitInputsTest, NamesThatDoNotFitAreTold) {
  write_file("t.csv", kPeople);
  write_named_trees({"job_nurse", "age", "job_clerk"}, 0);
  expect_refused(65, {"init", "trees.json", "t.csv"},
                 {"the model names its inputs", "'job' are not side by side"});
  write_named_trees({"job_nurse", "age", "wage"}, 0);
  expect_refused(65, {"init", "trees.json", "t.csv"}, {"its input 'wage' is no column"});
  write_named_trees({"f0", "f1", "f2", "f3"}, 1);  // names that say nothing
  Outcome const outcome = run_fairlane({"init", "trees.json", "t.csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "names its inputs")) << outcome.err;
  expect_refused(64, {"init", "trees.json", "t.csv", "--force", "--label", "clas"}, {"'class'?"});
}

TEST_F(InitInputsTest, LessThanTheMajorityIsWarnedOf) {
  write_layer("m.safetensors", 1, {1.0F}, {-0.5F});
  write_file("t.csv", "age,class\n0,1\n1,0\n2,0\n3,0\n");
  Outcome const wrong = run_fairlane({"init", "m.safetensors", "t.csv", "--protected", "age"});
  EXPECT_NE(wrong.code, 0) << "a model of one protected attribute has nothing to vary";
  write_layer("m.safetensors", 2, {1.0F, 0.0F}, {0.0F});
  write_file("t.csv", "a,age,class\n0,1,1\n1,1,0\n2,1,0\n3,2,0\n");
  Outcome const outcome = run_fairlane({"init", "m.safetensors", "t.csv", "--standardise"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "warning: the model gives the table's label for 25.0 %"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "75.0 % of always answering")) << outcome.err;
  write_file("t.csv", "a,age,class\n0,1,0\n1,1,1\n2,1,1\n3,2,1\n");
  Outcome const right = run_fairlane({"init", "m.safetensors", "t.csv", "--force"});
  EXPECT_FALSE(contains(right.err, "always answering")) << right.err;
}

TEST_F(InitInputsTest, LabelsThatDoNotFitTheModelAreRefused) {
  write_layer("m.safetensors", 2, {1.0F, 0.0F}, {-1.5F});
  for (char const* labels : {"0,1,2,1", "no,yes,maybe,no", "1,2,3,1", "4,4,4,4", "0.5,0,1,1"}) {
    std::string table = "a,age,class\n";
    std::string const text = labels;
    int row = 0;
    for (std::size_t at = 0; at < text.size(); at = text.find(',', at) + 1, ++row) {
      table += std::to_string(row) + ",1," + text.substr(at, text.find(',', at) - at) + "\n";
      if (text.find(',', at) == std::string::npos) break;
    }
    write_file("t.csv", table);
    expect_refused(65, {"init", "m.safetensors", "t.csv"},
                   {"t.csv", "label column 'class'", "2 classes", "--label"});
    EXPECT_FALSE(fs::exists("t.yaml"));
  }
  write_layer("m.safetensors", 2, {0, 1, 2, 0, 0, 0}, {0, 0, 0});
  write_file("t.csv", "a,age,class\n0,1,0\n1,2,1\n2,1,2\n");
  EXPECT_EQ(run_fairlane({"init", "m.safetensors", "t.csv"}).code, 0);
  write_file("t.csv", "a,age,class\n0,1,0\n1,2,1\n2,1,2\n3,1,3\n");
  expect_refused(65, {"init", "m.safetensors", "t.csv", "--force"}, {"3 classes"});
}

TEST_F(InitInputsTest, WordsAndSignsAreMappedToClasses) {
  write_layer("m.safetensors", 2, {1.0F, 0.0F}, {-1.5F});
  struct Case {
    std::string low, high, expected;
  };
  for (Case const& c : std::vector<Case>{{"no", "yes", "labels: {\"no\": 0, \"yes\": 1}\n"},
                                         {"-1", "1", "labels: {\"-1\": 0, \"1\": 1}\n"},
                                         {"1", "2", "labels: {\"1\": 0, \"2\": 1}\n"},
                                         {"False", "True", "labels: {\"False\": 0, \"True\": 1}\n"},
                                         {"0", "1", ""}}) {
    std::string table = "a,age,class\n";
    for (int i = 0; i < 4; ++i)
      table +=
          std::to_string(i) + "," + std::to_string(i % 2) + "," + (i > 1 ? c.high : c.low) + "\n";
    write_file("t.csv", table);
    EXPECT_EQ(init_json({"m.safetensors", "t.csv"}).at("agreement"), 1.0) << c.low;
    std::string const domain = slurp("t.domain.yaml");
    EXPECT_TRUE(contains(domain, "label: class\n" + c.expected + "attributes:")) << domain;
    EXPECT_EQ(run_fairlane({"run", "t.yaml", "--out", "out-" + c.low}).code, 0) << c.low;
  }
}

TEST_F(InitInputsTest, DroppedColumnsAreNoInputs) {
  write_layer("m.safetensors", 2, {1.0F, 0.0F}, {-1.5F});
  write_file("t.csv", "id,a,age,score,class\nx,0,1,0.5,0\ny,2,0,0.25,1\n");
  expect_refused(65, {"init", "m.safetensors", "t.csv"}, {"5 columns"});
  expect_refused(64, {"init", "m.safetensors", "t.csv", "--drop", "id,scor"},
                 {"--drop", "'scor'", "'score'?"});
  auto const json = init_json({"m.safetensors", "t.csv", "--drop", "id,score"});
  EXPECT_EQ(json.at("label"), "class");
  EXPECT_EQ(names_of(read_domain_yaml("t.domain.yaml")), (Names{"a", "age"}));
  EXPECT_EQ(run_fairlane({"run", "t.yaml"}).code, 0);
}

TEST_F(InitInputsTest, EveryProtectedAttributeHasAConfiguration) {
  write_small_run();
  auto const json = init_json({"model.safetensors", "data.csv", "--out", "new/c.yaml"});
  ASSERT_EQ(json.at("configs").size(), 3U);
  std::vector<std::pair<std::string, Names>> const expected = {
      {"new/c.yaml", {"age", "sex"}}, {"new/c.age.yaml", {"age"}}, {"new/c.sex.yaml", {"sex"}}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(json.at("configs")[i].at("path"), expected[i].first);
    EXPECT_EQ(json.at("configs")[i].at("protected"), nlohmann::json(expected[i].second));
    EXPECT_EQ(run_fairlane({"run", expected[i].first, "--set", "local.num=2"}).code, 0);
    EXPECT_TRUE(contains(slurp(expected[i].first), "method: margin ")) << slurp(expected[i].first);
  }
  EXPECT_TRUE(fs::exists("new/results/c.sex/DONE"));
  fs::remove("new/c.yaml");
  fs::remove("new/c.domain.yaml");
  expect_refused(73, {"init", "model.safetensors", "data.csv", "--out", "new/c.yaml"},
                 {"new/c.age.yaml", "--force"});
  EXPECT_FALSE(fs::exists("new/c.yaml"));
}

/// Runs the line behind "Next: " as a shell does.
int run_next(std::string const& printed) {
  auto const at = printed.find("Next: ");
  EXPECT_NE(at, std::string::npos) << printed;
  std::string const line = printed.substr(at + 6, printed.find('\n', at) - at - 6);
  std::string const folder = fs::path(built_command()).parent_path().string();
  int const status =
      std::system(("PATH='" + folder + "':\"$PATH\"; " + line + " >out.txt 2>err.txt").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0) << line << "\n" << slurp("err.txt");
  return WEXITSTATUS(status);
}

TEST_F(InitInputsTest, TheNextStepWorksAsPrinted) {
  write_small_run();
  Outcome const network =
      run_fairlane({"init", "model.safetensors", "data.csv", "--out", "it's a folder/$c d.yaml"});
  ASSERT_EQ(network.code, 0) << network.err;
  EXPECT_EQ(run_next(network.out), 0);
  EXPECT_TRUE(fs::exists("it's a folder/results/$c d/DONE"));

  std::string const command =
      "exec:" + test_python() + " -B '" + source_dir() + "/tests/models/exec/child.py' echo";
  Outcome const program =
      run_fairlane({"init", command, "data.csv", "--out=-program.yaml", "--allow-exec",
                    "--exec-children", "1", "--exec-timeout", "50", "--protected", "sex"});
  ASSERT_EQ(program.code, 0) << program.err;
  EXPECT_TRUE(
      contains(program.out, "./-program.yaml --allow-exec --exec-children 1 --exec-timeout 50"))
      << program.out;
  EXPECT_TRUE(contains(slurp("-program.yaml"), "method: margin "));
  EXPECT_EQ(run_next(program.out), 0);
}

}  // namespace
}  // namespace fairlane
