#include "engine/search/symbolic/decision_tree.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>

#include "base/error.h"

namespace fairlane {
namespace {

/// How a node's rows are divided.
struct Split {
  int attribute = 0;
  std::int32_t bin = 0;  // the left side's last
  std::int32_t threshold = 0;
  std::int64_t left = 0;  // rows there
};

/// The largest integer that is not above the mean of two.
std::int32_t midpoint(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>((std::int64_t{a} + b) >> 1);
}

/// Finds splits of sets of rows. Attributes are bins 0, 1, ... in the order of their values.
class Splitter {
 public:
  explicit Splitter(LabelledRows const& sample);

  /// Indices of all rows.
  std::vector<std::int32_t> all() const {
    std::vector<std::int32_t> members(rows_);
    std::iota(members.begin(), members.end(), 0);
    return members;
  }
  /// The best split of a node's rows, nothing where they are a leaf.
  std::optional<Split> best(std::span<std::int32_t const> members);
  /// Moves the left side's rows to the front.
  void divide(Split const& split, std::span<std::int32_t> members) const {
    std::int32_t const* const bin = column(split.attribute);
    std::partition(members.begin(), members.end(),
                   [&](std::int32_t i) { return bin[i] <= split.bin; });
  }

 private:
  std::int32_t const* column(int attribute) const {
    return bins_.data() + static_cast<std::size_t>(attribute) * rows_;
  }
  void bin_column(LabelledRows const& sample, int attribute);
  void try_attribute(int attribute, std::span<std::int32_t const> members);

  std::size_t rows_;
  std::size_t classes_ = 0;
  std::vector<std::int32_t> bins_;                 // [attributes][rows]
  std::vector<std::vector<std::int32_t>> values_;  // [attributes][bins]
  std::vector<std::uint8_t> class_;                // [rows] 0 .. classes - 1

