#include "engine/verify/deciders/provable_model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/verify/deciders/ensemble_decider.h"
#include "engine/verify/deciders/network_decider.h"
#include "kernels/boxes/network_bounds.h"
#include "models/trees/scorer.h"

namespace fairlane {
namespace {

constexpr int kMostClasses = 32;  // each two of which are compared

}  // namespace

ProvableModel::ProvableModel(TestSubject const& subject) {
  Model const& model = subject.model();
  if (auto const trees = std::dynamic_pointer_cast<TreeScorer>(model.scorer())) {
    scorer_ = trees;
    trees_ = &trees->trees();
    if (!(trees_->divisor > 0.0)) {
      throw Error(ExitCode::kUnavailable,
                  fmt::format("{}: divides its sums by {}, expected a number above 0",
                              escaped(model.source()), trees_->divisor));
    }
  } else {
    model.network("verify");  // throws for any other scorer
  }
  if (model.outputs() > kMostClasses) {
    throw Error(ExitCode::kUnavailable,
                fmt::format("{}: has {} outputs, expected at most {}; `fairlane enumerate` and "
                            "`fairlane estimate` take any",
                            escaped(model.source()), model.outputs(), kMostClasses));
  }
  if (trees_ != nullptr) return;
  for (LayerView const& layer : subject.view().network) {
    if (layer.inputs > kMostInputs) {
      throw Error(ExitCode::kUnavailable,
                  fmt::format("{}: has a layer of {} inputs, expected at most {}",
                              escaped(model.source()), layer.inputs, kMostInputs));
    }
  }
  network_ = std::make_unique<BoundNetwork>(subject.view().network);
}

ProvableModel::~ProvableModel() = default;

std::size_t ProvableModel::class_pairs() const { return network_ ? network_->pairs().size() : 1; }

void ProvableModel::check_margin(TestSubject const& subject) const {
  int const outputs = subject.model().outputs();
  if (outputs == 1 || (network_ && outputs == 2)) return;
  throw Error(ExitCode::kUnavailable,
              fmt::format("{}: has {} outputs; --margin takes networks of one or two and trees of "
                          "one so far",
                          escaped(subject.model().source()), outputs));
}

double ProvableModel::margin(double margin) const {
  // Of two outputs that are off, their difference is off by twice as much.
  return network_ && network_->get().outputs == 2 ? 2.0 * margin : margin;
}

bool ProvableModel::takes_devices() const { return network_ && network_->get().straight; }

std::unique_ptr<BoxDecider> ProvableModel::make_decider(BoxDomain const& domain, Backend& backend,
                                                        VerifyQuery const& query) const {
  if (network_) return std::make_unique<NetworkDecider>(domain, *network_, backend, query);
  return std::make_unique<EnsembleDecider>(domain, *trees_, backend, query);
}

}  // namespace fairlane
