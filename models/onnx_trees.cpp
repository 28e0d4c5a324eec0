#include "models/onnx_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/network.h"
#include "models/onnx/chain.h"
#include "models/trees/builder.h"

namespace fairlane {
namespace {

using onnx::Node;

constexpr std::size_t kMaxOnnxBytes = std::size_t{1} << 31;  // what Protocol Buffers allow
constexpr std::string_view kClassifier = "TreeEnsembleClassifier";

Error bad(Node const& node, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", node.where, what));
}

// Operators beside the trees: none changes a score.
bool keeps_scores(Node const& node) {
  return node.op == kClassifier || node.op == "ZipMap" || node.op == "Identity" ||
         (node.op == "Cast" && node.integer("to", 0) == onnx::kFloat);
}

/// One tree of the node's lists.
struct Tree {
  std::vector<std::size_t> nodes;  // places in the lists of nodes; the first is the root
  std::map<std::int64_t, std::size_t> number;  // of a node id, among the tree's nodes
};

class Reader {
 public:
  Reader(Node const& node, TreeEnsemble& ensemble) : node_(node), ensemble_(ensemble) {}

  void read() {
    refuse_doubles();
    list_trees();
    list_leaves();
    int const labels = classes();
    std::vector<double> const& base = node_.numbers("base_values");
    choose_scores(labels);
    if (!base.empty() && base.size() != static_cast<std::size_t>(ensemble_.sums)) {
      throw bad(node_, fmt::format("has {} base_values, expected {}", base.size(), ensemble_.sums));
    }
    ensemble_.base.assign(static_cast<std::size_t>(ensemble_.sums), 0.0);
    for (auto const& [id, tree] : trees_) read_tree(tree);
    add_base(base);
  }

 private:
  struct Weight {
    std::int64_t label;
    double value;
  };
  using Key = std::pair<std::int64_t, std::int64_t>;  // tree, node

  void refuse_doubles() const {
    for (char const* name :
         {"nodes_values_as_tensor", "class_weights_as_tensor", "base_values_as_tensor"}) {
      if (node_.attribute(name) != nullptr) {
        throw bad(node_,
                  fmt::format("has {}: trees in double precision are not supported, expected "
                              "float32; convert the model with float32 inputs",
                              name));
      }
    }
  }

  std::vector<std::int64_t> const& list(char const* name, std::size_t size) const {
    auto const& values = node_.integers(name);
    if (values.size() != size) {
      throw bad(node_, fmt::format("has {} {}, expected {}", values.size(), name, size));
    }
    return values;
  }

  void list_trees() {
    auto const& tree_ids = node_.integers("nodes_treeids");
    std::size_t const count = tree_ids.size();
    auto const& ids = list("nodes_nodeids", count);
    features_ = list("nodes_featureids", count);
    yes_ = list("nodes_truenodeids", count);
    no_ = list("nodes_falsenodeids", count);
    values_ = node_.numbers("nodes_values");
    modes_ = node_.texts("nodes_modes");
    if (count == 0 || values_.size() != count || modes_.size() != count) {
      throw bad(node_, fmt::format("has {} nodes, {} nodes_values and {} nodes_modes, expected as "
                                   "many of each",
                                   count, values_.size(), modes_.size()));
    }
    std::map<std::int64_t, std::size_t> place;  // of a tree id in trees_
    for (std::size_t i = 0; i < count; ++i) {
      auto const [found, is_new] = place.emplace(tree_ids[i], trees_.size());
      if (is_new) trees_.emplace_back(tree_ids[i], Tree());
      Tree& tree = trees_[found->second].second;
      if (!tree.number.emplace(ids[i], tree.nodes.size()).second) {
        throw bad(node_, fmt::format("lists node {} of tree {} twice", ids[i], tree_ids[i]));
      }
      tree.nodes.push_back(i);
    }
    std::int64_t const most = *std::max_element(features_.begin(), features_.end());
    if (most >= kMaxInputs) {
      throw bad(node_, fmt::format("asks for input {}, expected at most {}", most, kMaxInputs - 1));
    }
    // Without a declared width, as many inputs as the trees ask for.
    ensemble_.inputs = std::max(ensemble_.inputs, static_cast<int>(most) + 1);
  }

  void list_leaves() {
    auto const& values = node_.numbers("class_weights");
    auto const& trees = list("class_treeids", values.size());
    auto const& nodes = list("class_nodeids", values.size());
    auto const& labels = list("class_ids", values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      leaves_[{trees[i], nodes[i]}].push_back({labels[i], values[i]});
      most_label_ = std::max(most_label_, labels[i]);
      all_positive_ = all_positive_ && values[i] >= 0.0;
      if (labels[i] < 0)
        throw bad(node_, fmt::format("has class {}, expected 0, 1, ...", labels[i]));
    }
    if (values.empty()) throw bad(node_, "has no class_weights");
  }

