// XGBoost's model file, JSON or UBJSON. Source:
// https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html and its schema.
#include "models/trees/xgboost_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/formats/json_field.h"
#include "base/text.h"
#include "models/network.h"
#include "models/trees/builder.h"

namespace fairlane {
namespace {

constexpr std::int32_t kMaxCategory = 1 << 24;  // XGBoost's, what float32 holds
// The greatest margin for which XGBoost's float32 sigmoid gives one half: 1 + exp(-x) still rounds
// to 2. Its label is 1 when the probability lies above one half.
constexpr float kFloatSigmoidThreshold = 0x1.8p-24F;

// A parameter, which the file holds as a string.
template <class Number>
Number parameter(JsonField const& field, Number low, Number high) {
  std::string const text = field.text();
  Number value{};
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw field.error(
        fmt::format("is {}, expected a number in {}..{}", in_quotes(text), low, high));
  }
  return value;
}

// Where the margins begin: base_score is a number, or since 3.1 an array, as text: "5E-1",
// "[5E-1,2E-1]".
std::vector<float> read_base(JsonField const& field, std::size_t sums) {
  std::string text = field.text();
  std::vector<float> result;
  std::string_view rest = text;
  bool const is_array = rest.starts_with('[') && rest.ends_with(']');
  if (is_array) rest = rest.substr(1, rest.size() - 2);
  while (true) {
    float value = 0.0F;
    auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (problem != std::errc() || !std::isfinite(value)) {
      throw field.error(
          fmt::format("is {}, expected a number or an array of numbers", in_quotes(text)));
    }
    result.push_back(value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) break;
    if (!is_array || rest.front() != ',') {
      throw field.error(
          fmt::format("is {}, expected a number or an array of numbers", in_quotes(text)));
    }
    rest.remove_prefix(1);
  }
  if (result.size() == 1) result.resize(sums, result.front());
  if (result.size() != sums) {
    throw field.error(fmt::format("has {} numbers, expected 1 or {}", result.size(), sums));
  }
  return result;
}

// How an objective turns margins into predictions, as far as a label depends on it.
struct Objective {
  bool several = false;        // one margin for each class
  bool base_is_share = false;  // base_score is a probability
  float threshold = 0.0F;
};

Objective read_objective(JsonField const& field) {
  std::string const name = field.text();
  if (name == "binary:logistic") return {false, true, kFloatSigmoidThreshold};
  if (name == "binary:logitraw") return {false, false, 0.0F};
  if (name == "multi:softprob" || name == "multi:softmax") return {true, false, 0.0F};
  throw field.error(
      fmt::format("is {}, expected binary:logistic, binary:logitraw, multi:softprob or "
                  "multi:softmax: a classifier{}",
                  in_quotes(name),
                  name.starts_with("reg:") ? "; for two classes train with binary:logistic" : ""));
}

// Boundaries of a set of categories; those in the set go right, everything else left. An input
// stands for the category of its integer part.
std::vector<float> boundaries_of_list(std::vector<std::int32_t> categories) {
  std::sort(categories.begin(), categories.end());
  std::vector<float> result;
  std::int64_t next = -1;  // after the last category of the run
  for (std::int32_t const category : categories) {
    if (category < next) continue;  // listed twice
    auto const first = float_below(static_cast<float>(category));
    if (category == next) {
      result.pop_back();
    } else {
      result.push_back(first);
    }
    result.push_back(float_below(static_cast<float>(category + 1)));
    next = std::int64_t{category} + 1;
  }
  return result;
}

// The boundaries of each node that asks for a category; empty for all others.
std::vector<std::vector<float>> read_categories(JsonField const& tree, std::size_t nodes) {
  std::vector<std::vector<float>> result(nodes);
  if (!tree.has("categories_nodes")) return result;
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  auto const at = tree.at("categories_nodes").integers(0, static_cast<std::int32_t>(nodes) - 1);
  auto const segments = tree.at("categories_segments").integers(0, kMost);
  auto const sizes = tree.at("categories_sizes").integers(0, kMost);
  auto const categories = tree.at("categories").integers(0, kMaxCategory - 1);
  if (segments.size() != at.size() || sizes.size() != at.size()) {
    throw tree.at("categories_nodes")
        .error(fmt::format("has {} items, but there are {} segments and {} sizes", at.size(),
                           segments.size(), sizes.size()));
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto const first = static_cast<std::size_t>(segments[i]);
    auto const count = static_cast<std::size_t>(sizes[i]);
    total += count;  // so that overlapping sets cannot cost more than the file is long
    if (first > categories.size() || count > categories.size() - first ||
        total > categories.size()) {
      throw tree.at("categories_segments")
          .item(i)
          .error(fmt::format("is {} with {} categories, expected sets that share out {}", first,
                             count, categories.size()));
    }
    auto const from = categories.begin() + static_cast<std::ptrdiff_t>(first);
    result[static_cast<std::size_t>(at[i])] =
        boundaries_of_list({from, from + static_cast<std::ptrdiff_t>(count)});
  }
  return result;
}

float as_float(double value, JsonField const& field, std::size_t i) {
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    throw field.item(i).error(fmt::format("is {}, expected a float32", value));
  }
  return static_cast<float>(value);
}

