#include "models/train/network_trainer.h"

#include "base/error.h"
#include "models/torch/layers.h"
#include "models/torch/loader.h"

namespace fairlane {
namespace {

void require(TorchStatus problem) { require_torch(problem, "LibTorch cannot train"); }

TorchOptimizer torch_optimizer(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return kTorchSgd;
    case Optimizer::kAdam:
      return kTorchAdam;
    case Optimizer::kNadam:
      return kTorchNadam;
  }
  throw Error(ExitCode::kBug, "an optimizer without a name in LibTorch");
}

std::int64_t size_of(std::span<float const> rows, int inputs) {
  return static_cast<std::int64_t>(rows.size()) / inputs;
}

}  // namespace

NetworkTrainer::NetworkTrainer(Network const& initial, Descent const& descent, bool on_gpu)
    : plugin_(torch_plugin()), network_(initial), trainer_(nullptr, plugin_.free_trainer) {
  std::vector<LayerView> const views = network_.views();
  std::vector<TorchLayer> const layers = torch_layers(views);
  TorchTraining training{};
  training.layers = static_cast<std::int32_t>(layers.size());
  training.layer = layers.data();
  training.optimizer = torch_optimizer(descent.optimizer);
  training.learning_rate = descent.learning_rate;
  training.momentum = descent.momentum;
  training.weight_decay = descent.weight_decay;
  TorchTrainer* trainer = nullptr;
  require(plugin_.make_trainer(&training, on_gpu ? "cuda" : "cpu", &trainer));
  trainer_.reset(trainer);
}

float NetworkTrainer::step(TrainingBatch const& batch) {
  TorchBatch given{};
  given.rows = static_cast<std::int64_t>(batch.labels.size());
  given.inputs = batch.inputs.data();
  given.labels = batch.labels.data();
  given.weights = batch.weights.data();
  given.pairs = size_of(batch.first, network_.inputs());
  given.first = batch.first.data();
  given.second = batch.second.data();
  given.pair_weight = batch.pair_weight;
  float loss = 0.0F;
  require(plugin_.train(trainer_.get(), &given, &loss));
  return loss;
}

std::vector<float> NetworkTrainer::logits(std::span<float const> inputs) const {
  std::int64_t const count = size_of(inputs, network_.inputs());
  std::vector<float> logits(static_cast<std::size_t>(count * network_.outputs()));
  require(plugin_.trainer_logits(trainer_.get(), inputs.data(), count, logits.data()));
  return logits;
}

Network NetworkTrainer::network() const {
  std::vector<float> values(static_cast<std::size_t>(network_.parameters()));
  require(plugin_.trained_values(trainer_.get(), values.data()));
  Network trained = network_;
  trained.set_values(values);
  return trained;
}

TrainerState NetworkTrainer::state() const {
  auto const parameters = static_cast<std::size_t>(network_.parameters());
  TrainerState state;
  for (auto* array : {&state.values, &state.first_moment, &state.second_moment})
    array->resize(parameters);
  TorchTrainerState given{state.values.data(), state.first_moment.data(),
                          state.second_moment.data(), 0, 1.0};
  require(plugin_.trainer_state(trainer_.get(), &given));
  state.steps = given.steps;
  state.momentum_product = given.momentum_product;
  return state;
}

void NetworkTrainer::resume(TrainerState const& state) {
  auto const parameters = static_cast<std::size_t>(network_.parameters());
  TrainerState copy = state;
  for (auto const* array : {&copy.values, &copy.first_moment, &copy.second_moment}) {
    if (array->size() != parameters)
      throw Error(ExitCode::kBug, "the state of a training is of another network");
  }
  TorchTrainerState const given{copy.values.data(), copy.first_moment.data(),
                                copy.second_moment.data(), copy.steps, copy.momentum_product};
  require(plugin_.resume_trainer(trainer_.get(), &given));
}

bool can_train_on_gpu() { return torch_plugin().cuda_devices > 0; }

}  // namespace fairlane
