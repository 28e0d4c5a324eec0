#include "models/trees/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "base/threads/thread_pool.h"
#include "kernels/core/trees.h"

namespace fairlane {
namespace {

constexpr int kMaxRankTable =
    1 << 12;  // integers between a feature's first and last threshold that a table answers
constexpr std::size_t kGroupBlocks =
    16;  // blocks that go through one tree after another: its nodes stay in the cache
constexpr std::size_t kFewRows = 8;      // that are walked one by one, measured
constexpr double kStepConditions = 4.0;  // that are asked while one row takes a step down a tree
constexpr std::size_t kWorthAThread =
    20'000;  // rows times trees: about as long as starting a thread takes

// The thresholds of one feature, in all trees.
class FeatureThresholds {
 public:
  explicit FeatureThresholds(std::vector<float> thresholds) : thresholds_(std::move(thresholds)) {
    std::sort(thresholds_.begin(), thresholds_.end());
    thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
    if (thresholds_.empty()) return;
    float const first = std::floor(thresholds_.front());
    float const last = std::ceil(thresholds_.back());
    if (!(std::abs(first) < 1e9F) || !(last - first < static_cast<float>(kMaxRankTable))) return;
    first_integer_ = static_cast<std::int32_t>(first);
    for (float x = first; x <= last; ++x) table_.push_back(search(x));
  }

  int size() const { return static_cast<int>(thresholds_.size()); }
  /// How many thresholds lie below x.
  std::int32_t rank(float x) const {
    if (!(x > thresholds_.front())) return 0;
    if (x > thresholds_.back()) return size();
    if (!table_.empty()) {
      auto const whole = static_cast<std::int32_t>(x);
      if (static_cast<float>(whole) == x)
        return table_[static_cast<std::size_t>(whole - first_integer_)];
    }
    return search(x);
  }
  /// Index of a threshold that the feature has.
  std::int32_t index(float threshold) const { return search(threshold); }

 private:
  std::int32_t search(float x) const {
    return static_cast<std::int32_t>(std::lower_bound(thresholds_.begin(), thresholds_.end(), x) -
                                     thresholds_.begin());
  }

  std::vector<float> thresholds_;
  std::int32_t first_integer_ = 0;
  std::vector<std::int32_t> table_;  // rank of first_integer_, first_integer_ + 1, ...
};

LaneSet first_lanes(int count) {
  LaneSet result;
  for (int w = 0; w < kTreeWords; ++w)
    result.words[w] = low_bits(std::clamp(count - 64 * w, 0, 64));
  return result;
}

// The score, moved by the least that puts it on its label's side of the threshold.
float keep_label(float score, bool is_one, float threshold) {
  if (is_one)
    return std::max(score, std::nextafter(threshold, std::numeric_limits<float>::infinity()));
  return std::min(score, threshold);
}

// Rounds scores so that the first greatest stays the first greatest.
template <class Real>
void round_scores(std::span<Real const> sums, float* scores) {
  auto const best =
      static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  for (std::size_t i = 0; i < sums.size(); ++i) scores[i] = static_cast<float>(sums[i]);
  for (std::size_t i = 0; i < best; ++i) {
    if (scores[i] == scores[best]) {  // rounded to the same, and the lower class would win
      scores[best] = std::nextafter(scores[best], std::numeric_limits<float>::infinity());
      return;
    }
  }
}

}  // namespace

float score_of(TreeEnsemble const& trees, std::span<double const> sums) {
  if (sums.size() == 2) return keep_label(static_cast<float>(sums[1]), sums[1] > sums[0], 0.5F);
  auto const threshold = static_cast<float>(trees.usual_threshold());
  return keep_label(static_cast<float>(sums[0]), sums[0] > trees.decision_threshold, threshold);
}

class TreeScorer::Program {
 public:
  virtual ~Program() = default;
  virtual void score(float const* rows, std::size_t count, float* scores, int threads) const = 0;
};

template <class Real>
class TreeScorer::TypedProgram : public TreeScorer::Program {
 public:
  explicit TypedProgram(TreeEnsemble const& trees) : source_(trees) {
    std::vector<std::vector<float>> thresholds(static_cast<std::size_t>(trees.inputs));
    for (std::size_t i = 0; i < trees.feature.size(); ++i) {
      thresholds[static_cast<std::size_t>(trees.feature[i])].push_back(trees.threshold[i]);
    }
    for (auto& of_feature : thresholds) {
      first_condition_.push_back(conditions_);
      features_.emplace_back(std::move(of_feature));
      conditions_ += features_.back().size();
    }
    for (std::size_t i = 0; i < trees.feature.size(); ++i) {
      auto const feature = static_cast<std::size_t>(trees.feature[i]);
      std::int32_t const condition =
          first_condition_[feature] + features_[feature].index(trees.threshold[i]);
      nodes_.push_back({condition, trees.left[i], trees.right[i]});
    }
    leaves_.assign(trees.leaves.begin(), trees.leaves.end());
    base_.assign(trees.base.begin(), trees.base.end());
    auto const depths = tree_depths(trees);
    depth_ = *std::max_element(depths.begin(), depths.end());
  }

