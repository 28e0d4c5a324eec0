#include "engine/learning/electorate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/learning/fit.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostOneHot = 64;      // codes of a category
constexpr std::uint64_t kNetworkSeed = 1000;  // added to the run's: the model's own is another

/// A network that votes: its hidden layers, of which a logistic regression has none.
struct NamedNetwork {
  char const* name;
  std::vector<int> layers;
};
std::vector<NamedNetwork> voting_networks() {
  return {{"network of 32, 16", {32, 16}}, {"network of 64", {64}}, {"logistic regression", {}}};
}

/// The logits of a network with ReLU on one row: a library's product of matrices may give a row
/// other bits in another batch.
/// inputs           [columns]
/// logits, scratch  of any size
void put_logits(Network const& network, float const* inputs, std::vector<float>& logits,
                std::vector<float>& scratch) {
  logits.assign(inputs, inputs + network.inputs());
  for (DenseLayer const& layer : network.layers) {
    logits.swap(scratch);
    logits = layer.bias;
    for (std::size_t i = 0; i < scratch.size(); ++i) {
      float const input = scratch[i];
      if (input == 0.0F) continue;  // most of a one-hot row
      float const* const weights = &layer.weights[i * logits.size()];
      for (std::size_t o = 0; o < logits.size(); ++o) logits[o] += input * weights[o];
    }
    if (&layer == &network.layers.back()) return;
    for (float& unit : logits) unit = std::max(unit, 0.0F);
  }
}

/// Shares of classes from logits.
void put_probabilities(std::vector<float> const& logits, float* shares) {
  if (logits.size() == 1) {
    shares[1] = 1.0F / (1.0F + std::exp(-logits[0]));
    shares[0] = 1.0F - shares[1];
    return;
  }
  float const most = *std::ranges::max_element(logits);
  float sum = 0.0F;
  for (std::size_t c = 0; c < logits.size(); ++c) sum += shares[c] = std::exp(logits[c] - most);
  for (std::size_t c = 0; c < logits.size(); ++c) shares[c] /= sum;
}

std::int32_t greatest(float const* shares, std::size_t classes) {
  return static_cast<std::int32_t>(std::max_element(shares, shares + classes) - shares);
}

}  // namespace

Electorate::Electorate(TestSubject const& subject, TrainingTable const& table, std::uint64_t seed,
                       std::atomic<bool> const* stop)
    : attributes_(static_cast<std::size_t>(table.domain.size())), classes_(table.classes) {
  for (std::size_t a = 0; a < attributes_; ++a) {
    Attribute const& attribute = table.domain.attributes[a];
    bool const is_tested = std::ranges::count(subject.selected(), static_cast<std::int32_t>(a)) > 0;
    if (attribute.is_protected || is_tested) continue;
    Seen& seen = seen_.emplace_back();
    seen.attribute = a;
    if (!attribute.categories.empty() && attribute.code_count() <= kMostOneHot) {
      for (std::int64_t i = 0; i < attribute.code_count(); ++i)
        seen.codes.push_back(attribute.code_at(i));
      columns_ += seen.codes.size();
      continue;
    }
    ++columns_;
    auto const count = static_cast<double>(table.train.count());
    for (std::size_t i = a; i < table.train.rows.size(); i += attributes_)
      seen.mean += table.train.rows[i] / count;
    double square = 0.0;
    for (std::size_t i = a; i < table.train.rows.size(); i += attributes_)
      square += std::pow(table.train.rows[i] - seen.mean, 2) / count;
    if (square > 0.0) seen.deviation = std::sqrt(square);
  }
  if (seen_.empty()) {
    throw Error(ExitCode::kData,
                "every attribute is protected: nothing is left by which others "
                "could decide the labels of added rows");
  }
  auto const blind = [&](TrainingRows const& rows) {
    TrainingRows result;
    result.columns = static_cast<int>(columns_);
    result.inputs = inputs(rows.rows);
    result.labels = rows.labels;
    return result;
  };
  TrainingRows const train = blind(table.train);
  TrainingRows const validation = blind(table.validation);
  TrainConfig config;
  config.standardise = false;
  for (NamedNetwork const& voter : voting_networks()) {
    FitOptions options;
    options.weights = row_weights(train, classes_, ClassWeights::kNone);
    options.stop = stop;
    std::uint64_t const own = seed + kNetworkSeed + networks_.size();
    Network const initial =
        initial_network(voter.layers, Activation::kRelu, train.columns, table.outputs(), own);
    networks_.push_back(fit(initial, train, validation, config, own, options).network);
    members_.push_back({voter.name, {}});
  }
  MixedRows rows{mixed(table.train.rows), {}};
  for (Seen const& seen : seen_) rows.is_category.push_back(seen.codes.empty() ? 0 : 1);
  neighbours_.emplace(std::move(rows), table.train.labels);
  members_.push_back({"nearest neighbours", {}});
  forest_.emplace(train.inputs, train.labels, classes_, seed);
  members_.push_back({"random forest", {}});
  if (table.test.count() == 0) return;
  auto const size = static_cast<std::size_t>(classes_);
  auto const shares = this->shares(table.test.rows);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    std::vector<std::int32_t> decided;
    std::vector<float> scores;
    for (std::size_t i = 0; i < table.test.count(); ++i) {
      decided.push_back(greatest(&shares[m][i * size], size));
      scores.push_back(shares[m][i * size + 1]);
    }
    members_[m].held_out = measure(table.test.labels, scores, decided, classes_);
  }
}

