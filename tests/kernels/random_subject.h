// Random subjects in memory for the tests of the lane core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/core/labels.h"
#include "kernels/cpu/cpu_block.h"
#include "tests/naive_reference.h"

namespace fairlane {

/// A network with random weights over a random domain; `view` points into it.
class RandomSubject {
 public:
  /// widths  outputs of each layer; counts  values compared of each selected attribute (1: a single
  ///         one)
  struct Shape {
    int attributes = 6;
    std::vector<int> widths = {8, 5, 1};
    std::vector<int> counts = {3, 2};
    Activation activation = Activation::kRelu;
    float scale = 1.0F;      // of the weights
    std::int32_t range = 7;  // most values of an attribute beside the selected ones
    float threshold = 0.0F;
    std::uint32_t seed = 1;
    bool encoded = false;      // every attribute in a way of its own
    bool constrained = false;  // some inputs do not exist
  };

  explicit RandomSubject(Shape const& shape) : shape_(shape), random_(shape.seed) {
    add_domain();
    if (shape.encoded) add_encodings();
    int inputs = shape.attributes;
    if (shape.encoded)
      inputs = std::accumulate(encodings_.begin(), encodings_.end(), 0,
                               [](int sum, EncodingView const& e) { return sum + e.width; });
    weights_.reserve(2 * shape.widths.size());
    for (std::size_t l = 0; l < shape.widths.size(); ++l) {
      int const outputs = shape.widths[l];
      bool const last = l + 1 == shape.widths.size();
      std::normal_distribution<float> normal(0.0F,
                                             shape.scale / std::sqrt(static_cast<float>(inputs)));
      auto const fill = [&](int count) -> std::vector<float> const& {
        auto& values = weights_.emplace_back(static_cast<std::size_t>(count));
        for (float& value : values) value = normal(random_);
        return values;
      };
      LayerView layer;
      layer.inputs = inputs;
      layer.outputs = outputs;
      layer.activation = !last          ? shape.activation
                         : outputs == 1 ? Activation::kSigmoid
                                        : Activation::kSoftmax;
      layer.alpha = 0.3F;
      layer.weights = fill(inputs * outputs);
      layer.bias = fill(outputs);
      layers_.push_back(layer);
      inputs = outputs;
    }
    for (auto const& values : values_) spans_.emplace_back(values);
    view = {layers_, low_, high_, flagged_, selected_, spans_, shape.threshold};
    if (shape.encoded) {
      view.codes = code_spans_;
      view.encodings = encodings_;
    }
    centre();
    if (shape.constrained) add_constraints();
  }
  RandomSubject(RandomSubject const&) = delete;
  RandomSubject& operator=(RandomSubject const&) = delete;

  /// A row whose selected values are among the compared ones.
  naive::Row row() {
    naive::Row row;
    for (std::size_t a = 0; a < low_.size(); ++a) {
      auto const last = static_cast<std::int32_t>(view.code_count(a)) - 1;
      row.push_back(view.code_at(a, uniform(0, last)));
    }
    for (std::size_t s = 0; s < selected_.size(); ++s) {
      auto const pick = uniform(0, static_cast<std::int32_t>(values_[s].size()) - 1);
      row[static_cast<std::size_t>(selected_[s])] = values_[s][static_cast<std::size_t>(pick)];
    }
    return row;
  }
  std::vector<naive::Row> rows(int count) {
    std::vector<naive::Row> all;
    for (int i = 0; i < count; ++i) all.push_back(row());
    return all;
  }
  std::int32_t uniform(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random_);
  }
  /// Weights [inputs][outputs] of a layer, to be changed by a test.
  std::vector<float>& weights(std::size_t layer) { return weights_[2 * layer]; }

  SubjectView view;

