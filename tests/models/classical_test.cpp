// Classical models in ONNX, as skl2onnx and onnxmltools write them and ONNX Runtime evaluates them:
// exported/classical/make_classical.py made the files.
#include <cmath>
#include <random>
#include <sstream>

#include "models/data/domain.h"
#include "models/model.h"
#include "models/onnx/onnx.h"
#include "models/onnx_trees.h"
#include "models/trees/scorer.h"
#include "tests/checkout.h"
#include "tests/models/expect_error.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

using Names = std::vector<std::string>;

std::string classical(std::string const& name) {
  return source_dir() + "/tests/models/exported/classical/" + name;
}

/// What ONNX Runtime says of a row, whose columns are a, b, c, d, e.
struct Answer {
  std::vector<float> row;
  int label = 0;
  std::vector<float> scores;
};

std::vector<Answer> answers_of(std::string const& name) {
  constexpr std::size_t kColumns = 5;
  std::istringstream lines(slurp(classical(name + ".csv")));
  std::string line;
  std::getline(lines, line);
  std::vector<Answer> answers;
  while (std::getline(lines, line)) {
    std::vector<float> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(std::stof(cell));
    Answer answer;
    answer.row.assign(cells.begin(), cells.begin() + kColumns);
    answer.label = static_cast<int>(cells[kColumns]);
    answer.scores.assign(cells.begin() + kColumns + 1, cells.end());
    answers.push_back(std::move(answer));
  }
  EXPECT_EQ(answers.size(), 60U) << name;
  return answers;
}

TEST(Classical, TreesGiveOnnxRuntimesSumsBitForBit) {
  for (char const* name : {"tree2", "forest2", "forest3", "boosting2", "boosting3", "xgboost2",
                           "xgboost3", "lightgbm2", "lightgbm3"}) {
    Model const model = load_model(classical(std::string(name) + ".onnx"), 0, {});
    ASSERT_TRUE(model.scorer()) << name;
    EXPECT_EQ(model.inputs(), 5) << name;
    bool const shares = std::string(name).find("tree") == 0 || std::string(name).find("for") == 0;
    EXPECT_EQ(model.scores(), shares ? ScoreKind::kProbabilities : ScoreKind::kLogits) << name;
    float const threshold = shares ? 0.5F : 0.0F;
    for (Answer const& answer : answers_of(name)) {
      std::vector<float> scores(answer.scores.size());
      ASSERT_EQ(static_cast<std::size_t>(model.outputs()), scores.size()) << name;
      model.scorer()->score(answer.row.data(), 1, scores.data());
      EXPECT_EQ(scores, answer.scores) << name;
      auto const best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      EXPECT_EQ(scores.size() == 1 ? (scores[0] > threshold ? 1 : 0) : best, answer.label) << name;
    }
  }
}

TEST(Classical, LinearModelsAreOneLayer) {
  for (char const* name : {"logistic2", "logistic3", "svc2", "named2"}) {
    Model const model = load_model(classical(std::string(name) + ".onnx"), 0, {});
    Network const& network = model.network("the test");
    ASSERT_EQ(network.layers.size(), 1U) << name;
    DenseLayer const& layer = network.layers[0];
    ASSERT_EQ(layer.inputs, 5) << name;
    bool const several = std::string(name) == "logistic3";
    ASSERT_EQ(layer.outputs, several ? 3 : 1) << name;
    EXPECT_EQ(layer.activation, several                       ? Activation::kSoftmax
                                : std::string(name) == "svc2" ? Activation::kLinear
                                                              : Activation::kSigmoid)
        << name;
    for (Answer const& answer : answers_of(name)) {
      std::vector<double> z(layer.bias.begin(), layer.bias.end());
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        z[i % z.size()] +=
            static_cast<double>(answer.row[i / z.size()]) * static_cast<double>(layer.weights[i]);
      }
      auto const best = std::max_element(z.begin(), z.end()) - z.begin();
      EXPECT_EQ(several ? best : (z[0] > 0.0 ? 1 : 0), answer.label) << name;
      double sum = 0.0;
      for (double const one : z) sum += std::exp(one);
      for (std::size_t k = 0; k < z.size(); ++k) {
        double const score = several                                    ? std::exp(z[k]) / sum
                             : layer.activation == Activation::kSigmoid ? 1 / (1 + std::exp(-z[k]))
                                                                        : z[k];
        constexpr double kRounding = 1e-5;  // of ONNX Runtime's float32 sums
        EXPECT_NEAR(score, static_cast<double>(answer.scores[k]), kRounding) << name;
      }
    }
  }
}

