#include "engine/retrain/electorate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/train/fit.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostOneHot = 64;      // codes
constexpr std::uint64_t kNetworkSeed = 1000;  // added to the run's: the model's own is another

struct NamedVoter {
  VoterKind kind;
  char const* name;
};
constexpr NamedVoter kVoters[] = {{VoterKind::kNeighbours, "nearest neighbours"},
                                  {VoterKind::kForest, "random forest"}};

/// A network that votes: its hidden layers, of which a logistic regression has none.
struct NamedNetwork {
  char const* name;
  std::vector<int> layers;
};
std::vector<NamedNetwork> voting_networks() {
  return {{"network of 32, 16", {32, 16}}, {"network of 64", {64}}, {"logistic regression", {}}};
}

/// Shares of classes from logits.
void add_probabilities(float const* logits, int outputs, float* shares) {
  if (outputs == 1) {
    shares[1] = 1.0F / (1.0F + std::exp(-logits[0]));
    shares[0] = 1.0F - shares[1];
    return;
  }
  float const most = *std::max_element(logits, logits + outputs);
  float sum = 0.0F;
  for (int c = 0; c < outputs; ++c) sum += shares[c] = std::exp(logits[c] - most);
  for (int c = 0; c < outputs; ++c) shares[c] /= sum;
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
    if (!attribute.categories.empty() && attribute.code_count() <= kMostOneHot) {
      for (std::int64_t i = 0; i < attribute.code_count(); ++i)
        columns_.push_back({.attribute = a, .code = attribute.code_at(i), .is_one_hot = true});
      continue;
    }
    Column column{.attribute = a};
    auto const count = static_cast<double>(table.train.count());
    for (std::size_t i = a; i < table.train.rows.size(); i += attributes_)
      column.mean += table.train.rows[i] / count;
    double square = 0.0;
    for (std::size_t i = a; i < table.train.rows.size(); i += attributes_)
      square += std::pow(table.train.rows[i] - column.mean, 2) / count;
    if (square > 0.0) column.deviation = std::sqrt(square);
    columns_.push_back(column);
  }
  if (columns_.empty()) {
    throw Error(ExitCode::kData,
                "every attribute is protected: nothing is left by which others "
                "could decide the labels of added rows");
  }
  auto const blind = [&](TrainingRows const& rows) {
    TrainingRows result;
    result.columns = static_cast<int>(columns_.size());
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
        initial_network(voter.layers, config.activation, train.columns, table.outputs(), own);
    networks_.push_back(fit(initial, train, validation, config, own, options).network);
    members_.push_back({voter.name, {}});
  }
  for (NamedVoter const& voter : kVoters) {
    voters_.push_back(
        std::make_unique<FittedVoter>(voter.kind, train.inputs, train.labels, classes_, seed));
    members_.push_back({voter.name, {}});
  }
  if (table.test.count() == 0) return;
  auto const size = static_cast<std::size_t>(classes_);
  auto const shares = this->shares(inputs(table.test.rows));
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
  result.reserve(rows.size() / attributes_ * columns_.size());
  for (std::size_t at = 0; at < rows.size(); at += attributes_) {
    for (Column const& column : columns_) {
      std::int32_t const code = rows[at + column.attribute];
      result.push_back(column.is_one_hot
                           ? (code == column.code ? 1.0F : 0.0F)
                           : static_cast<float>((code - column.mean) / column.deviation));
    }
  }
  return result;
}

std::vector<std::vector<float>> Electorate::shares(std::vector<float> const& inputs) const {
  std::vector<std::vector<float>> all;
  std::size_t const count = inputs.size() / columns_.size();
  auto const size = static_cast<std::size_t>(classes_);
  for (Network const& network : networks_) {
    NetworkTrainer const still(network, {});
    std::vector<float> const logits = still.logits(inputs);
    std::vector<float>& shares = all.emplace_back(count * size);
    auto const outputs = static_cast<std::size_t>(network.outputs());
    for (std::size_t i = 0; i < count; ++i)
      add_probabilities(&logits[i * outputs], network.outputs(), &shares[i * size]);
  }
  for (auto const& voter : voters_) all.push_back(voter->vote(inputs));
  return all;
}

Votes Electorate::vote(std::span<std::int32_t const> rows, Vote vote) const {
  Votes votes;
  std::size_t const count = rows.size() / attributes_;
  if (count == 0) return votes;
  auto const size = static_cast<std::size_t>(classes_);
  auto const all = shares(inputs(rows));
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

}  // namespace fairlane