  void score(float const* rows, std::size_t count, float* scores, int threads) const override {
    std::size_t const blocks = (count + kTreeLanes - 1) / kTreeLanes;
    std::size_t const worth = 1 + count * source_.roots.size() / kWorthAThread;
    std::size_t const workers =
        std::min({static_cast<std::size_t>(std::max(threads, 1)), blocks, worth});
    if (workers == 0) return;
    if (are_few(count)) return score_few(rows, count, scores);
    std::size_t const group = std::min(kGroupBlocks, (blocks + workers - 1) / workers);
    std::size_t const group_rows = group * kTreeLanes;
    auto const outputs = static_cast<std::size_t>(source_.outputs());
    std::vector<Scratch> scratch;
    for (std::size_t w = 0; w < workers; ++w) scratch.emplace_back(*this, group);
    pool_.share(static_cast<int>(workers), 0, static_cast<std::int64_t>(count),
                static_cast<std::int64_t>(group_rows),
                [&](int worker, std::int64_t begin, std::int64_t some) {
                  auto const first = static_cast<std::size_t>(begin);
                  score_group(rows + first * static_cast<std::size_t>(source_.inputs),
                              static_cast<std::size_t>(some), scores + first * outputs,
                              scratch[static_cast<std::size_t>(worker)]);
                });
  }

 private:
  struct Scratch {
    Scratch(TypedProgram const& program, std::size_t blocks)
        : conditions(std::make_unique_for_overwrite<LaneSet[]>(
              blocks * static_cast<std::size_t>(program.conditions_))),
          sums(blocks * kTreeLanes * static_cast<std::size_t>(program.source_.sums)),
          undefined(blocks * kTreeLanes),
          stack(static_cast<std::size_t>(program.depth_) + 1) {}
    std::unique_ptr<LaneSet[]> conditions;  // [blocks][conditions]
    std::vector<Real> sums;                 // [blocks][kTreeLanes][sums]
    std::vector<std::uint8_t> undefined;    // [blocks][kTreeLanes]
    std::vector<TreeBranch> stack;
  };

  /// Whether rows are walked one by one, instead of a block whose conditions are all asked first.
  bool are_few(std::size_t count) const {
    if (count > kTreeLanes) return false;
    double const steps = static_cast<double>(source_.trees()) * depth_;
    return count <= kFewRows || static_cast<double>(count) * steps * kStepConditions <= conditions_;
  }

