// The search methods as rows of one table.
#pragma once

#include <span>
#include <string>

#include "kernels/backend.h"

namespace fairlane {

/// The shape of a search.
enum class SearchKind {
  kRandom,    // inputs are drawn and tested; no steps
  kGradient,  // global sign steps, local draws by gradient weights
  kAdaptive,  // inputs are drawn and tested; local steps whose odds follow their success
  kSymbolic,  // a queue of inputs off the paths of surrogate trees; see engine/symbolic_search.h
  kMargin,    // our own: Newton steps on the lattice, see kernels/core/margin.h
};

/// One method. The published rows follow the authors' programs; deviations say where and why not.
struct MethodSpec {
  char const* name;
  char const* paper;
  char const* algorithm;
  char const* deviation;
  SearchKind kind;
  GradientKind gradient;
  bool uses_decay;             // momentum from global.decay; otherwise none
  std::int32_t sign;           // direction of the global step along the gradient
  bool steps_after_last_test;  // the authors step once more, and leave the result untested
  bool
      local_renews_always;  // a new partner before every local step (ADF); otherwise local.update_interval
  bool seeds_with_replacement;  // round-robin draws within clusters as the authors draw
  double
      evaluations_per_gradient;  // model evaluations of one gradient at one point; 0: 1 + number of attributes
  bool adapts_directions =
      false;  // of local steps, for each attribute: see engine/step_adaptation.h
  bool adapts_attributes = false;  // whose turn it is
};

/// All methods, in the order of the documentation.
std::span<MethodSpec const> methods();

/// Throws Error(kConfig) with the nearest name.
MethodSpec const& find_method(std::string const& name);

class TestSubject;

/// Throws Error(kConfig) where the method wants gradients that the subject's model does not have, or attributes to change
/// where all are immutable.
void require_usable(MethodSpec const& method, TestSubject const& subject);

}  // namespace fairlane