 private:
  void add_domain() {
    constexpr std::int32_t kLowest = -3;
    for (int a = 0; a < shape_.attributes; ++a) {
      low_.push_back(uniform(kLowest, 2));
      high_.push_back(low_.back() + uniform(0, shape_.range - 1));
      flagged_.push_back(uniform(0, 3) == 0 ? 1 : 0);  // some are flagged without being selected
    }
    std::vector<std::int32_t> order(low_.size());
    for (std::size_t a = 0; a < order.size(); ++a) order[a] = static_cast<std::int32_t>(a);
    std::shuffle(order.begin(), order.end(), random_);
    selected_.assign(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(shape_.counts.size()));
    std::sort(selected_.begin(), selected_.end());
    for (std::size_t s = 0; s < selected_.size(); ++s) {
      auto const a = static_cast<std::size_t>(selected_[s]);
      high_[a] = low_[a] + shape_.counts[s];  // one value more than is compared
      std::int32_t const left_out = uniform(low_[a], high_[a]);
      values_.emplace_back();
      for (std::int32_t v = low_[a]; v <= high_[a]; ++v) {
        if (v != left_out) values_.back().push_back(v);
      }
    }
  }

  /// Lists are of every other code, so that selected values double with them.
  void add_encodings() {
    codes_.resize(low_.size());
    tables_.resize(low_.size());
    for (std::size_t a = 0; a < low_.size(); ++a) {
      std::int32_t const codes = high_[a] - low_[a] + 1;
      if (uniform(0, 2) == 0) {
        for (std::int32_t i = 0; i < codes; ++i) codes_[a].push_back(2 * (low_[a] + i));
        low_[a] *= 2;
        high_[a] *= 2;
        auto const selected =
            std::find(selected_.begin(), selected_.end(), static_cast<std::int32_t>(a));
        if (selected != selected_.end()) {
          for (auto& value : values_[static_cast<std::size_t>(selected - selected_.begin())])
            value *= 2;
        }
      }
      EncodingView encoding;
      int const way = uniform(0, 9);
      if (way == 0) {
        encoding.kind = EncodingKind::kAffine;
        encoding.slope = 0.25;
        for (std::int32_t i = 0; i < codes; ++i)
          tables_[a].push_back(static_cast<float>(i) * 0.25F - 1.3F);
      } else if (way == 1) {
        encoding.kind = EncodingKind::kTable;
        encoding.width = uniform(1, 3);
        for (std::int32_t i = 0; i < codes * encoding.width; ++i)
          tables_[a].push_back(static_cast<float>(uniform(-9, 9)) * 0.3F);
      } else if (way > 3) {
        encoding.kind = EncodingKind::kOneHot;
        encoding.dropped = codes > 1 ? way % 2 : 0;
        encoding.width = codes - encoding.dropped;
      }
      encoding.table = tables_[a];
      encodings_.push_back(encoding);
    }
    for (auto const& codes : codes_) code_spans_.emplace_back(codes);
  }

  /// A sum of codes, an implication, one of a list of codes, and a set of combinations: with a
  /// selected attribute in most.
  void add_constraints() {
    auto const last = static_cast<std::int32_t>(low_.size()) - 1;
    int const a = uniform(0, last);
    int const b = selected_[static_cast<std::size_t>(
        uniform(0, static_cast<std::int32_t>(selected_.size()) - 1))];
    auto const at = [](int attribute) { return static_cast<std::size_t>(attribute); };
    std::int32_t const middle = low_[at(a)] + (high_[at(a)] - low_[at(a)]) / 2;
    auto& sum = terms_.emplace_back();
    for (int i = 0; i <= last; ++i) sum.push_back({i, TermKind::kCode, uniform(0, 1) * 2 - 1});
    view_constraints_.push_back({sum, uniform(0, 4)});
    // a at least its middle => b not its lowest
    auto& implication = terms_.emplace_back();
    implication.push_back({a, TermKind::kWithin, 1, middle, high_[at(a)]});
    implication.push_back({b, TermKind::kWithin, 1, low_[at(b)], low_[at(b)]});
    view_constraints_.push_back({implication, 1});
    // Combinations of two attributes, numbered by their distance from the lowest codes.
    int const c = uniform(0, last);
    int const d = (c + 1) % (last + 1);
    auto& pair = terms_.emplace_back();
    std::int32_t width = 1;
    for (int const attribute : {c, d}) {
      auto& table = term_tables_.emplace_back();
      for (std::int32_t code = low_[at(attribute)]; code <= high_[at(attribute)]; ++code)
        table.push_back((code - low_[at(attribute)]) * width);
      pair.push_back({attribute, TermKind::kTable, 0, low_[at(attribute)], high_[at(attribute)],
                      table.data()});
      width *= static_cast<std::int32_t>(table.size());
    }
    set_.resize(at((width - 1) / 32 + 1));
    for (std::int32_t i = 0; i < width; ++i) {
      if (uniform(0, 3) > 0) set_[at(i / 32)] |= 1U << (i % 32);
    }
    view_constraints_.push_back({pair, width - 1, set_});
    view.constraints = view_constraints_;
  }

