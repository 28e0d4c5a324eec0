#include "engine/learning/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "engine/learning/training_draws.h"

namespace fairlane {

/// Inputs less their means, in units of their deviations over the rows: what a network with
/// integer codes of all sizes as inputs learns from more easily.
class Fit::Standard {
 public:
  Standard(TrainingRows const& rows, bool is_wanted)
      : columns_(static_cast<std::size_t>(rows.columns)) {
    mean_.assign(columns_, 0.0);
    deviation_.assign(columns_, 1.0);
    if (!is_wanted) return;
    std::vector<double> squares(columns_, 0.0);
    auto const count = static_cast<double>(rows.count());
    for (std::size_t i = 0; i < rows.inputs.size(); ++i)
      mean_[i % columns_] += static_cast<double>(rows.inputs[i]) / count;
    for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
      double const off = static_cast<double>(rows.inputs[i]) - mean_[i % columns_];
      squares[i % columns_] += off * off / count;
    }
    for (std::size_t c = 0; c < columns_; ++c)
      deviation_[c] = squares[c] > 0.0 ? std::sqrt(squares[c]) : 1.0;
  }

  void apply(std::vector<float>& inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::size_t const c = i % columns_;
      inputs[i] = static_cast<float>((static_cast<double>(inputs[i]) - mean_[c]) / deviation_[c]);
    }
  }
  /// The network of plain inputs that a network of standard ones is.
  Network fold(Network network) const {
    DenseLayer& layer = network.layers.front();
    auto const outputs = static_cast<std::size_t>(layer.outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      auto bias = static_cast<double>(layer.bias[o]);
      for (std::size_t c = 0; c < columns_; ++c) {
        float& weight = layer.weights[c * outputs + o];
        double const plain = static_cast<double>(weight) / deviation_[c];
        bias -= mean_[c] * plain;
        weight = static_cast<float>(plain);
      }
      layer.bias[o] = static_cast<float>(bias);
    }
    return network;
  }

 private:
  std::size_t columns_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
};

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kRowsAtOnce = 8192;  // of an evaluation

/// Cross-entropy of a row, from its logits.
double cross_entropy(float const* logits, int outputs, std::int32_t label) {
  if (outputs == 1) {
    double const z = static_cast<double>(logits[0]);
    // log(1 + exp(-|z|)) does not overflow.
    return std::max(z, 0.0) - z * label + std::log1p(std::exp(-std::abs(z)));
  }
  double const most = static_cast<double>(*std::max_element(logits, logits + outputs));
  double sum = 0.0;
  for (int c = 0; c < outputs; ++c) sum += std::exp(static_cast<double>(logits[c]) - most);
  return std::log(sum) + most - static_cast<double>(logits[label]);
}

bool agrees(float const* logits, int outputs, std::int32_t label) {
  if (outputs == 1) return (logits[0] > 0.0F) == (label == 1);
  return std::max_element(logits, logits + outputs) - logits == label;
}

/// Loss and accuracy on the validation rows.
void validate_epoch(NetworkTrainer const& trainer, int outputs, TrainingRows const& rows,
                    Epoch& epoch) {
  epoch.validation_loss = kNan;
  epoch.validation_accuracy = kNan;
  if (rows.count() == 0) return;
  auto const columns = static_cast<std::size_t>(rows.columns);
  double loss = 0.0;
  std::size_t agreed = 0;
  for (std::size_t first = 0; first < rows.count(); first += kRowsAtOnce) {
    std::size_t const count = std::min(kRowsAtOnce, rows.count() - first);
    auto const logits = trainer.logits({&rows.inputs[first * columns], count * columns});
    for (std::size_t i = 0; i < count; ++i) {
      float const* const of_row = &logits[i * static_cast<std::size_t>(outputs)];
      loss += cross_entropy(of_row, outputs, rows.labels[first + i]);
      agreed += agrees(of_row, outputs, rows.labels[first + i]) ? 1 : 0;
    }
  }
  epoch.validation_loss = loss / static_cast<double>(rows.count());
  epoch.validation_accuracy = static_cast<double>(agreed) / static_cast<double>(rows.count());
}

Network drawn_network(Network network, std::uint64_t seed) {
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    DenseLayer& layer = network.layers[l];
    layer.weights.assign(
        static_cast<std::size_t>(layer.inputs) * static_cast<std::size_t>(layer.outputs), 0.0F);
    layer.bias.assign(static_cast<std::size_t>(layer.outputs), 0.0F);
    double const limit = std::sqrt(6.0 / (layer.inputs + layer.outputs));
    for (std::size_t k = 0; k < layer.weights.size(); ++k) {
      auto const words = training_words(TrainingDraw::kWeights, static_cast<std::uint32_t>(k),
                                        static_cast<std::uint32_t>(l), seed);
      layer.weights[k] = static_cast<float>((2.0 * unit_number(words.w[0]) - 1.0) * limit);
    }
  }
  return network;
}

Activation output_activation(int outputs) {
  return outputs == 1 ? Activation::kSigmoid : Activation::kSoftmax;
}

constexpr float kLeakySlope = 0.01F;
constexpr float kEluScale = 1.0F;

float alpha_of(Activation activation) {
  if (activation == Activation::kLeakyRelu) return kLeakySlope;
  return activation == Activation::kElu ? kEluScale : 0.0F;
}

}  // namespace

Network initial_network(TrainConfig const& train, int columns, int outputs, std::uint64_t seed) {
  std::vector<int> layers = train.layers;
  if (layers.empty()) layers.assign(std::begin(kDefaultLayers), std::end(kDefaultLayers));
  return initial_network(std::move(layers), train.activation, columns, outputs, seed);
}