std::vector<float> Electorate::inputs(std::span<std::int32_t const> rows) const {
  std::vector<float> result;
  result.reserve(rows.size() / attributes_ * columns_);
  for (std::size_t at = 0; at < rows.size(); at += attributes_) {
    for (Seen const& seen : seen_) {
      std::int32_t const code = rows[at + seen.attribute];
      if (seen.codes.empty()) result.push_back(seen.standard(code));
      for (std::int32_t const one : seen.codes) result.push_back(code == one ? 1.0F : 0.0F);
    }
  }
  return result;
}

std::vector<float> Electorate::mixed(std::span<std::int32_t const> rows) const {
  std::vector<float> result;
  result.reserve(rows.size() / attributes_ * seen_.size());
  for (std::size_t at = 0; at < rows.size(); at += attributes_) {
    for (Seen const& seen : seen_) {
      std::int32_t const code = rows[at + seen.attribute];
      result.push_back(seen.codes.empty() ? seen.standard(code) : static_cast<float>(code));
    }
  }
  return result;
}

std::vector<std::vector<float>> Electorate::shares(std::span<std::int32_t const> rows) const {
  std::size_t const count = rows.size() / attributes_;
  auto const size = static_cast<std::size_t>(classes_);
  std::vector<float> const inputs = this->inputs(rows);
  std::vector<std::vector<float>> all;
  std::vector<float> logits;
  std::vector<float> scratch;
  for (Network const& network : networks_) {
    std::vector<float>& shares = all.emplace_back(count * size);
    for (std::size_t i = 0; i < count; ++i) {
      put_logits(network, &inputs[i * columns_], logits, scratch);
      put_probabilities(logits, &shares[i * size]);
    }
  }
  std::vector<float> const mixed = this->mixed(rows);
  std::vector<float>& near = all.emplace_back(count * size);
  for (std::size_t i = 0; i < count; ++i)
    neighbours_->vote(&mixed[i * seen_.size()], &near[i * size]);
  all.push_back(forest_->vote(inputs));
  return all;
}

Votes Electorate::vote(std::span<std::int32_t const> rows, Vote vote) const {
  Votes votes;
  std::size_t const count = rows.size() / attributes_;
  if (count == 0) return votes;
  auto const size = static_cast<std::size_t>(classes_);
  auto const all = shares(rows);
  std::vector<float> sums(size);
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::fill(sums, 0.0F);
    for (auto const& shares : all) {
      float const* const own = &shares[i * size];
      if (vote == Vote::kHard) {
        sums[static_cast<std::size_t>(greatest(own, size))] += 1.0F;
      } else {
        for (std::size_t c = 0; c < size; ++c) sums[c] += own[c];
      }
    }
    std::int32_t const label = greatest(sums.data(), size);
    votes.labels.push_back(label);
    votes.shares.push_back(sums[static_cast<std::size_t>(label)] / static_cast<float>(all.size()));
  }
  return votes;
}

Json voters_json(std::vector<Electorate::Member> const& members) {
  Json json = Json::array();
  for (auto const& member : members)
    json.push_back({{"name", member.name}, {"test", metrics_json(member.held_out)}});
  return json;
}

Electorate table_electorate(RunConfig const& config, TestSubject const& subject,
                            std::atomic<bool> const* stop) {
  RunConfig by_default = config;
  by_default.train = {};  // `train.*` is no part of other commands' manifests
  return {subject, read_training_table(by_default, subject.model()), config.seed, stop};
}

}  // namespace fairlane
