// LightGBM's text model. Source: its src/boosting/gbdt_model_text.cpp, src/io/tree.cpp and
// include/LightGBM/tree.h.
#include "models/trees/lightgbm_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "models/network.h"
#include "models/trees/builder.h"

namespace fairlane {
namespace {

// decision_type of a node
constexpr std::int32_t kCategorical = 1;
constexpr std::int32_t kDefaultLeft = 2;
constexpr std::int32_t kMissingMask = 12;
constexpr std::int32_t kMissingIsZero = 4;
constexpr float kZero = 1e-35F;  // up to this magnitude an input counts as zero
// The greatest x for which 1 / (1 + exp(-x)) is one half in double: the label is 1 above it.
constexpr double kDoubleSigmoidThreshold = 0x1.8p-53;

// The lines NAME=VALUE of one part of the file.
class Section {
 public:
  explicit Section(std::string where) : where_(std::move(where)) {}

  std::string const& where() const { return where_; }
  void add(std::string_view line) {
    std::size_t const equals = line.find('=');
    if (line.empty()) return;
    values_[line.substr(0, equals)] =
        equals == std::string_view::npos ? std::string_view() : line.substr(equals + 1);
  }
  bool has(std::string_view name) const { return values_.contains(name); }
  std::string_view text(std::string_view name) const {
    auto const found = values_.find(name);
    if (found == values_.end()) throw error(name, "is missing");
    return found->second;
  }
  Error error(std::string_view name, std::string const& what) const {
    return Error(ExitCode::kData, fmt::format("{}: {} {}", where_, name, what));
  }

  std::vector<std::string_view> words(std::string_view name) const {
    std::vector<std::string_view> result;
    std::string_view rest = text(name);
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      if (rest.empty()) return result;
      std::size_t const end = std::min(rest.find(' '), rest.size());
      result.push_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  }
  // `count` finite numbers in low..high.
  template <class Number>
  std::vector<Number> numbers(std::string_view name, std::size_t count, Number low,
                              Number high) const {
    std::vector<Number> result;
    for (std::string_view const word : words(name)) {
      Number value{};
      auto const [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (problem != std::errc() || end != word.data() + word.size() ||
          !(value >= low && value <= high)) {
        throw error(name, fmt::format("holds {} at index {}, expected a number in {}..{}",
                                      in_quotes(word), result.size(), low, high));
      }
      result.push_back(value);
    }
    if (result.size() != count) {
      throw error(name, fmt::format("has {} numbers, expected {}", result.size(), count));
    }
    return result;
  }
  std::vector<double> doubles(std::string_view name, std::size_t count) const {
    constexpr double kMost = std::numeric_limits<double>::max();
    return numbers(name, count, -kMost, kMost);
  }
  int integer(std::string_view name, int low, int high) const {
    return numbers(name, 1, low, high).front();
  }

 private:
  std::string where_;
  std::map<std::string_view, std::string_view> values_;
};

// The header and the trees; what follows "end of trees" are statistics and the training's
// parameters.
std::vector<Section> read_sections(std::string_view text, std::string const& shown) {
  std::vector<Section> result;
  result.emplace_back(shown);
  bool is_whole = false;
  while (!text.empty() && !is_whole) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("Tree=")) {
      result.emplace_back(fmt::format("{}:{}", shown, escaped(line, 30)));
    } else if (line == "end of trees") {
      is_whole = true;
    } else {
      result.back().add(line);
    }
  }
  if (!is_whole)
    throw Error(ExitCode::kData, fmt::format("{}: ends before 'end of trees': cut short?", shown));
  return result;
}

// Numbers x with x <= threshold go left, but for zero where it stands for a missing value.
std::vector<float> threshold_boundaries(double threshold, std::int32_t type, bool& left_first) {
  float const most = float_at_most(threshold);
  left_first = true;
  if ((type & kMissingMask) != kMissingIsZero) return {most};
  float const below_zero = float_below(-kZero);
  std::vector<float> ends{below_zero, kZero, most};
  std::sort(ends.begin(), ends.end());
  // Between two ends all go the same way, that of the upper end; behind the last one it is right.
  auto const goes_left = [&](float x) {
    bool const is_zero = x > below_zero && x <= kZero;
    return is_zero ? (type & kDefaultLeft) != 0 : x <= most;
  };
  std::vector<float> result;
  left_first = goes_left(ends.front());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    bool const next = i + 1 < ends.size() && goes_left(ends[i + 1]);
    if (goes_left(ends[i]) != next) result.push_back(ends[i]);
  }
  return result;
}

// Inputs whose integer part is in the set go left, all others, and those below 0, right.
std::vector<float> boundaries_of_bits(std::vector<std::uint32_t> const& bits) {
  std::vector<float> result;
  bool inside = false;
  std::size_t const end = bits.size() * 32;
  for (std::size_t category = 0; category <= end; ++category) {
    bool const is_in = category < end && (bits[category / 32] >> (category % 32) & 1U) != 0;
    // -0.5 has the integer part 0
    if (is_in != inside)
      result.push_back(category == 0 ? -1.0F : float_below(static_cast<float>(category)));
    inside = is_in;
  }
  return result;
}

