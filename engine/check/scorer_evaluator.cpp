#include "engine/check/scorer_evaluator.h"

#include <algorithm>
#include <cmath>

namespace fairlane {

std::string ScorerEvaluator::key_of(std::int32_t const* row) const {
  return {reinterpret_cast<char const*>(row),
          static_cast<std::size_t>(domain_.size()) * sizeof(std::int32_t)};
}

void ScorerEvaluator::ask(std::vector<std::int32_t> const& rows) {
  auto const width = static_cast<std::size_t>(domain_.size());
  auto const outputs = static_cast<std::size_t>(scorer_.outputs());
  std::vector<float> wanted;
  std::vector<double> inputs;
  std::size_t const before = answers_.size();
  for (std::size_t at = 0; at < rows.size(); at += width) {
    if (!known_.emplace(key_of(&rows[at]), known_.size()).second) continue;
    inputs.clear();
    domain_.encode(&rows[at], inputs);
    for (double const input : inputs) wanted.push_back(static_cast<float>(input));
  }
  std::size_t const count = wanted.size() / static_cast<std::size_t>(scorer_.inputs());
  answers_.resize(before + count * outputs);
  std::lock_guard const guard(lock_);
  if (count > 0) scorer_.score(wanted.data(), count, answers_.data() + before);
}

void ScorerEvaluator::announce(std::vector<std::int32_t> const& rows) {
  known_.clear();
  answers_.clear();
  ask(rows);
}

void ScorerEvaluator::evaluate(std::int32_t const* row) {
  std::string const key = key_of(row);
  if (known_.find(key) == known_.end()) ask({row, row + domain_.size()});
  current_ = answers_.data() + known_.at(key) * static_cast<std::size_t>(scorer_.outputs());
}

CertainLabel ScorerEvaluator::label(double threshold) const {
  int const outputs = scorer_.outputs();
  if (!std::all_of(current_, current_ + outputs, [](float z) { return std::isfinite(z); }))
    return {kNoLabel, true};
  if (outputs == 1) return {static_cast<double>(current_[0]) > threshold ? 1 : 0, true};
  return {static_cast<std::int32_t>(std::max_element(current_, current_ + outputs) - current_),
          true};
}

double ScorerEvaluator::score(std::int32_t label, double& tolerance) const {
  tolerance = 0.0;
  int const outputs = scorer_.outputs();
  auto const own = static_cast<double>(current_[outputs == 1 ? 0 : label]);
  if (scorer_.kind() != ScoreKind::kLogits) return own;
  if (outputs == 1) return 1.0 / (1.0 + std::exp(-own));
  double sum = 0.0;
  for (int c = 0; c < outputs; ++c) sum += std::exp(static_cast<double>(current_[c]) - own);
  return 1.0 / sum;
}

}  // namespace fairlane
