#include "models/trees/trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/formats/json_field.h"
#include "base/formats/strict_json.h"
#include "base/text.h"
#include "models/network.h"
#include "models/trees/lightgbm_text.h"
#include "models/trees/trees_json.h"
#include "models/trees/xgboost_json.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 32;
constexpr std::string_view kLightGbmMagic = "tree\n";
constexpr std::size_t kLengthBytes = 8;  // of a safetensors header
constexpr std::size_t kHeadBytes = kLengthBytes + 1;
constexpr int kMaxJsonDepth = 512;  // a LightGBM dump nests its nodes; the others stay below 16

Error bad(TreeEnsemble const& trees, std::string const& what) {
  return Error(ExitCode::kData, fmt::format("{}: {}", escaped(trees.source, 4096), what));
}

// The first bytes of a file; none where there is no file, which the readers of networks say.
std::string read_head(std::string const& path) {
  std::array<char, kHeadBytes> head{};
  std::size_t got = 0;
  std::error_code ec;
  if (std::filesystem::is_regular_file(path, ec)) {
    got = std::fread(head.data(), 1, head.size(), open_input(path).get());
  }
  return {head.data(), got};
}

bool is_lightgbm_text(std::string_view head) {
  return head.starts_with(kLightGbmMagic) || head.starts_with("tree\r\n");
}

// An opening brace, and no zero byte, which the headers of binary formats have.
bool is_json(std::string_view head) {
  std::size_t const first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head[first] == '{' &&
         head.find('\0') == std::string_view::npos;
}

// An opening brace and the type of what follows: a size, or the length of the first key. The length
// of a safetensors header may look like it, and is followed by another brace.
bool is_ubjson(std::string_view head) {
  constexpr std::string_view kTypes = "UiIlL#$";
  return head.size() > 1 && head[0] == '{' && kTypes.find(head[1]) != std::string_view::npos &&
         (head.size() <= kLengthBytes || head[kLengthBytes] != '{');
}

// A file that is not read, and what to do about it; nothing when it is none.
std::string advice(std::string_view path) {
  if (path.ends_with(".pkl") || path.ends_with(".pickle") || path.ends_with(".joblib")) {
    return "is a Python pickle, which is not read, as that may run code; save XGBoost with "
           "booster.save_model('NAME.json'), LightGBM with booster.save_model('NAME.txt'), and "
           "export scikit-learn with models/adapters/export_sklearn.py";
  }
  return {};
}

void check_sizes(TreeEnsemble const& trees) {
  auto const check = [&](char const* what, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
    if (value < low || value > high) {
      throw bad(trees, fmt::format("has {} {}, expected {}..{}", value, what, low, high));
    }
  };
  check("inputs", trees.inputs, 1, kMaxInputs);
  check("sums", trees.sums, 1, kMaxClasses);
  check("values per leaf", trees.width, 1, trees.sums);
  check("trees", static_cast<std::int64_t>(trees.roots.size()), 1, kMaxTrees);
  check("nodes", static_cast<std::int64_t>(trees.feature.size()), 0, kMaxTreeNodes);
  check("leaf values", static_cast<std::int64_t>(trees.leaves.size()), trees.width,
        std::int64_t{kMaxTreeNodes} * 2 + trees.width);
  auto const same = [&](char const* what, std::size_t size, std::size_t expected) {
    if (size != expected)
      throw bad(trees, fmt::format("has {} {}, expected {}", size, what, expected));
  };
  same("first sums", trees.first_sum.size(), trees.roots.size());
  same("thresholds", trees.threshold.size(), trees.feature.size());
  same("left children", trees.left.size(), trees.feature.size());
  same("right children", trees.right.size(), trees.feature.size());
  same("sums to begin with", trees.base.size(), static_cast<std::size_t>(trees.sums));
  if (trees.leaves.size() % static_cast<std::size_t>(trees.width) != 0) {
    throw bad(trees, fmt::format("has {} leaf values, expected a multiple of {}",
                                 trees.leaves.size(), trees.width));
  }
  if (!trees.features.empty()) {
    same("names of features", trees.features.size(), static_cast<std::size_t>(trees.inputs));
  }
  if (trees.kind == ScoreKind::kLabels) {
    throw bad(trees, "gives labels alone, expected logits or probabilities");
  }
}

void check_finite(TreeEnsemble const& trees, char const* what, double const* values,
                  std::size_t count) {
  double const most =
      trees.in_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < count; ++i) {
    if (!(std::abs(values[i]) <= most)) {
      throw bad(trees, fmt::format("{}[{}] is {}, expected a finite {}", what, i, values[i],
                                   trees.in_double ? "double" : "float32"));
    }
  }
}

}  // namespace