  /// Shifts the last bias so that every label is common.
  void centre() {
    if (view.low.empty()) return;
    naive::DoubleReference const reference(view);
    constexpr int kSample = 64;
    std::vector<double> mean(weights_.back().size());
    for (int i = 0; i < kSample; ++i) {
      auto const z = reference.logits(row());
      for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += z[c] / kSample;
    }
    for (std::size_t c = 0; c < mean.size(); ++c) {
      weights_.back()[c] -= static_cast<float>(mean[c]) - shape_.threshold;
    }
  }

  Shape shape_;
  std::mt19937 random_;
  std::vector<std::int32_t> low_;
  std::vector<std::int32_t> high_;
  std::vector<std::uint8_t> flagged_;
  std::vector<std::int32_t> selected_;
  std::vector<std::vector<std::int32_t>> values_;
  std::vector<std::span<std::int32_t const>> spans_;
  std::vector<std::vector<std::int32_t>> codes_;
  std::vector<std::span<std::int32_t const>> code_spans_;
  std::vector<std::vector<float>> tables_;
  std::vector<EncodingView> encodings_;
  std::vector<std::vector<float>> weights_;
  std::vector<LayerView> layers_;
  std::deque<std::vector<TermView>> terms_;
  std::deque<std::vector<std::int32_t>> term_tables_;
  std::vector<std::uint32_t> set_;
  std::vector<ConstraintView> view_constraints_;
};

/// Lanes in kernel order, padded as the kernels want it.
struct Lanes {
  Lanes(PackedSubject const& packed, std::vector<naive::Row> const& rows)
      : count(static_cast<int>(rows.size())),
        stride((static_cast<long>(rows.size()) + kPadLanes - 1) / kPadLanes * kPadLanes),
        x(packed.get().columns, stride) {
    for (int c = 0; c < packed.get().columns; ++c) {
      auto const a = static_cast<std::size_t>(packed.attribute_of()[static_cast<std::size_t>(c)]);
      for (std::size_t i = 0; i < rows.size(); ++i)
        x(c, static_cast<long>(i)) = packed.place_of(c, rows[i][a]);
    }
  }
  int count;
  long stride;
  LaneArray<std::int32_t> x;
};

/// Function tables that this processor runs, the portable one first.
inline std::vector<LaneKernels const*> kernel_tables() {
  auto names = cpu_instruction_sets();
  std::reverse(names.begin(), names.end());
  std::vector<LaneKernels const*> tables;
  for (auto const& name : names) tables.push_back(&select_kernels(name.c_str()));
  return tables;
}

/// Lists of all values of all attributes that are not selected.
inline std::vector<ValueList> free_lists(SubjectView const& view) {
  std::vector<ValueList> lists;
  for (std::size_t a = 0; a < view.low.size(); ++a) {
    auto const attribute = static_cast<int>(a);
    if (std::ranges::count(view.selected, attribute) > 0) continue;
    ValueList list{{attribute}, {}};
    for (std::int64_t k = 0; k < view.code_count(a); ++k) list.values.push_back(view.code_at(a, k));
    lists.push_back(list);
  }
  return lists;
}

}  // namespace fairlane
