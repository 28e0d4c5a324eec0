#include "models/trees/trees.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>

#include "models/data/domain.h"
#include "models/model.h"
#include "models/trees/builder.h"
#include "models/trees/scorer.h"
#include "tests/checkout.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

std::filesystem::path const kFolder = std::filesystem::path(source_dir()) / "tests/models/trees";

// The file with the first `from` replaced.
std::string changed(std::string const& name, std::string const& from, std::string const& to) {
  std::string text = slurp(kFolder / name);
  std::size_t const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << name << " has no " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The file with the first number after the first `key` replaced.
std::string with_first(std::string const& name, std::string const& key, std::string const& value) {
  std::string text = slurp(kFolder / name);
  std::size_t const at = text.find(key);
  EXPECT_NE(at, std::string::npos) << name << " has no " << key;
  std::size_t const from = at + key.size();
  return text.replace(from, text.find_first_of(", ]\n", from) - from, value);
}

void refuse(std::initializer_list<std::string> parts, std::string const& bytes,
            std::string const& source = "file") {
  expect_error(ExitCode::kData, parts, [&] { parse_trees(bytes, source); });
}

TEST(Trees, ThresholdsOfDoublesAreExactInFloat32) {
  std::mt19937 random(3);
  for (double const near : {0.0, 0.1, 2.5, 1e-35, 16777216.5, -0.3, 1e300, -1e300, 1e-50, -1e-50}) {
    for (int i = 0; i < 50; ++i) {
      double const threshold =
          near * (1.0 + (static_cast<double>(random() % 201) - 100.0) * 0x1p-26);
      float const most = float_at_most(threshold);
      if (most < std::numeric_limits<float>::max()) {
        EXPECT_GT(static_cast<double>(std::nextafter(most, HUGE_VALF)), threshold);
      }
      if (most > std::numeric_limits<float>::lowest()) {
        EXPECT_LE(static_cast<double>(most), threshold);
      }
    }
  }
  for (float const threshold : {0.0F, -0.0F, 1.0F, -3.5F, 1e-45F}) {
    EXPECT_LT(float_below(threshold), threshold);
    EXPECT_EQ(std::nextafter(float_below(threshold), HUGE_VALF), threshold);
  }
}

TEST(Trees, FilesAreToldApartByContent) {
  TemporaryFolder const folder;
  EXPECT_TRUE(is_tree_file((kFolder / "xgboost_logistic.json").string()));
  EXPECT_TRUE(is_tree_file((kFolder / "lightgbm_binary.txt").string()));
  EXPECT_TRUE(is_tree_file((kFolder / "sklearn_tree.json").string()));
  EXPECT_TRUE(is_tree_file(folder.write("model.bin", std::string("{L\0\0", 4))));
  EXPECT_TRUE(is_tree_file(folder.write("model.ubj", "PK")));
  EXPECT_TRUE(is_tree_file(folder.write("model.joblib", "\x80\x04")));
  EXPECT_FALSE(is_tree_file(folder.write("network.h5", "\x89HDF\r\n\x1a\n")));
  // safetensors whose header is 123 bytes long
  EXPECT_FALSE(
      is_tree_file(folder.write("network.safetensors", std::string("{\0\0\0\0\0\0\0{", 9))));
  // and one of 19,579 bytes
  EXPECT_FALSE(
      is_tree_file(folder.write("network.safetensors", std::string("{L\0\0\0\0\0\0{", 9))));
  EXPECT_FALSE(is_tree_file(folder.write("empty.json", "")));
  EXPECT_FALSE(is_tree_file(folder.file("missing.json")));
  expect_error(ExitCode::kNoInput, {"missing.json", "no such file"},
               [&] { load_trees(folder.file("missing.json")); });
}

TEST(Trees, OtherFilesGetAdvice) {
  refuse({"model.ubj: starts with 'PK'", "XGBoost's JSON or UBJSON"}, "PK", "model.ubj");
  refuse({"forest.pkl: ", "pickle", "export_sklearn.py"}, "\x80\x04\x95", "forest.pkl");
  refuse({"file: ", "starts with 'binf"}, "binf1234");
  refuse({"file: ", "LightGBM's JSON dump", "NAME.txt"}, R"({"name":"tree","tree_info":[]})");
  refuse({"file: ", "neither 'learner'"}, "{}");
  refuse({"file: malformed JSON", "cut short"}, R"({"learner":)");
  refuse({"file:format", "'mlp'"}, R"({"format":"mlp"})");
}

TEST(Trees, UbjsonClaimsNoMoreThanItHolds) {
  using namespace std::string_literals;
  auto const bad = [](std::initializer_list<std::string> parts, std::string const& bytes) {
    refuse(parts, bytes, "m.ubj");
  };
  bad({"m.ubj: malformed UBJSON", "more values than its 19 bytes"},
      "{i\x07learner[$Z#l\x7f\xff\xff\xff"s);
  bad({"more values than its 18 bytes"}, "{i\x07learner[#l\x7f\xff\xff\xffZ"s);
  std::string const key = "{i\x01k";
  bad({"more values than its"}, key + "[$Z#i\x0c" + "i\x01m[$T#i\x0c}");  // together
  bad({"malformed UBJSON: ends after", "cut short?"},
      key + "SL\x7f\xff\xff\xff\xff\xff\xff\xffxyz}");
  bad({"malformed UBJSON: ends after", "cut short?"},
      key + "[$d#L\x00\x00\x00\x00\x00\x00\x00\x02\x3f"s);
  bad({"nested more than"}, key + std::string(1'000'000, '['));
  bad({"UBJSON key 'k' occurs twice"}, key + "Ti\x01kT}");
  bad({"has no 'learner'"}, key + "T}");
  bad({"malformed UBJSON at byte"}, key + "T}{");
}

TEST(Trees, XgboostRefusesWhatItCannotTell) {
  std::string const name = "xgboost_logistic.json";
  refuse({"file:learner.objective.name", "'reg:squarederror'", "a classifier"},
         changed(name, R"("name":"binary:logistic")", R"("name":"reg:squarederror")"));
  refuse({"file:learner.gradient_booster.name", "'gblinear'"},
         changed(name, R"("name":"gbtree")", R"("name":"gblinear")"));
  refuse({"num_target"}, changed(name, R"("num_target":"1")", R"("num_target":"2")"));
}

TEST(Trees, XgboostChecksItsArrays) {
  std::string const name = "xgboost_logistic.json";
  refuse({"trees[0]: node 0 asks for feature 9, expected 0..3"},
         with_first(name, R"("split_indices":[)", "9"));
  refuse({"split_indices: has 16 items"},
         changed(name, R"("split_indices":[)", R"("split_indices":[9,)"));
  refuse({"file:learner.learner_model_param.num_feature", "'x4'"},
         changed(name, R"("num_feature":"4","num_target")", R"("num_feature":"x4","num_target")"));
  refuse({"trees[0]: node 0 has child 99"}, with_first(name, R"("left_children":[)", "99"));
  refuse({"trees[0]: node", "has child 0"}, with_first(name, R"("left_children":[)", "0"));
  refuse({"tree_info[0]", "is 1"}, changed(name, R"("tree_info":[0,)", R"("tree_info":[1,)"));
  refuse({"base_score", "expected a number or an array"},
         changed(name, R"("base_score":"[)", R"("base_score":"[x)"));
  refuse({"trees[0].split_conditions[0]", "is 1e+99"},
         with_first(name, R"("split_conditions":[)", "1e99"));
  refuse({"categories_segments"}, changed("xgboost_partition.json", R"("categories_segments":[0)",
                                          R"("categories_segments":[77)"));
}

TEST(Trees, LightGbmChecksItsLines) {
  std::string const name = "lightgbm_binary.txt";
  refuse({"file: objective is 'regression'"},
         changed(name, "objective=binary sigmoid:2", "objective=regression"));
  refuse({"file: objective has 'sigmoid:-1'"}, changed(name, "sigmoid:2", "sigmoid:-1"));
  refuse({"file: max_feature_idx is missing"}, changed(name, "max_feature_idx", "max_feature"));
  refuse({"file: ends before 'end of trees'"}, changed(name, "end of trees", ""));
  refuse({"file:Tree=0: num_leaves holds '0'"}, changed(name, "num_leaves=7", "num_leaves=0"));
  refuse({"file:Tree=0: leaf_value has 7 numbers, expected 8"},
         changed(name, "num_leaves=7", "num_leaves=8"));
  refuse({"file:Tree=0: is_linear is 1"}, changed(name, "is_linear=0", "is_linear=1"));
  refuse({"file:Tree=0: left_child holds 10 at index 0, expected -7..5"},
         with_first(name, "left_child=", "10"));
  refuse({"file:Tree=0: node 0 has child 0"}, with_first(name, "left_child=", "0"));
  refuse({"file:Tree=0: split_feature holds '-2'"},
         changed(name, "split_feature=", "split_feature=-2 "));
  refuse({"file: has 5 names of features, expected 4"},
         changed(name, "feature_names=", "feature_names=more "));
  refuse({"file:Tree=0: cat_boundaries has"},
         changed("lightgbm_categories.txt", "cat_boundaries=0 ", "cat_boundaries="));
  refuse({"file:Tree=0: cat_boundaries has 1 before 0"},
         changed("lightgbm_categories.txt", "cat_boundaries=0 1 2", "cat_boundaries=1 0 2"));
}

TEST(Trees, OurOwnFormatIsChecked) {
  std::string const name = "sklearn_forest.json";
  refuse({"file:version", "is 2"}, changed(name, R"("version":1)", R"("version":2)"));
  refuse({"file:scores", "'votes'", "'probabilities'"},
         changed(name, R"("scores":"probabilities")", R"("scores":"votes")"));
  refuse({"file:trees[0].threshold", "expected"},
         changed(name, R"("threshold":[)", R"("threshold":[1.5,)"));
  refuse({"file:trees[0].leaves[0]", "has 3 values, expected 2"},
         changed(name, R"("leaves":[[)", R"("leaves":[[1,)"));
  refuse({"file", "divides by 0"}, changed(name, R"("divisor":7)", R"("divisor":0)"));
  refuse({"file", "has no 'base'"}, changed(name, R"("base")", R"("basis")"));
}

// The probability that each library computes from these margins is one half, or just above.
TEST(Trees, TheLabelIsThatOfTheRoundedProbability) {
  auto const score = [](std::string const& text) {
    TreeScorer scorer(parse_trees(text, "one leaf"), 1);
    float const row = 3.0F;
    float result = 0.0F;
    scorer.score(&row, 1, &result);
    return result;
  };
  auto const xgboost = [](std::string const& margin) {
    return R"({"learner":{"learner_model_param":{"base_score":"5E-1","num_class":"0","num_feature":"1"},
               "objective":{"name":"binary:logistic"},"gradient_booster":{"name":"gbtree","model":{"tree_info":[0],
               "trees":[{"left_children":[-1],"right_children":[-1],"split_indices":[0],"split_conditions":[)" +
           margin + R"(]}]}}}})";
  };
  EXPECT_EQ(score(xgboost("8.940697e-08")), 0.0F);
  EXPECT_EQ(score(xgboost("8.9406974e-08")), 8.9406974e-08F);
  auto const lightgbm = [](std::string const& margin) {
    return "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective="
           "binary "
           "sigmoid:1\nfeature_names=a\n\nTree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=" +
           margin + "\n\nend of trees\n";
  };
  EXPECT_EQ(score(lightgbm("1.6653345369377348e-16")), 0.0F);
  EXPECT_GT(score(lightgbm("1.6653345369377351e-16")), 0.0F);
}

TEST(Trees, NamesOfFeaturesAreRead) {
  std::vector<std::string> const names{"age", "job", "degree", "sex"};
  EXPECT_EQ(load_trees((kFolder / "xgboost_logistic.json").string()).features, names);
  EXPECT_EQ(load_trees((kFolder / "lightgbm_binary.txt").string()).features, names);
}

TEST(Trees, NamedInputsMustStandWhereTheDomainHasThem) {
  Model const trees = load_model((kFolder / "xgboost_logistic.json").string(), 0, {});
  Domain domain;
  for (char const* name : {"age", "job", "schooling", "sex"})
    domain.attributes.emplace_back().name = name;
  EXPECT_NO_THROW(check_features(trees, domain));
  // A one-hot attribute before it moves an input, not an attribute.
  domain.attributes[1].name = "age group";
  domain.attributes[1].low = 0;
  domain.attributes[1].high = 1;
  domain.attributes[1].encoding.kind = EncodingKind::kOneHot;
  domain.attributes.erase(domain.attributes.begin() + 2);
  EXPECT_NO_THROW(check_features(trees, domain));
  domain.attributes[1].encoding = {};
  expect_error(ExitCode::kData, {"xgboost_logistic.json", "'sex' as input 4", "attribute 3"},
               [&] { check_features(trees, domain); });
  std::swap(domain.attributes[0], domain.attributes[2]);
  expect_error(ExitCode::kData, {"xgboost_logistic.json", "'age' as input 1", "attribute 3"},
               [&] { check_features(trees, domain); });
}

// Damaged files are read or refused in one line; see mutation_test.cpp.
TEST(Trees, DamagedFilesEndInOneLine) {
  for (std::string const name :
       {"xgboost_partition.json", "xgboost_dart.json", "xgboost_softmax.json",
        "xgboost_partition.ubj", "xgboost_dart.ubj", "xgboost_softprob.ubj",
        "lightgbm_categories.txt", "lightgbm_zero.txt", "sklearn_boosting.json"}) {
    std::string const good = slurp(kFolder / name);
    int refused = 0;
    for (unsigned i = 0; i < 150; ++i) {
      SCOPED_TRACE(name + ", seed " + std::to_string(i));
      std::mt19937 random(i);
      std::string bad = good;
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
        std::size_t const at = random() % bad.size();
        switch (random() % 4) {
          case 0:
            bad[at] = "0123456789-[]{},:\" \n"[random() % 20];
            break;
          case 1:
            bad[at] = static_cast<char>(random());
            break;
          case 2:
            bad.erase(at, 1 + random() % 8);
            break;
          default:
            bad.insert(at, bad.substr(random() % bad.size(), 1 + random() % 20));
        }
      }
      try {
        validate(parse_trees(bad, "damaged"));
      } catch (Error const& error) {
        ++refused;
        EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
        for (char const c : std::string(error.what()))
          EXPECT_GE(static_cast<unsigned char>(c), 0x20) << error.what();
      }
    }
    EXPECT_GT(refused, 50) << name;
  }
}

}  // namespace
}  // namespace fairlane
