#include "engine/learning/fit_state.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace fairlane {
namespace {

constexpr char const* kEpochs = "fit.epochs";              // double [epochs][3]
constexpr char const* kBest = "fit.best";                  // int64 [1]
constexpr char const* kBestValues = "fit.best_values";     // float [parameters]
constexpr char const* kValues = "fit.values";              // float [parameters]
constexpr char const* kFirst = "fit.first_moment";         // float [parameters]
constexpr char const* kSecond = "fit.second_moment";       // float [parameters]
constexpr char const* kSteps = "fit.steps";                // int64 [1]
constexpr char const* kMomentum = "fit.momentum_product";  // double [1]
constexpr std::size_t kEpochFigures = 3;

template <class T>
T only_value(CheckpointReader const& state, char const* section) {
  auto const values = state.values<T>(section);
  if (values.size() != 1)
    throw Error(ExitCode::kBug, std::string("the state of a training lacks ") + section);
  return values.front();
}

}  // namespace

void FitState::write(CheckpointWriter& state) const {
  std::vector<double> figures;
  for (Epoch const& epoch : epochs)
    figures.insert(figures.end(), {epoch.loss, epoch.validation_loss, epoch.validation_accuracy});
  state.add(kEpochs, figures);
  state.add(kBest, std::vector<std::int64_t>{best});
  state.add(kBestValues, best_values);
  state.add(kValues, trainer.values);
  state.add(kFirst, trainer.first_moment);
  state.add(kSecond, trainer.second_moment);
  state.add(kSteps, std::vector<std::int64_t>{trainer.steps});
  state.add(kMomentum, std::vector<double>{trainer.momentum_product});
}

std::optional<FitState> FitState::read(CheckpointReader const& state) {
  if (state.size(kEpochs) == 0) return std::nullopt;
  FitState read;
  auto const figures = state.values<double>(kEpochs);
  for (std::size_t i = 0; i + kEpochFigures <= figures.size(); i += kEpochFigures) {
    read.epochs.push_back(
        {static_cast<int>(read.epochs.size()) + 1, figures[i], figures[i + 1], figures[i + 2]});
  }
  read.best = static_cast<int>(only_value<std::int64_t>(state, kBest));
  read.best_values = state.values<float>(kBestValues);
  read.trainer = {state.values<float>(kValues), state.values<float>(kFirst),
                  state.values<float>(kSecond), only_value<std::int64_t>(state, kSteps),
                  only_value<double>(state, kMomentum)};
  return read;
}

}  // namespace fairlane
