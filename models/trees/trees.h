// Ensembles of decision trees as read from a file: XGBoost, LightGBM, and scikit-learn's through
// models/adapters/export_sklearn.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/scorer.h"

namespace fairlane {

/// Limits of what a reader accepts: far above real ensembles, low enough that no size computation
/// overflows.
inline constexpr int kMaxTrees = 1 << 20;
inline constexpr int kMaxTreeNodes = 1 << 27;
inline constexpr int kMaxTreeDepth = 1 << 12;
inline constexpr int kMaxClasses = 1 << 10;

/// Trees whose every node asks whether an input is at most a threshold; readers bring all other
/// splits into this form.
///
/// A lane begins with `base`, adds the values of one leaf of each tree, in order, in float32 or
/// double, and divides by `divisor`. Its label: one sum, 1 when it lies above `decision_threshold`
/// (0.5 for p(1)); several, the greatest, ties to the lowest class.
///
/// roots      [trees] a node, or leaf ~r when below 0
/// first_sum  [trees] a tree's leaves add to the sums first_sum .. first_sum + width - 1
/// feature, threshold, left, right  [nodes] left when x[feature] <= threshold; a child is a node
/// with a greater index,
///                                  or leaf ~c when below 0. Nodes may share children.
/// leaves     [leaves][width]
struct TreeEnsemble {
  std::string source;                 // the path it was read from, for messages
  std::string producer;               // what trained it, for people
  std::vector<std::string> features;  // names of the inputs; empty where the file has none
  int inputs = 0;
  int sums = 0;  // 1, or the classes
  int width = 1;
  ScoreKind kind = ScoreKind::kLogits;
  bool in_double = false;  // the library adds up in double precision
  std::vector<double> base;
  double divisor = 1.0;
  double decision_threshold = 0.0;
  std::vector<std::int32_t> roots;
  std::vector<std::int32_t> first_sum;
  std::vector<std::int32_t> feature;
  std::vector<float> threshold;
  std::vector<std::int32_t> left;
  std::vector<std::int32_t> right;
  std::vector<double> leaves;

  /// Scores of a row: the sums, but two probabilities are one score, p(1).
  int outputs() const { return kind == ScoreKind::kProbabilities && sums == 2 ? 1 : sums; }
  /// What scores of one output are compared with, unless a user says otherwise.
  double usual_threshold() const { return kind == ScoreKind::kProbabilities ? 0.5 : 0.0; }
  int trees() const { return static_cast<int>(roots.size()); }
  int nodes() const { return static_cast<int>(feature.size()); }
};

/// Checks what every reader must guarantee: sizes match and keep the limits, indices are in range,
/// children come after their parents (so that there are no cycles), and all numbers are finite.
/// Throws Error(kData) naming source, tree or node, and the value.
void validate(TreeEnsemble const& trees);

/// The greatest number of nodes on a way from a root to a leaf, by tree; of a valid ensemble.
std::vector<int> tree_depths(TreeEnsemble const& trees);

/// Whether a file is one that load_trees is for, by its first bytes and its name; false where there
/// is none.
bool is_tree_file(std::string const& path);

/// Reads an ensemble, choosing the reader by content. Throws Error(kNoInput) if missing,
/// Error(kData) if malformed or unsupported.
TreeEnsemble load_trees(std::string const& path);

/// Same, from memory; `source` names it in messages.
TreeEnsemble parse_trees(std::string_view bytes, std::string const& source);

}  // namespace fairlane