  // Of the node at hand.
  std::vector<std::int64_t> total_;      // [classes] rows
  std::vector<std::int64_t> left_;       // [classes]
  std::vector<std::int64_t> histogram_;  // [bins][classes]
  std::vector<std::int32_t> occupied_;   // bins
  std::optional<Split> best_;
  double best_score_ = 0.0;
};

Splitter::Splitter(LabelledRows const& sample) : rows_(static_cast<std::size_t>(sample.count)) {
  if (sample.count > kMostTreeRows) {
    throw Error(ExitCode::kBug, "a decision tree of " + std::to_string(sample.count) +
                                    " rows, at most " + std::to_string(kMostTreeRows));
  }
  std::array<int, 256> number;
  number.fill(-1);
  for (std::size_t i = 0; i < rows_; ++i) number[sample.labels[i]] = 0;
  for (int& n : number) {
    if (n == 0) n = static_cast<int>(classes_++);
  }
  class_.resize(rows_);
  for (std::size_t i = 0; i < rows_; ++i)
    class_[i] = static_cast<std::uint8_t>(number[sample.labels[i]]);
  bins_.resize(rows_ * static_cast<std::size_t>(sample.attributes));
  values_.resize(static_cast<std::size_t>(sample.attributes));
  for (int a = 0; a < sample.attributes; ++a) bin_column(sample, a);
}

void Splitter::bin_column(LabelledRows const& sample, int attribute) {
  auto const width = static_cast<std::size_t>(sample.attributes);
  std::int32_t const* const from = sample.rows + attribute;
  std::int32_t* const to = bins_.data() + static_cast<std::size_t>(attribute) * rows_;
  auto& values = values_[static_cast<std::size_t>(attribute)];
  if (rows_ == 0) return;
  std::int32_t low = from[0];
  std::int32_t high = from[0];
  for (std::size_t i = 1; i < rows_; ++i) {
    low = std::min(low, from[i * width]);
    high = std::max(high, from[i * width]);
  }
  std::int64_t const range = std::int64_t{high} - low + 1;
  if (range <= static_cast<std::int64_t>(rows_)) {
    values.resize(static_cast<std::size_t>(range));
    std::iota(values.begin(), values.end(), low);
    for (std::size_t i = 0; i < rows_; ++i) to[i] = from[i * width] - low;
    return;
  }
  for (std::size_t i = 0; i < rows_; ++i) values.push_back(from[i * width]);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (std::size_t i = 0; i < rows_; ++i) {
    to[i] = static_cast<std::int32_t>(
        std::lower_bound(values.begin(), values.end(), from[i * width]) - values.begin());
  }
}

void Splitter::try_attribute(int attribute, std::span<std::int32_t const> members) {
  std::int32_t const* const bin = column(attribute);
  auto const& values = values_[static_cast<std::size_t>(attribute)];
  if (histogram_.size() < values.size() * classes_) histogram_.resize(values.size() * classes_);
  occupied_.clear();
  std::int32_t low = bin[members.front()];
  std::int32_t high = low;
  for (std::int32_t const i : members) {
    low = std::min(low, bin[i]);
    high = std::max(high, bin[i]);
    ++histogram_[static_cast<std::size_t>(bin[i]) * classes_ + class_[static_cast<std::size_t>(i)]];
  }
  // Of a few rows with far bins only these are looked at.
  if (static_cast<std::size_t>(high - low) < 4 * members.size()) {
    for (std::int32_t b = low; b <= high; ++b) occupied_.push_back(b);
  } else {
    for (std::int32_t const i : members) occupied_.push_back(bin[i]);
    std::sort(occupied_.begin(), occupied_.end());
    occupied_.erase(std::unique(occupied_.begin(), occupied_.end()), occupied_.end());
  }

  auto const n = static_cast<std::int64_t>(members.size());
  std::int64_t left_rows = 0;
  std::int32_t last = -1;  // the occupied bin before
  left_.assign(classes_, 0);
  for (std::int32_t const b : occupied_) {
    std::int64_t* const counts = histogram_.data() + static_cast<std::size_t>(b) * classes_;
    std::int64_t const here = std::accumulate(counts, counts + classes_, std::int64_t{0});
    if (here == 0) continue;
    if (last >= 0) {
      // Least impurity: largest sum over the sides of (sum of squared counts / rows), as one
      // fraction.
      std::int64_t left_squares = 0;
      std::int64_t right_squares = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        std::int64_t const right = total_[c] - left_[c];
        left_squares += left_[c] * left_[c];
        right_squares += right * right;
      }
      std::int64_t const right_rows = n - left_rows;
      double const score =
          static_cast<double>(left_squares * right_rows + right_squares * left_rows) /
          static_cast<double>(left_rows * right_rows);
      if (!best_ || score > best_score_) {
        best_score_ = score;
        best_ = Split{
            attribute, last,
            midpoint(values[static_cast<std::size_t>(last)], values[static_cast<std::size_t>(b)]),
            left_rows};
      }
    }
    for (std::size_t c = 0; c < classes_; ++c) left_[c] += counts[c];
    left_rows += here;
    last = b;
    std::fill(counts, counts + classes_, 0);
  }
}

std::optional<Split> Splitter::best(std::span<std::int32_t const> members) {
  best_.reset();
  total_.assign(classes_, 0);
  for (std::int32_t const i : members) ++total_[class_[static_cast<std::size_t>(i)]];
  auto const present = std::count_if(total_.begin(), total_.end(), [](auto n) { return n > 0; });
  if (present < 2) return {};
  for (int a = 0; a < static_cast<int>(values_.size()); ++a) try_attribute(a, members);
  return best_;
}

double share(std::int64_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Predicate predicate(int attribute, std::int32_t threshold, bool above, double left_share) {
  return {attribute, above, threshold, above ? 1.0 - left_share : left_share};
}

}  // namespace

DecisionTree::DecisionTree(LabelledRows const& sample) {
  struct Open {
    int node;
    std::span<std::int32_t> members;
  };
  Splitter splitter(sample);
  auto members = splitter.all();
  std::vector<Open> open = {{0, members}};
  nodes_.emplace_back();
  while (!open.empty()) {
    Open const next = open.back();
    open.pop_back();
    auto const split = splitter.best(next.members);
    Node node;
    if (!split) {
      node.left = leaves_++;
      nodes_[static_cast<std::size_t>(next.node)] = node;
      continue;
    }
    splitter.divide(*split, next.members);
    node.attribute = split->attribute;
    node.threshold = split->threshold;
    node.left_share = share(split->left, next.members.size());
    node.left = static_cast<int>(nodes_.size());
    node.right = node.left + 1;
    nodes_[static_cast<std::size_t>(next.node)] = node;
    nodes_.resize(nodes_.size() + 2);
    auto const left = static_cast<std::size_t>(split->left);
    open.push_back({node.right, next.members.subspan(left)});
    open.push_back({node.left, next.members.first(left)});
  }
}

int DecisionTree::leaf(std::int32_t const* row) const {
  Node const* node = nodes_.data();
  while (node->attribute >= 0) {
    bool const above = row[node->attribute] > node->threshold;
    node = nodes_.data() + (above ? node->right : node->left);
  }
  return node->left;
}

std::vector<Predicate> DecisionTree::path(std::int32_t const* row) const {
  std::vector<Predicate> path;
  Node const* node = nodes_.data();
  while (node->attribute >= 0) {
    bool const above = row[node->attribute] > node->threshold;
    path.push_back(predicate(node->attribute, node->threshold, above, node->left_share));
    node = nodes_.data() + (above ? node->right : node->left);
  }
  return path;
}

std::vector<Predicate> tree_path(LabelledRows const& sample, std::int32_t const* row) {
  std::vector<Predicate> path;
  Splitter splitter(sample);
  auto storage = splitter.all();
  std::span<std::int32_t> members = storage;
  while (auto const split = splitter.best(members)) {
    bool const above = row[split->attribute] > split->threshold;
    path.push_back(
        predicate(split->attribute, split->threshold, above, share(split->left, members.size())));
    splitter.divide(*split, members);
    auto const left = static_cast<std::size_t>(split->left);
    members = above ? members.subspan(left) : members.first(left);
  }
  return path;
}

}  // namespace fairlane