TEST(Classical, AnInputForEachColumnNamesIt) {
  EXPECT_EQ(load_model(classical("named2.onnx"), 0, {}).features(),
            (Names{"a", "b", "c", "d", "e"}));
  Model const forest = load_model(classical("named_forest2.onnx"), 0, {});
  EXPECT_EQ(forest.features(), (Names{"d", "b", "a", "c", "e"}));
  for (Answer const& answer : answers_of("named_forest2")) {
    std::vector<float> const row = {answer.row[3], answer.row[1], answer.row[0], answer.row[2],
                                    answer.row[4]};
    float score = 0.0F;
    forest.scorer()->score(row.data(), 1, &score);
    EXPECT_EQ(score, answer.scores[0]);
  }
  EXPECT_EQ(load_model(classical("logistic2.onnx"), 0, {}).features(), Names());
  // The names are held against the domain's order.
  Domain domain;
  for (char const* name : {"a", "b", "c", "d", "e"}) domain.attributes.emplace_back().name = name;
  expect_error(ExitCode::kData, {"named_forest2.onnx", "'d' as input 1", "attribute 4"},
               [&] { check_features(forest, domain); });
}

ProtobufWriter reals(std::string const& name, std::vector<float> const& values) {
  ProtobufWriter attribute;
  attribute.bytes(1, name);
  for (float const value : values) attribute.real(7, value);
  return attribute;
}
ProtobufWriter numbers(std::string const& name, std::vector<std::int64_t> const& values) {
  ProtobufWriter attribute;
  attribute.bytes(1, name);
  for (std::int64_t const value : values) attribute.number(8, value);
  return attribute;
}
ProtobufWriter words(std::string const& name, std::vector<std::string> const& values) {
  ProtobufWriter attribute;
  attribute.bytes(1, name);
  for (std::string const& value : values) attribute.bytes(9, value);
  return attribute;
}
ProtobufWriter word(std::string const& name, std::string const& value) {
  return ProtobufWriter().bytes(1, name).bytes(4, value);
}

/// A classifier whose only output is its scores.
std::string classifier(std::string const& op, OnnxAttributes const& attributes,
                       std::int64_t type = 1) {
  return OnnxWriter({-1, 2}, type).classifier(op, attributes).bytes();
}

/// A stump on input 1: x `mode` 2 ? yes : no.
struct Stump {
  std::string mode = "BRANCH_LEQ";
  std::vector<float> weights = {-1.0F, 1.0F};  // of yes and no
  std::vector<std::int64_t> classes = {0, 0};
  std::int64_t labels = 2;
  std::string transform = "LOGISTIC";
  std::vector<float> base = {};
  OnnxAttributes more = {};
  std::int64_t type = 1;

  std::string bytes() const {
    std::vector<std::int64_t> names;
    for (std::int64_t k = 0; k < labels; ++k) names.push_back(k);
    std::vector<std::int64_t> nodes;
    for (std::size_t i = 0; i < weights.size(); ++i)
      nodes.push_back(static_cast<std::int64_t>(i % 2) + 1);
    OnnxAttributes attributes = {
        numbers("nodes_treeids", {0, 0, 0}),
        numbers("nodes_nodeids", {0, 1, 2}),
        numbers("nodes_featureids", {1, 0, 0}),
        reals("nodes_values", {2.0F, 0.0F, 0.0F}),
        words("nodes_modes", {mode, "LEAF", "LEAF"}),
        numbers("nodes_truenodeids", {1, 0, 0}),
        numbers("nodes_falsenodeids", {2, 0, 0}),
        numbers("class_treeids", std::vector<std::int64_t>(weights.size())),
        numbers("class_nodeids", nodes),
        numbers("class_ids", classes),
        reals("class_weights", weights),
        numbers("classlabels_int64s", names),
        word("post_transform", transform)};
    if (!base.empty()) attributes.push_back(reals("base_values", base));
    attributes.insert(attributes.end(), more.begin(), more.end());
    return classifier("TreeEnsembleClassifier", attributes, type);
  }
};

TEST(Classical, EveryModeOfABranch) {
  struct Case {
    std::string mode;
    std::vector<float> expected;  // at 1, 2, 3
  };
  for (Case const& c : std::vector<Case>{{"BRANCH_LEQ", {-1, -1, 1}},
                                         {"BRANCH_LT", {-1, 1, 1}},
                                         {"BRANCH_GT", {1, 1, -1}},
                                         {"BRANCH_GTE", {1, -1, -1}},
                                         {"BRANCH_EQ", {1, -1, 1}},
                                         {"BRANCH_NEQ", {-1, 1, -1}}}) {
    auto trees = parse_onnx_trees(Stump{.mode = c.mode}.bytes(), "t.onnx");
    ASSERT_TRUE(trees) << c.mode;
    TreeScorer scorer(std::move(*trees), 1);
    for (std::size_t i = 0; i < 3; ++i) {
      float const row[] = {9.0F, static_cast<float>(i + 1)};
      float score = 0.0F;
      scorer.score(row, 1, &score);
      EXPECT_EQ(score, c.expected[i]) << c.mode << " " << i;
    }
  }
}