  int classes() const {
    std::size_t const labels = std::max(node_.integers("classlabels_int64s").size(),
                                        node_.texts("classlabels_strings").size());
    if (labels < 2 || labels > static_cast<std::size_t>(kMaxClasses) ||
        most_label_ >= static_cast<std::int64_t>(labels)) {
      throw bad(node_, fmt::format("has {} class labels and weights of class {}, expected 2..{} "
                                   "labels and weights of these",
                                   labels, most_label_, kMaxClasses));
    }
    return static_cast<int>(labels);
  }

  // What the sums are, and how many there are.
  void choose_scores(int labels) {
    std::string_view const transform = node_.text("post_transform", "NONE");
    bool one_label = true;  // only the weights of a single class
    std::int64_t const first = leaves_.begin()->second.front().label;
    std::size_t most = 0;
    for (auto const& [key, weights] : leaves_) {
      most = std::max(most, weights.size());
      for (Weight const& weight : weights) one_label = one_label && weight.label == first;
    }
    bool const plain = transform == "NONE";
    if (labels == 2 && one_label) {
      if (!plain && transform != "LOGISTIC") throw unknown_transform(transform, labels);
      if (transform == "LOGISTIC" && all_positive_) {
        throw bad(node_,
                  "has no negative weight: ONNX Runtime decides such a model by another rule "
                  "than its probabilities; test it as a black box (exec:)");
      }
      ensemble_.sums = 1;
      // Shares of trees that vote for class 1.
      ensemble_.kind = plain && all_positive_ ? ScoreKind::kProbabilities : ScoreKind::kLogits;
      ensemble_.decision_threshold = ensemble_.kind == ScoreKind::kProbabilities ? 0.5 : 0.0;
      return;
    }
    if (labels == 2) {
      throw bad(node_,
                "has weights of both of two classes, expected those of one, as skl2onnx and "
                "onnxmltools write them; test the model as a black box (exec:)");
    }
    if (!plain && transform != "SOFTMAX") throw unknown_transform(transform, labels);
    ensemble_.sums = labels;
    ensemble_.width = most > 1 ? labels : 1;
    ensemble_.kind = plain && all_positive_ ? ScoreKind::kProbabilities : ScoreKind::kLogits;
  }

  Error unknown_transform(std::string_view transform, int labels) const {
    return bad(node_,
               fmt::format("makes {} of the sums of {} classes, expected {} or NONE; test the "
                           "model as a black box (exec:)",
                           in_quotes(transform), labels, labels == 2 ? "LOGISTIC" : "SOFTMAX"));
  }

  void read_tree(Tree const& tree) {
    std::int64_t const id = node_.integers("nodes_treeids")[tree.nodes.front()];
    TreeBuilder builder(ensemble_, fmt::format("{}: tree {}", node_.where, id), tree.nodes.size());
    std::int64_t label = -1;  // of all leaves, where each adds one number
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      std::size_t const i = tree.nodes[n];
      if (modes_[i] == "LEAF") {
        read_leaf(builder, n, {id, node_.integers("nodes_nodeids")[i]}, label);
      } else {
        read_split(builder, n, i, tree);
      }
    }
    bool const own_sum = ensemble_.sums > 1 && ensemble_.width == 1;
    builder.finish(own_sum ? static_cast<int>(label) : 0);
    if (own_sum) summed_[label] = true;
  }

  void read_split(TreeBuilder& builder, std::size_t n, std::size_t i, Tree const& tree) {
    auto const child = [&](std::int64_t id) {
      auto const found = tree.number.find(id);
      if (found == tree.number.end()) {
        throw bad(node_, fmt::format("node {} leads to {}, which its tree does not have",
                                     node_.integers("nodes_nodeids")[i], id));
      }
      return static_cast<std::int64_t>(found->second);
    };
    auto const value = static_cast<float>(values_[i]);
    if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
      throw bad(node_, fmt::format("nodes_values[{}] is {}, expected a finite number", i, value));
    }
    float const below = float_below(value);
    float const only[] = {below, value};  // x == value: above the first, not above the second
    std::string_view const mode = modes_[i];
    std::int64_t const yes = child(yes_[i]);
    std::int64_t const no = child(no_[i]);
    auto const split = [&](std::span<float const> boundaries, bool yes_first) {
      builder.set_split(n, features_[i], boundaries, yes_first, yes, no);
    };
    if (mode == "BRANCH_LEQ") {
      split({&value, 1}, true);
    } else if (mode == "BRANCH_LT") {
      split({&below, 1}, true);
    } else if (mode == "BRANCH_GT") {
      split({&value, 1}, false);
    } else if (mode == "BRANCH_GTE") {
      split({&below, 1}, false);
    } else if (mode == "BRANCH_EQ") {
      split(only, false);
    } else if (mode == "BRANCH_NEQ") {
      split(only, true);
    } else {
      throw bad(node_, fmt::format("nodes_modes[{}] is {}, expected BRANCH_LEQ, BRANCH_LT, "
                                   "BRANCH_GT, BRANCH_GTE, BRANCH_EQ, BRANCH_NEQ or LEAF",
                                   i, in_quotes(mode)));
    }
  }