void validate(TreeEnsemble const& trees) {
  check_sizes(trees);
  auto const nodes = static_cast<std::int64_t>(trees.feature.size());
  auto const leaves = static_cast<std::int64_t>(trees.leaves.size()) / trees.width;
  auto const check_child = [&](char const* what, std::size_t i, std::int64_t child,
                               std::int64_t least) {
    if (child >= 0 ? child < least || child >= nodes : -child > leaves) {
      throw bad(trees,
                fmt::format("{} {} leads to {}, expected a node in {}..{} or a leaf in -{}..-1",
                            what, i, child, least, nodes - 1, leaves));
    }
  };
  for (std::size_t i = 0; i < trees.roots.size(); ++i) {
    check_child("tree", i, trees.roots[i], 0);
    if (trees.first_sum[i] < 0 || trees.first_sum[i] > trees.sums - trees.width) {
      throw bad(trees, fmt::format("tree {} adds to sum {}, expected 0..{}", i, trees.first_sum[i],
                                   trees.sums - trees.width));
    }
  }
  for (std::size_t i = 0; i < trees.feature.size(); ++i) {
    if (trees.feature[i] < 0 || trees.feature[i] >= trees.inputs) {
      throw bad(trees, fmt::format("node {} asks for feature {}, expected 0..{}", i,
                                   trees.feature[i], trees.inputs - 1));
    }
    if (!std::isfinite(trees.threshold[i])) {
      throw bad(trees, fmt::format("node {} has threshold {}, expected a finite number", i,
                                   trees.threshold[i]));
    }
    check_child("node", i, trees.left[i], static_cast<std::int64_t>(i) + 1);
    check_child("node", i, trees.right[i], static_cast<std::int64_t>(i) + 1);
  }
  check_finite(trees, "leaf value", trees.leaves.data(), trees.leaves.size());
  check_finite(trees, "base", trees.base.data(), trees.base.size());
  check_finite(trees, "cut", &trees.decision_threshold, 1);
  if (!(trees.divisor > 0.0 && std::isfinite(trees.divisor))) {
    throw bad(trees, fmt::format("divides by {}, expected a finite number above 0", trees.divisor));
  }
  auto const depths = tree_depths(trees);
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (depths[i] > kMaxTreeDepth) {
      throw bad(trees, fmt::format("tree {} is {} nodes deep, expected at most {}", i, depths[i],
                                   kMaxTreeDepth));
    }
  }
}

std::vector<int> tree_depths(TreeEnsemble const& trees) {
  std::vector<int> below(
      trees.feature.size());  // nodes on the longest way from a node down, itself included
  auto const depth = [&](std::int32_t child) {
    return child < 0 ? 0 : below[static_cast<std::size_t>(child)];
  };
  for (std::size_t i = below.size(); i-- > 0;) {
    below[i] = 1 + std::max(depth(trees.left[i]), depth(trees.right[i]));
  }
  std::vector<int> result;
  for (std::int32_t const root : trees.roots) result.push_back(depth(root));
  return result;
}

bool is_tree_file(std::string const& path) {
  std::string const head = read_head(path);
  if (head.empty()) return false;
  return is_lightgbm_text(head) || is_ubjson(head) || is_json(head) || path.ends_with(".ubj") ||
         !advice(path).empty();
}

TreeEnsemble load_trees(std::string const& path) {
  return parse_trees(read_file(path, kMaxFileBytes), path);
}

TreeEnsemble parse_trees(std::string_view bytes, std::string const& source) {
  std::string_view const head = bytes.substr(0, kHeadBytes);
  std::string const shown = escaped(source, 4096);
  if (is_lightgbm_text(head)) return read_lightgbm_text(bytes, source);
  if (is_ubjson(head)) {
    auto const json = parse_strict_ubjson(bytes, shown, kMaxJsonDepth);
    return read_xgboost_json(JsonField(json, shown), source);
  }
  if (is_json(head)) {
    auto const json = parse_strict_json(bytes, shown, kMaxJsonDepth);
    JsonField const root(json, shown);
    if (root.has("learner")) return read_xgboost_json(root, source);
    if (root.has("format")) return read_trees_json(root, source);
    throw root.error(root.has("tree_info")
                         ? "is LightGBM's JSON dump, expected its text; save the model with "
                           "booster.save_model('NAME.txt')"
                         : "has neither 'learner' (XGBoost) nor 'format' (fairlane-trees), "
                           "expected an ensemble of "
                           "trees");
  }
  std::string const help = advice(source);
  throw Error(
      ExitCode::kData,
      fmt::format(
          "{}: {}", shown,
          !help.empty()
              ? help
              : fmt::format("starts with {}, expected XGBoost's JSON or UBJSON, LightGBM's text or "
                            "fairlane-trees",
                            in_quotes(head, kHeadBytes))));
}

}  // namespace fairlane
