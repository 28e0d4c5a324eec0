#include "engine/search/genetic/lime_model.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/mlp.h"

namespace fairlane {
namespace {

constexpr std::size_t kExplained = 1;  // the label whose probability is explained

bool takes_numbers(Attribute const& attribute) {
  auto const kind = attribute.encoding.kind;
  return kind == EncodingKind::kIdentity || kind == EncodingKind::kAffine;
}

}  // namespace

LimeModel::LimeModel(TestSubject const& subject)
    : subject_(subject),
      attributes_(subject.domain().size()),
      outputs_(subject.view().outputs()),
      kind_(subject.view().scorer != nullptr ? subject.view().scores : ScoreKind::kLogits) {
  for (LayerView const& view : subject.view().network)
    layers_.push_back({view, {view.weights.begin(), view.weights.end()}});
}

double LimeModel::taken(std::size_t attribute, double value) const {
  Attribute const& a = subject_.domain().attributes[attribute];
  if (takes_numbers(a)) return value;
  auto const& view = subject_.view();
  double const inside = std::clamp(value, static_cast<double>(view.low[attribute]),
                                   static_cast<double>(view.high[attribute]));
  return a.nearest(static_cast<std::int32_t>(std::floor(inside + 0.5)));
}

void LimeModel::encode(double const* row, std::vector<float>& inputs) const {
  for (std::size_t i = 0; i < static_cast<std::size_t>(attributes_); ++i) {
    Attribute const& a = subject_.domain().attributes[i];
    Encoding const& encoding = a.encoding;
    if (encoding.kind == EncodingKind::kIdentity) {
      inputs.push_back(static_cast<float>(row[i]));
    } else if (encoding.kind == EncodingKind::kAffine) {
      inputs.push_back(static_cast<float>((row[i] - encoding.mean) / encoding.std));
    } else {
      auto const index = static_cast<std::size_t>(a.index_of(static_cast<std::int32_t>(row[i])));
      if (encoding.kind == EncodingKind::kTable) {
        for (auto const value : encoding.rows[index]) inputs.push_back(static_cast<float>(value));
        continue;
      }
      for (std::size_t c = encoding.drop_first ? 1 : 0;
           c < static_cast<std::size_t>(a.code_count()); ++c)
        inputs.push_back(c == index ? 1.0F : 0.0F);
    }
  }
}

void LimeModel::forward(std::vector<float>& values, std::vector<double>& sums) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer const& layer = layers_[l];
    auto const outputs = static_cast<std::size_t>(layer.view.outputs);
    sums.assign(layer.view.bias.begin(), layer.view.bias.end());
    for (std::size_t k = 0; k < values.size(); ++k) {
      double const x = values[k];
      if (x == 0.0) continue;
      double const* const w = layer.weights.data() + k * outputs;
      for (std::size_t o = 0; o < outputs; ++o) sums[o] += x * w[o];
    }
    values.assign(outputs, 0.0F);
    for (std::size_t o = 0; o < outputs; ++o) values[o] = static_cast<float>(sums[o]);
    if (l + 1 == layers_.size()) return;
    activate<ScalarPack>(layer.view.activation, layer.view.alpha, values.data(),
                         static_cast<int>(outputs));
  }
}

double LimeModel::probability(float const* scores) const {
  if (outputs_ == 1)
    return kind_ == ScoreKind::kLogits ? sigmoid<ScalarPack>(scores[0]) : scores[0];
  if (kind_ != ScoreKind::kLogits) return scores[kExplained];
  auto const n = static_cast<std::size_t>(outputs_);
  std::vector<float> p(n);
  std::vector<float> terms(2 * n);
  softmax<ScalarPack>(scores, outputs_, 1, p.data(), terms.data());
  return p[kExplained];
}

void LimeModel::probabilities(double const* rows, std::int64_t count, double* p) const {
  auto const width = static_cast<std::size_t>(attributes_);
  auto const n = static_cast<std::size_t>(count);
  std::vector<float> inputs;
  if (Scorer* const scorer = subject_.view().scorer; scorer != nullptr) {
    auto const outputs = static_cast<std::size_t>(outputs_);
    for (std::size_t i = 0; i < n; ++i) encode(rows + i * width, inputs);
    std::vector<float> scores(n * outputs);
    scorer->score(inputs.data(), n, scores.data());
    for (std::size_t i = 0; i < n; ++i) p[i] = probability(&scores[i * outputs]);
    return;
  }
  std::vector<double> sums;
  for (std::size_t i = 0; i < n; ++i) {
    inputs.clear();
    encode(rows + i * width, inputs);
    forward(inputs, sums);
    p[i] = probability(inputs.data());
  }
}

}  // namespace fairlane