void read_tree(Section const& section, TreeEnsemble& ensemble, int first_sum) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  auto const leaves = static_cast<std::size_t>(section.integer("num_leaves", 1, kMaxTreeNodes));
  std::size_t const nodes = leaves - 1;
  if (section.has("is_linear") && section.integer("is_linear", 0, 1) != 0) {
    throw section.error("is_linear",
                        "is 1, expected trees with constant leaves; train with linear_tree=false");
  }
  auto const value = section.doubles("leaf_value", leaves);
  TreeBuilder builder(ensemble, section.where(), nodes + leaves);
  for (std::size_t i = 0; i < leaves; ++i) builder.set_leaf(nodes + i, {&value[i], 1});
  if (nodes > 0) {
    auto const feature = section.numbers<std::int32_t>("split_feature", nodes, 0, kMost);
    auto const threshold = section.doubles("threshold", nodes);
    auto const type = section.numbers<std::int32_t>("decision_type", nodes, 0, 15);
    auto const left = section.numbers<std::int32_t>("left_child", nodes, -kMost, kMost);
    auto const right = section.numbers<std::int32_t>("right_child", nodes, -kMost, kMost);
    auto const sets = static_cast<std::size_t>(section.integer("num_cat", 0, kMaxTreeNodes));
    std::vector<std::int32_t> ends{0};
    std::vector<std::uint32_t> bits;
    std::vector<char> used(sets, false);
    if (sets > 0) {
      constexpr std::int32_t kMaxWords = 1 << 19;  // of 32 categories: 2^24 of them
      ends = section.numbers<std::int32_t>("cat_boundaries", sets + 1, 0, kMaxWords);
      bits = section.numbers<std::uint32_t>("cat_threshold", static_cast<std::size_t>(ends.back()),
                                            0U, ~0U);
    }
    // A child is a node, or leaf ~k.
    auto const child = [&](char const* name, std::vector<std::int32_t> const& children,
                           std::size_t i) {
      auto const count = static_cast<std::int64_t>(nodes);
      if (children[i] >= count || children[i] < -count - 1) {
        throw section.error(name, fmt::format("holds {} at index {}, expected {}..{}", children[i],
                                              i, -count - 1, count - 1));
      }
      return children[i] >= 0 ? std::int64_t{children[i]} : count + ~children[i];
    };
    for (std::size_t i = 0; i < nodes; ++i) {
      bool left_first = false;
      std::vector<float> boundaries;
      if ((type[i] & kCategorical) != 0) {
        double const set = threshold[i];
        if (!(set >= 0 && set < static_cast<double>(sets) && set == std::floor(set))) {
          throw section.error("threshold",
                              fmt::format("holds {} at index {}, expected the number of a set of "
                                          "categories, 0..{}",
                                          set, i, static_cast<std::int64_t>(sets) - 1));
        }
        auto const k = static_cast<std::size_t>(set);
        if (std::exchange(
                used[k],
                true)) {  // sets that many nodes share would cost more than the file is long
          throw section.error(
              "threshold",
              fmt::format("holds {} twice, expected a set of categories for each node", k));
        }
        if (ends[k] > ends[k + 1] || ends[k + 1] > ends.back()) {
          throw section.error(
              "cat_boundaries",
              fmt::format("has {} before {} at index {}, expected ascending numbers", ends[k],
                          ends[k + 1], k));
        }
        boundaries = boundaries_of_bits({bits.begin() + ends[k], bits.begin() + ends[k + 1]});
      } else {
        boundaries = threshold_boundaries(threshold[i], type[i], left_first);
      }
      builder.set_split(i, feature[i], boundaries, left_first, child("left_child", left, i),
                        child("right_child", right, i));
    }
  }
  builder.finish(first_sum);
}

// The classes that an objective scores (1: two classes, one score), and where one score makes the
// label 1.
int read_objective(Section const& header, double& threshold) {
  auto const words = header.words("objective");
  std::string const name(words.empty() ? std::string_view() : words.front());
  if (name == "multiclass" || name == "multiclassova")
    return header.integer("num_class", 2, kMaxClasses);
  if (name != "binary") {
    throw header.error(
        "objective",
        fmt::format("is {}, expected binary, multiclass or multiclassova: a classifier",
                    in_quotes(name)));
  }
  double slope = 1.0;
  for (std::string_view const word : words) {
    constexpr std::string_view kSlope = "sigmoid:";
    if (!word.starts_with(kSlope)) continue;
    auto const [end, problem] =
        std::from_chars(word.data() + kSlope.size(), word.data() + word.size(), slope);
    if (problem != std::errc() || end != word.data() + word.size() ||
        !(slope > 0.0 && std::isfinite(slope))) {
      throw header.error("objective",
                         fmt::format("has {}, expected a slope above 0", in_quotes(word)));
    }
  }
  threshold = kDoubleSigmoidThreshold / slope;
  return 1;
}

}  // namespace

TreeEnsemble read_lightgbm_text(std::string_view text, std::string const& source) {
  auto const sections = read_sections(text, escaped(source, 4096));
  Section const& header = sections.front();
  TreeEnsemble result;
  result.source = source;
  result.producer = fmt::format("LightGBM model {}",
                                escaped(header.has("version") ? header.text("version") : "", 20));
  result.in_double = true;
  result.sums = read_objective(header, result.decision_threshold);
  result.base.assign(static_cast<std::size_t>(result.sums), 0.0);
  header.integer("num_tree_per_iteration", result.sums, result.sums);
  result.inputs = header.integer("max_feature_idx", 0, kMaxInputs - 1) + 1;
  for (std::string_view const name : header.words("feature_names"))
    result.features.emplace_back(name);
  auto const trees = sections.size() - 1;
  for (std::size_t i = 0; i < trees; ++i) {
    read_tree(sections[i + 1], result, static_cast<int>(i % static_cast<std::size_t>(result.sums)));
  }
  if (header.has("average_output")) result.divisor = static_cast<double>(trees) / result.sums;
  validate(result);
  return result;
}

}  // namespace fairlane