// weight: of the tree's leaves, dart's
void read_tree(JsonField const& tree, TreeEnsemble& ensemble, int first_sum, float weight) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  auto const left = tree.at("left_children").integers(-1, kMost);
  auto const right = tree.at("right_children").integers(-1, kMost);
  auto const feature = tree.at("split_indices").integers(0, kMost);
  auto const condition = tree.at("split_conditions").numbers();
  std::size_t const nodes = left.size();
  std::vector<std::int32_t> kind(nodes, 0);  // absent before version 1.3
  if (tree.has("split_type")) kind = tree.at("split_type").integers(0, 1);
  auto const check = [&](char const* name, std::size_t size) {
    if (size != nodes) {
      throw tree.at(name).error(
          fmt::format("has {} items, expected {} as 'left_children' has", size, nodes));
    }
  };
  check("right_children", right.size());
  check("split_indices", feature.size());
  check("split_conditions", condition.size());
  if (tree.has("split_type")) check("split_type", kind.size());
  if (tree.has("tree_param") && tree.at("tree_param").has("size_leaf_vector")) {
    JsonField const leaf = tree.at("tree_param").at("size_leaf_vector");
    if (parameter<int>(leaf, 0, std::numeric_limits<int>::max()) > 1) {
      throw leaf.error(
          "is above 1, expected one value per leaf; train with "
          "multi_strategy='one_output_per_tree'");
    }
  }
  auto const categories = read_categories(tree, nodes);
  TreeBuilder builder(ensemble, tree.where(), nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    float const value = as_float(condition[i], tree.at("split_conditions"), i);
    if (left[i] == -1) {
      double const leaf = static_cast<double>(value * weight);
      builder.set_leaf(i, {&leaf, 1});
    } else if (kind[i] == 1) {
      builder.set_split(i, feature[i], categories[i], true, left[i], right[i]);
    } else {
      float const boundary = float_below(value);
      builder.set_split(i, feature[i], {&boundary, 1}, true, left[i], right[i]);
    }
  }
  builder.finish(first_sum);
}

}  // namespace

TreeEnsemble read_xgboost_json(JsonField const& root, std::string const& source) {
  JsonField const learner = root.at("learner");
  JsonField const parameters = learner.at("learner_model_param");
  JsonField const booster = learner.at("gradient_booster");
  std::string const kind = booster.at("name").text();
  if (kind != "gbtree" && kind != "dart") {
    throw booster.at("name").error(
        fmt::format("is {}, expected trees: gbtree or dart", in_quotes(kind)));
  }
  Objective const objective = read_objective(learner.at("objective").at("name"));
  TreeEnsemble result;
  result.source = source;
  result.producer = "XGBoost";
  if (root.has("version")) {
    auto const parts = root.at("version").integers(0, std::numeric_limits<int>::max());
    result.producer += fmt::format(" {}", fmt::join(parts, "."));
  }
  result.inputs = parameter(parameters.at("num_feature"), 1, kMaxInputs);
  result.sums = objective.several ? parameter(parameters.at("num_class"), 2, kMaxClasses) : 1;
  if (parameters.has("num_target")) parameter(parameters.at("num_target"), 1, 1);
  if (learner.has("feature_names")) result.features = learner.at("feature_names").texts();
  for (float const base :
       read_base(parameters.at("base_score"), static_cast<std::size_t>(result.sums))) {
    if (objective.base_is_share && !(base > 0.0F && base < 1.0F)) {
      throw parameters.at("base_score")
          .error(fmt::format("is {}, expected a probability in (0, 1)", base));
    }
    // The log in double, then rounded: the C library's float log need not be the same everywhere.
    double const margin =
        objective.base_is_share ? -std::log(static_cast<double>(1.0F / base - 1.0F)) : base;
    result.base.push_back(static_cast<double>(static_cast<float>(margin)));
  }
  result.decision_threshold = static_cast<double>(objective.threshold);

  JsonField const model = (kind == "dart" ? booster.at("gbtree") : booster).at("model");
  JsonField const trees = model.at("trees");
  auto const sum_of = model.at("tree_info").integers(0, result.sums - 1);
  std::vector<double> weights(trees.size(), 1.0);
  if (kind == "dart") weights = booster.at("weight_drop").numbers();
  if (sum_of.size() != trees.size() || weights.size() != trees.size()) {
    throw trees.error(fmt::format("has {} trees, but tree_info has {} items and weight_drop {}",
                                  trees.size(), sum_of.size(), weights.size()));
  }
  for (std::size_t i = 0; i < trees.size(); ++i) {
    read_tree(trees.item(i), result, sum_of[i], static_cast<float>(weights[i]));
  }
  validate(result);
  return result;
}

}  // namespace fairlane
