// A network in the guise of a model of which nothing is known, evaluated as plainly as possible;
// with faults.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "kernels/core/scorer.h"
#include "models/model.h"
#include "tests/naive_reference.h"

namespace fairlane {

/// What goes wrong, and when.
/// failing_call  number of the first call that fails, from 0
/// calls         counts them, where it is given
/// undefined     every so-many-th kind of row has no score, 0: none
struct ScorerFaults {
  std::optional<std::int64_t> failing_call;
  std::shared_ptr<std::int64_t> calls;
  std::uint32_t undefined = 0;
};

/// view: of a network; its arrays outlive the scorer, its cut is that of logits
class NetworkScorer final : public Scorer {
 public:
  NetworkScorer(SubjectView const& view, ScoreKind kind, ScorerFaults faults = {})
      : view_(view), kind_(kind), faults_(std::move(faults)), reference_(view_) {}

  std::string name() const override { return "a network in disguise"; }
  int inputs() const override { return view_.network.front().inputs; }
  int outputs() const override {
    int const outputs = view_.outputs();
    return kind_ == ScoreKind::kLabels && outputs == 1 ? 2 : outputs;
  }
  ScoreKind kind() const override { return kind_; }

  void score(float const* rows, std::size_t count, float* scores) override {
    if (faults_.failing_call && calls_ >= *faults_.failing_call)
      throw Error(ExitCode::kUnavailable, name() + " has died");
    ++calls_;
    if (faults_.calls) ++*faults_.calls;
    auto const width = static_cast<std::size_t>(inputs());
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> const row(rows + i * width, rows + (i + 1) * width);
      auto answer = score(row);
      std::uint32_t hash = 1;
      for (float const x : row) hash = hash * 31 + static_cast<std::uint32_t>(static_cast<int>(x));
      if (faults_.undefined > 0 && hash % faults_.undefined == 0)
        answer.back() = std::numeric_limits<float>::quiet_NaN();
      scores = std::copy(answer.begin(), answer.end(), scores);
    }
  }

  std::vector<float> score(std::vector<float> const& row) const {
    auto const z = reference_.activations(row).back();
    if (kind_ == ScoreKind::kLogits) return z;
    if (kind_ == ScoreKind::kProbabilities) return reference_.probabilities(z);
    std::vector<float> labels(static_cast<std::size_t>(outputs()));
    labels.at(static_cast<std::size_t>(reference_.label(z))) = 1.0F;
    return labels;
  }

 private:
  SubjectView view_;
  ScoreKind kind_;
  ScorerFaults faults_;
  std::int64_t calls_ = 0;
  naive::FloatReference reference_;
};

/// Options with which a configuration's network is taken for such a scorer.
inline ModelOptions disguised(SubjectView const& view, ScoreKind kind, ScorerFaults faults = {}) {
  ModelOptions options;
  options.make = [=] { return std::make_shared<NetworkScorer>(view, kind, faults); };
  return options;
}

}  // namespace fairlane
