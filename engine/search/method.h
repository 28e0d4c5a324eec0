// The search methods as rows of one table.
#pragma once

#include <span>
#include <string>

#include "kernels/lane_block.h"

namespace fairlane {

/// The shape of a search.
enum class SearchKind {
  kRandom,    // inputs are drawn and tested; no steps
  kGradient,  // global steps from seeds to first IDIs, local steps around those, by gradients
  kAdaptive,  // inputs are drawn and tested; local steps whose odds follow their success
  kSymbolic,  // a queue of inputs off the paths of surrogate trees; see engine/search/symbolic
  kGenetic,   // populations from seeds to first IDIs, steps around those; see engine/search/genetic
  kExplained,  // a genetic algorithm from inputs that explanations choose; see engine/search/genetic
};

struct MethodSpec;
struct RunConfig;

/// A method's step as a configuration wants it; null where the method takes none.
using MakeGlobalStep = GlobalStep (*)(MethodSpec const&, RunConfig const&);
using MakeLocalStep = LocalStep (*)(MethodSpec const&, RunConfig const&);

/// One method: what it tests, how it steps, and what its authors do besides. The published rows
/// follow the authors' programs; deviations say where and why not.
struct MethodSpec {
  char const* name = "";
  char const* paper = "";
  char const* algorithm = "";
  char const* deviation = "";
  SearchKind kind = SearchKind::kRandom;
  Test test = Test::kLabels;  // of the global phase
  MakeGlobalStep global_step = nullptr;
  MakeLocalStep local_step = nullptr;
  GradientKind gradient = GradientKind::kNone;
  bool uses_decay = false;              // momentum from global.decay; otherwise none
  std::int32_t sign = 0;                // direction of the global step along the gradient
  bool steps_after_last_test = false;   // the authors step once more, and leave the result untested
  bool local_renews_always = false;     // a new partner before every local step (ADF); otherwise
                                        // local.update_interval
  bool begins_with_partner = false;     // a local search first evaluates its origin's similar set,
  bool begins_with_gradients = false;   // and takes gradients there
  bool seeds_with_replacement = false;  // round-robin draws within clusters as the authors draw
  double evaluations_per_gradient = 0.0;  // model evaluations of one gradient at one point; 0:
                                          // 1 + number of attributes
  bool adapts_directions = false;         // of local steps, for each attribute: see
                                          // engine/search/lockstep/step_adaptation.h
  bool adapts_attributes = false;         // whose turn it is
  bool weighs_surprise = false;           // local steps prefer plausible inputs where asked to
  bool frontier = false;                  // local search from origins as they are found; see
                                          // engine/search/lockstep/frontier.h

  /// Model evaluations that one gradient at one point counts for.
  double gradient_cost(int attributes) const {
    return evaluations_per_gradient > 0.0 ? evaluations_per_gradient : 1.0 + attributes;
  }
};

/// All methods, in the order of the documentation.
std::span<MethodSpec const> methods();

/// Throws Error(kConfig) with the nearest name.
MethodSpec const& find_method(std::string const& name);

class TestSubject;

/// Throws Error(kConfig) where the method wants gradients that the subject's model does not have,
/// or attributes to change where all are immutable, or steps to weigh that it does not take.
void require_usable(MethodSpec const& method, TestSubject const& subject);

}  // namespace fairlane