Network initial_network(std::vector<int> units, Activation activation, int columns, int outputs,
                        std::uint64_t seed) {
  units.push_back(outputs);
  Network network;
  network.source = "a network in training";
  int inputs = columns;
  for (std::size_t l = 0; l < units.size(); ++l) {
    bool const is_last = l + 1 == units.size();
    DenseLayer layer;
    layer.name = fmt::format("dense_{}", l + 1);
    layer.inputs = inputs;
    layer.outputs = units[l];
    layer.activation = is_last ? output_activation(outputs) : activation;
    layer.alpha = alpha_of(layer.activation);
    network.layers.push_back(std::move(layer));
    inputs = units[l];
  }
  return drawn_network(std::move(network), seed);
}

Network initial_network(Network const& like, int columns, int outputs, std::uint64_t seed) {
  Network network = like;
  network.layers.front().inputs = columns;
  network.layers.back().outputs = outputs;
  network.layers.back().activation = output_activation(outputs);
  return drawn_network(std::move(network), seed);
}

std::vector<float> row_weights(TrainingRows const& rows, int classes, ClassWeights weights) {
  std::vector<float> result(rows.count(), 1.0F);
  if (weights == ClassWeights::kNone) return result;
  std::vector<double> count(static_cast<std::size_t>(classes));
  for (std::int32_t const label : rows.labels) count[static_cast<std::size_t>(label)] += 1.0;
  auto const all = static_cast<double>(rows.count());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] =
        static_cast<float>(all / (classes * count[static_cast<std::size_t>(rows.labels[i])]));
  }
  return result;
}

Fit::Fit(Network const& initial, TrainingRows const& train, TrainingRows const& validation,
         TrainConfig const& config, std::uint64_t seed, FitOptions options)
    : config_(config),
      seed_(seed),
      options_(std::move(options)),
      train_(train),
      validation_(validation),
      standard_(std::make_unique<Standard>(train, config.standardise)),
      trainer_(initial, config.descent, options_.on_gpu),
      outputs_(initial.outputs()) {
  standard_->apply(validation_.inputs);
  if (options_.is_saved) trained_ = trainer_.state();
}

Fit::~Fit() = default;

bool Fit::is_done() const {
  auto const run = static_cast<int>(fitted_.epochs.size());
  return run >= config_.epochs || (config_.patience && run - fitted_.best >= *config_.patience);
}

double Fit::learn(std::uint32_t number) {
  auto const columns = static_cast<std::size_t>(train_.columns);
  auto const count = static_cast<std::uint32_t>(train_.count());
  auto const size = std::min(count, static_cast<std::uint32_t>(config_.batch));
  std::uint32_t batches = (number - 1) * ((count + size - 1) / size);  // of earlier epochs
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> weights;
  std::vector<float> first;
  std::vector<float> second;
  auto const order = shuffled(count, TrainingDraw::kOrder, number, seed_);
  double loss = 0.0;
  for (std::uint32_t begin = 0; begin < count; begin += size, ++batches) {
    if (options_.stop != nullptr && options_.stop->load())
      throw Error(ExitCode::kInterrupted, "interrupted; the same command trains anew");
    std::uint32_t const rows = std::min(size, count - begin);
    inputs.clear();
    labels.clear();
    weights.clear();
    for (std::uint32_t i = begin; i < begin + rows; ++i) {
      std::size_t const row = order[i];
      float const* const from = &train_.inputs[row * columns];
      inputs.insert(inputs.end(), from, from + columns);
      labels.push_back(train_.labels[row]);
      weights.push_back(options_.weights[row]);
    }
    standard_->apply(inputs);
    TrainingBatch batch{inputs, labels, weights, {}, {}, static_cast<float>(config_.consistency)};
    if (options_.pairs != nullptr) {
      options_.pairs->draw(batches, rows, first, second);
      standard_->apply(first);
      standard_->apply(second);
      batch.first = first;
      batch.second = second;
    }
    loss += static_cast<double>(trainer_.step(batch)) * rows;
  }
  return loss / count;
}

void Fit::run_epoch() {
  Epoch epoch;
  epoch.number = static_cast<int>(fitted_.epochs.size()) + 1;
  epoch.loss = learn(static_cast<std::uint32_t>(epoch.number));
  if (!std::isfinite(epoch.loss)) {
    throw Error(ExitCode::kData,
                fmt::format("the loss of epoch {} is {}, expected a finite number; a smaller "
                            "train.learning_rate than {} may help",
                            epoch.number, epoch.loss, config_.descent.learning_rate));
  }
  validate_epoch(trainer_, outputs_, validation_, epoch);
  bool const is_best =
      validation_.count() == 0 || fitted_.best == 0 ||
      epoch.validation_loss <
          fitted_.epochs[static_cast<std::size_t>(fitted_.best) - 1].validation_loss;
  if (is_best) {
    fitted_.best = epoch.number;
    fitted_.network = standard_->fold(trainer_.network());
  }
  fitted_.epochs.push_back(epoch);
  if (options_.is_saved) trained_ = trainer_.state();
  if (options_.progress) options_.progress(epoch);
}

FitState Fit::state() const {
  return {fitted_.epochs, fitted_.best, fitted_.network.values(), trained_};
}

void Fit::resume(FitState const& state) {
  fitted_.epochs = state.epochs;
  fitted_.best = state.best;
  fitted_.network = trainer_.network();
  fitted_.network.set_values(state.best_values);
  trained_ = state.trainer;
  trainer_.resume(trained_);
}

Fitted fit(Network const& initial, TrainingRows const& train, TrainingRows const& validation,
           TrainConfig const& config, std::uint64_t seed, FitOptions const& options) {
  Fit fitting(initial, train, validation, config, seed, options);
  while (!fitting.is_done()) fitting.run_epoch();
  return fitting.fitted();
}

}  // namespace fairlane