  void score_few(float const* rows, std::size_t count, float* scores) const {
    auto const inputs = static_cast<std::size_t>(source_.inputs);
    auto const outputs = static_cast<std::size_t>(source_.outputs());
    auto const width = static_cast<std::size_t>(source_.width);
    std::vector<Real> sums;
    for (std::size_t i = 0; i < count; ++i) {
      float const* const row = rows + i * inputs;
      float* const out = scores + i * outputs;
      if (is_undefined(row)) {
        std::fill(out, out + outputs, std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      sums = base_;
      for (std::size_t t = 0; t < source_.roots.size(); ++t) {
        std::int32_t at = source_.roots[t];
        while (at >= 0) {
          auto const n = static_cast<std::size_t>(at);
          bool const left = row[source_.feature[n]] <= source_.threshold[n];
          at = left ? source_.left[n] : source_.right[n];
        }
        Real const* const leaf = &leaves_[static_cast<std::size_t>(~at) * width];
        auto const first = static_cast<std::size_t>(source_.first_sum[t]);
        for (std::size_t k = 0; k < width; ++k) sums[first + k] += leaf[k];
      }
      finish(sums, out);
    }
  }

  /// Whether a row is no number where a tree asks.
  bool is_undefined(float const* row) const {
    for (std::size_t f = 0; f < features_.size(); ++f)
      if (features_[f].size() > 0 && std::isnan(row[f])) return true;
    return false;
  }

  void score_group(float const* rows, std::size_t count, float* scores, Scratch& scratch) const {
    auto const sums = static_cast<std::size_t>(source_.sums);
    std::size_t const blocks = (count + kTreeLanes - 1) / kTreeLanes;
    std::fill(scratch.undefined.begin(), scratch.undefined.end(), std::uint8_t{0});
    for (std::size_t b = 0; b < blocks; ++b) begin_block(rows, count, b, scratch);
    TreesView<Real> const view{source_.sums,      source_.width, source_.roots,
                               source_.first_sum, nodes_,        leaves_};
    for (int tree = 0; tree < source_.trees(); ++tree) {
      for (std::size_t b = 0; b < blocks; ++b) {
        auto const lanes =
            static_cast<int>(std::min<std::size_t>(kTreeLanes, count - b * kTreeLanes));
        add_tree(view, tree, scratch.conditions.get() + b * static_cast<std::size_t>(conditions_),
                 first_lanes(lanes), scratch.stack.data(),
                 scratch.sums.data() + b * kTreeLanes * sums);
      }
    }
    auto const outputs = static_cast<std::size_t>(source_.outputs());
    for (std::size_t row = 0; row < count; ++row) {
      float* const out = scores + row * outputs;
      if (scratch.undefined[row] != 0) {
        std::fill(out, out + outputs, std::numeric_limits<float>::quiet_NaN());
      } else {
        finish({scratch.sums.data() + row * sums, sums}, out);
      }
    }
  }

  // Sets the sums of a block to the base and its conditions to the lanes that meet them.
  void begin_block(float const* rows, std::size_t count, std::size_t block,
                   Scratch& scratch) const {
    auto const inputs = static_cast<std::size_t>(source_.inputs);
    std::size_t const first = block * kTreeLanes;
    std::size_t const lanes = std::min<std::size_t>(kTreeLanes, count - first);
    LaneSet* const conditions =
        scratch.conditions.get() + block * static_cast<std::size_t>(conditions_);
    std::int32_t ranks[kTreeLanes] = {};
    for (std::size_t f = 0; f < inputs; ++f) {
      if (features_[f].size() == 0) continue;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        float const x = rows[(first + lane) * inputs + f];
        ranks[lane] = features_[f].rank(x);
        if (std::isnan(x)) scratch.undefined[first + lane] = 1;
      }
      meet_conditions(ranks, features_[f].size(), conditions + first_condition_[f]);
    }
    Real* sum = scratch.sums.data() + first * base_.size();
    for (std::size_t lane = 0; lane < lanes; ++lane)
      sum = std::copy(base_.begin(), base_.end(), sum);
  }

  // From the sums of a lane to its scores.
  void finish(std::span<Real> sums, float* scores) const {
    auto const divisor = static_cast<Real>(source_.divisor);
    for (Real& sum : sums) sum /= divisor;
    if (source_.outputs() == 1) {
      double exact[2];
      std::copy(sums.begin(), sums.end(), exact);
      scores[0] = score_of(source_, {exact, sums.size()});
    } else {
      round_scores<Real>(sums, scores);
    }
  }

  mutable ThreadPool pool_;
  TreeEnsemble const& source_;
  std::vector<FeatureThresholds> features_;    // [inputs]
  std::vector<std::int32_t> first_condition_;  // [inputs]
  std::int32_t conditions_ = 0;
  std::vector<TreeNode> nodes_;
  std::vector<Real> leaves_;
  std::vector<Real> base_;
  int depth_ = 0;
};

TreeScorer::TreeScorer(TreeEnsemble trees, int threads)
    : trees_(std::move(trees)), threads_(threads > 0 ? threads : machine_threads()) {
  validate(trees_);
  if (trees_.in_double) {
    program_ = std::make_unique<TypedProgram<double>>(trees_);
  } else {
    program_ = std::make_unique<TypedProgram<float>>(trees_);
  }
}

TreeScorer::~TreeScorer() = default;

std::string TreeScorer::name() const {
  return fmt::format("{}, {} trees", trees_.producer, trees_.trees());
}

int TreeScorer::outputs() const { return trees_.outputs(); }

void TreeScorer::score(float const* rows, std::size_t count, float* scores) {
  program_->score(rows, count, scores, threads_);
}

}  // namespace fairlane
