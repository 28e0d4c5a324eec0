#include "engine/retrain/candidate_trainer.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace fairlane {
namespace {

constexpr char const* kCount = "candidates";  // int64 [1]

/// float [parameters] of a candidate's network
std::string section_of(std::size_t number) { return fmt::format("candidate.{}", number); }

}  // namespace

Network CandidateTrainer::next(CandidateTask task, std::uint64_t seed,
                               std::function<void()> const& after_epoch) {
  std::size_t const number = taken_++;
  if (number < trained_.size()) {
    task.initial.set_values(trained_[number]);
    return task.initial;
  }
  task.fitting.is_saved = true;
  Fit fit(task.initial, task.train, task.validation, task.config, seed, std::move(task.fitting));
  if (current_) fit.resume(*current_);
  while (!fit.is_done()) {
    fit.run_epoch();
    current_ = fit.state();
    after_epoch();
  }
  trained_.push_back(fit.fitted().network.values());
  current_.reset();
  return fit.fitted().network;
}

std::string CandidateTrainer::done() const {
  std::string const candidates =
      fmt::format("{} candidate{}", trained_.size(), trained_.size() == 1 ? "" : "s");
  return current_ ? fmt::format("{} and {} epochs", candidates, current_->epochs.size())
                  : candidates;
}

void CandidateTrainer::write(CheckpointWriter& state) const {
  state.add(kCount, std::vector<std::int64_t>{static_cast<std::int64_t>(trained_.size())});
  for (std::size_t i = 0; i < trained_.size(); ++i) state.add(section_of(i), trained_[i]);
  if (current_) current_->write(state);
}

void CandidateTrainer::read(CheckpointReader const& state) {
  trained_.clear();
  for (std::int64_t const count : state.values<std::int64_t>(kCount)) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      trained_.push_back(state.values<float>(section_of(i)));
  }
  current_ = FitState::read(state);
}

}  // namespace fairlane