TEST(Classical, RefusesTreesThatItCannotRepresentExactly) {
  auto const refuse = [](Stump const& stump, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { parse_onnx_trees(stump.bytes(), "t.onnx"); });
  };
  EXPECT_TRUE(parse_onnx_trees(Stump().bytes(), "t.onnx"));
  refuse({.transform = "PROBIT"}, {"t.onnx:graph.node[0]", "'PROBIT'", "LOGISTIC or NONE"});
  refuse({.weights = {1.0F, 2.0F}}, {"no negative weight", "exec:"});
  refuse({.classes = {0, 1}}, {"both of two classes"});
  refuse({.weights = {1, 1, 2, 2}, .classes = {0, 0, 2, 2}, .labels = 3, .transform = "SOFTMAX"},
         {"leaf 1 of tree 0", "2 weights", "each of the 3"});
  refuse({.labels = 3, .transform = "SOFTMAX"}, {"classes without a tree"});
  refuse({.labels = 3, .transform = "LOGISTIC"}, {"'LOGISTIC'", "3 classes", "SOFTMAX"});
  refuse({.classes = {0, 7}}, {"class 7"});
  refuse({.base = {1.0F, 2.0F}}, {"2 base_values, expected 1"});
  refuse({.mode = "BRANCH_MEMBER"}, {"'BRANCH_MEMBER'"});
  refuse({.more = {word("nodes_values_as_tensor", "")}}, {"double precision"});
  refuse({.type = 11}, {"element type 11", "float32"});
  refuse({.type = 8}, {"element type 8"});
}

// Damaged files are read or refused in one line; see mutation_test.cpp.
TEST(Classical, DamagedFilesEndInOneLine) {
  for (char const* name : {"forest3", "xgboost2", "lightgbm3", "named_forest2", "named2", "svc2"}) {
    std::string const good = slurp(classical(std::string(name) + ".onnx"));
    int refused = 0;
    for (unsigned i = 0; i < 300; ++i) {
      SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(i));
      std::mt19937 random(i);
      std::string bad = good;
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
        std::size_t const at = random() % bad.size();
        if (random() % 3 == 0) {
          bad.erase(at, 1 + random() % 8);
        } else {
          bad[at] = static_cast<char>(random() % 2 == 0 ? random() : random() % 8);
        }
      }
      try {
        if (!parse_onnx_trees(bad, "damaged")) parse_onnx(bad, "damaged");
      } catch (Error const& error) {
        ++refused;
        EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
        for (char const c : std::string(error.what()))
          EXPECT_GE(static_cast<unsigned char>(c), 0x20) << error.what();
      }
    }
    EXPECT_GT(refused, 100) << name;
  }
}

// An input that is joined may be cast before, but not in a circle.
TEST(Classical, CirclesEnd) {
  OnnxWriter writer({-1, 1});
  writer.floats("w", {1, 1}, {2.0F})
      .side("Identity", {"around"}, "around")
      .from("around")
      .node("Concat", {}, {onnx_integer("axis", 1)})
      .node("MatMul", {"w"});
  expect_error(ExitCode::kData, {"net.onnx", "depends on its own output"},
               [&] { parse_onnx(writer.bytes(), "net.onnx"); });
}

TEST(Classical, RefusesLinearScoresThatNoLayerGives) {
  auto const linear = [](std::vector<float> const& weights, std::vector<float> const& bias,
                         std::int64_t labels, std::string const& transform) {
    std::vector<std::int64_t> names;
    for (std::int64_t k = 0; k < labels; ++k) names.push_back(k);
    return classifier("LinearClassifier",
                      {reals("coefficients", weights), reals("intercepts", bias),
                       numbers("classlabels_ints", names), word("post_transform", transform)});
  };
  auto const refuse = [](std::string const& bytes, std::initializer_list<std::string> parts) {
    expect_error(ExitCode::kData, parts, [&] { parse_onnx(bytes, "l.onnx"); });
  };
  // One row of coefficients for two classes, and two that are not mirrors.
  EXPECT_EQ(parse_onnx(linear({1, 2}, {3}, 2, "LOGISTIC"), "l.onnx").layers[0].weights,
            (std::vector<float>{1, 2}));
  Network const two = parse_onnx(linear({1, 2, 3, 4}, {5, 6}, 2, "SOFTMAX"), "l.onnx");
  EXPECT_EQ(two.layers[0].weights, (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(two.layers[0].activation, Activation::kSoftmax);
  Network const mirrored = parse_onnx(linear({-1, -2, 1, 2}, {-3, 3}, 2, "SOFTMAX"), "l.onnx");
  EXPECT_EQ(mirrored.layers[0].outputs, 2) << "softmax of -z and z is no sigmoid of z";
  refuse(linear({1, 2, 3, 4}, {5, 6}, 2, "LOGISTIC"), {"l.onnx:graph.node[0]", "'LOGISTIC'"});
  refuse(linear({1, 2, 3, 4, 5, 6}, {1, 2, 3}, 3, "LOGISTIC"), {"'LOGISTIC'", "3 classes"});
  refuse(linear({1, 2, 3}, {1, 2}, 2, "NONE"), {"3 coefficients"});
  refuse(linear({1, 2}, {1, 2}, 3, "NONE"), {"2 intercepts for 3 classes"});
}

}  // namespace
}  // namespace fairlane