  void read_leaf(TreeBuilder& builder, std::size_t n, Key const& key, std::int64_t& label) {
    auto const found = leaves_.find(key);
    static std::vector<Weight> const kNone;
    auto const& weights = found == leaves_.end() ? kNone : found->second;
    auto const fail = [&](std::string const& what) {
      return bad(node_, fmt::format("leaf {} of tree {} {}", key.second, key.first, what));
    };
    if (ensemble_.width == 1) {
      if (weights.size() != 1)
        throw fail(fmt::format("has {} weights, expected 1", weights.size()));
      if (label >= 0 && weights[0].label != label) {
        throw fail("is of another class than the leaves before it in its tree");
      }
      label = weights[0].label;
      builder.set_leaf(n, {&weights[0].value, 1});
      return;
    }
    std::vector<double> values(static_cast<std::size_t>(ensemble_.width),
                               std::numeric_limits<double>::quiet_NaN());
    for (Weight const& weight : weights)
      values[static_cast<std::size_t>(weight.label)] = weight.value;
    bool const has_all = std::ranges::none_of(values, [](double v) { return v != v; });
    if (weights.size() != values.size() || !has_all) {
      throw fail(fmt::format("has {} weights, expected one for each of the {} classes",
                             weights.size(), values.size()));
    }
    builder.set_leaf(n, values);
  }

  // ONNX Runtime adds the base values last: each is one more tree that is a leaf.
  void add_base(std::vector<double> const& base) {
    if (ensemble_.sums > 1 && ensemble_.width == 1 &&
        std::cmp_not_equal(summed_.size(), ensemble_.sums)) {
      throw bad(node_, "has classes without a tree");
    }
    if (base.empty()) return;
    auto const width = static_cast<std::size_t>(ensemble_.width);
    for (std::size_t first = 0; first < base.size(); first += width) {
      TreeBuilder builder(ensemble_, node_.where + ": base_values", 1);
      builder.set_leaf(0, std::span(base).subspan(first, width));
      builder.finish(static_cast<int>(first));
    }
  }

  Node const& node_;
  TreeEnsemble& ensemble_;
  std::vector<std::pair<std::int64_t, Tree>> trees_;  // by id, in the order of the file
  std::vector<std::int64_t> features_, yes_, no_;     // [nodes]
  std::vector<double> values_;                        // [nodes]
  std::vector<std::string_view> modes_;               // [nodes]
  std::map<Key, std::vector<Weight>> leaves_;
  std::int64_t most_label_ = 0;
  bool all_positive_ = true;
  std::map<std::int64_t, bool> summed_;  // classes that a tree adds to
};

/// Inputs that the graph declares; 0 where it does not.
int declared_inputs(onnx::Chain const& chain, Node const& node) {
  if (chain.named) return static_cast<int>(chain.inputs.size());
  onnx::Value const& input = *chain.inputs.front();
  if (!input.is_tensor || input.type == onnx::kString || input.type == onnx::kDouble) {
    throw bad(node,
              fmt::format("takes the input {} of element type {}, expected float32 or integers",
                          in_quotes(input.name), input.type));
  }
  if (!input.sizes || input.sizes->size() != 2) return 0;
  std::int64_t const width = (*input.sizes)[1];
  if (width > kMaxInputs) {
    throw bad(node, fmt::format("takes {} inputs, expected at most {}", width, kMaxInputs));
  }
  return static_cast<int>(std::max<std::int64_t>(width, 0));
}

}  // namespace

std::optional<TreeEnsemble> parse_onnx_trees(std::string_view bytes, std::string const& source) {
  onnx::Model const model = onnx::decode_model(bytes, source);
  bool const has_trees =
      std::ranges::any_of(model.nodes, [](Node const& node) { return node.op == kClassifier; });
  if (!has_trees) return std::nullopt;
  std::string const file = escaped(source, 4096);
  onnx::Wiring const wiring(model, bytes.size());
  onnx::Chain const chain = onnx::find_chain(
      model, wiring,
      {&keeps_scores, "a TreeEnsembleClassifier and Cast (to float), Identity or ZipMap"}, file);
  auto const is_trees = [](Node const* node) { return node->op == kClassifier; };
  if (std::ranges::count_if(chain.nodes, is_trees) != 1) {
    throw Error(ExitCode::kData,
                fmt::format("{}:graph: has {} {} on the way to its scores, expected 1", file,
                            std::ranges::count_if(chain.nodes, is_trees), kClassifier));
  }
  Node const& node = **std::ranges::find_if(chain.nodes, is_trees);
  TreeEnsemble ensemble;
  ensemble.source = source;
  ensemble.producer = model.producer.empty()
                          ? std::string("ONNX")
                          : fmt::format("ONNX by {}", escaped(model.producer, 40));
  ensemble.features = chain.features();
  int const declared = declared_inputs(chain, node);
  ensemble.inputs = declared;
  Reader(node, ensemble).read();
  if (declared > 0 && ensemble.inputs > declared) {
    throw bad(node, fmt::format("asks for input {}, but there are {}", ensemble.inputs, declared));
  }
  validate(ensemble);
  return ensemble;
}

std::optional<TreeEnsemble> load_onnx_trees(std::string const& path) {
  return parse_onnx_trees(read_file(path, kMaxOnnxBytes), path);
}

}  // namespace fairlane
