// Our own format of trees, "fairlane-trees"; models/adapters/export_sklearn.py documents it.
#include "models/trees/trees_json.h"

#include <fmt/format.h>

#include "base/formats/json_field.h"
#include "base/text.h"
#include "models/network.h"
#include "models/trees/builder.h"

namespace fairlane {
namespace {

constexpr char const* kFormat = "fairlane-trees";
constexpr int kVersion = 1;

bool choose(JsonField const& field, std::string const& no, std::string const& yes) {
  std::string const text = field.text();
  if (text == yes) return true;
  if (text == no) return false;
  throw field.error(fmt::format("is {}, expected '{}' or '{}'", in_quotes(text), no, yes));
}

std::vector<double> read_leaves(JsonField const& field, int width) {
  if (width == 1) return field.numbers();
  std::vector<double> result;
  for (std::size_t i = 0; i < field.size(); ++i) {
    auto const values = field.item(i).numbers();
    if (values.size() != static_cast<std::size_t>(width)) {
      throw field.item(i).error(fmt::format("has {} values, expected {}", values.size(), width));
    }
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

// Children as the file has them, 0.. a node and -1.. a leaf, are numbered on: nodes first, then
// leaves.
std::int64_t numbered(std::int32_t child, std::size_t nodes) {
  return child >= 0 ? child : static_cast<std::int64_t>(nodes) + ~child;
}

void read_tree(JsonField const& tree, TreeEnsemble& ensemble) {
  constexpr std::int32_t kMost = kMaxTreeNodes;
  auto const feature = tree.at("feature").integers(0, ensemble.inputs - 1);
  auto const threshold = tree.at("threshold").numbers();
  auto const left = tree.at("left").integers(-kMost, kMost);
  auto const right = tree.at("right").integers(-kMost, kMost);
  auto const leaves = read_leaves(tree.at("leaves"), ensemble.width);
  std::size_t const nodes = feature.size();
  auto const check = [&](char const* name, std::size_t size) {
    if (size != nodes) {
      throw tree.at(name).error(
          fmt::format("has {} items, expected {} as 'feature' has", size, nodes));
    }
  };
  check("threshold", threshold.size());
  check("left", left.size());
  check("right", right.size());
  auto const width = static_cast<std::size_t>(ensemble.width);
  TreeBuilder builder(ensemble, tree.where(), nodes + leaves.size() / width);
  for (std::size_t i = 0; i < nodes; ++i) {
    float const boundary = float_at_most(threshold[i]);
    builder.set_split(i, feature[i], {&boundary, 1}, true, numbered(left[i], nodes),
                      numbered(right[i], nodes));
  }
  for (std::size_t i = 0; i * width < leaves.size(); ++i) {
    builder.set_leaf(nodes + i, {leaves.data() + i * width, width});
  }
  int const most = ensemble.sums - ensemble.width;
  builder.finish(most == 0 ? 0 : static_cast<int>(tree.at("sum").integer(0, most)));
}

}  // namespace

TreeEnsemble read_trees_json(JsonField const& root, std::string const& source) {
  if (std::string const format = root.at("format").text(); format != kFormat) {
    throw root.at("format").error(fmt::format("is {}, expected '{}'", in_quotes(format), kFormat));
  }
  root.at("version").integer(kVersion, kVersion);
  TreeEnsemble result;
  result.source = source;
  result.producer = root.at("library").text();
  if (root.has("features")) result.features = root.at("features").texts();
  result.inputs = static_cast<int>(root.at("inputs").integer(1, kMaxInputs));
  result.in_double = true;
  result.kind = choose(root.at("scores"), "logits", "probabilities") ? ScoreKind::kProbabilities
                                                                     : ScoreKind::kLogits;
  result.base = root.at("base").numbers();
  result.sums = static_cast<int>(result.base.size());
  result.width = choose(root.at("leaf"), "number", "array") ? result.sums : 1;
  result.divisor = root.at("divisor").number();
  result.decision_threshold = root.at("cut").number();
  if (result.base.empty() || result.base.size() > static_cast<std::size_t>(kMaxClasses)) {
    throw root.at("base").error(
        fmt::format("has {} numbers, expected 1..{}", result.base.size(), kMaxClasses));
  }
  JsonField const trees = root.at("trees");
  for (std::size_t i = 0; i < trees.size(); ++i) read_tree(trees.item(i), result);
  validate(result);
  return result;
}

}  // namespace fairlane
