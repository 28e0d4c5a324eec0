#include "engine/search/workload.h"

#include <algorithm>
#include <cmath>

#include "engine/config/run_config.h"
#include "engine/search/genetic/grft_operators.h"
#include "engine/search/seeds.h"
#include "engine/subject/subject.h"

namespace fairlane {
namespace {

constexpr double kLanesAtOnce = 1 << 20;  // of a GPU, about
constexpr double kPoints = 2.0;           // an input and its partner, with a gradient at each

/// What is done in steps: one seed's share, and how many seeds step together.
struct Shape {
  double steps = 0.0;
  double evaluations = 0.0;
  double rounds = 0.0;  // of the seeds that step together
  double together = kLanesAtOnce;
};

Shape gradient_shape(RunConfig const& config, MethodSpec const& method, double variants,
                     int attributes) {
  double const gradients = kPoints * method.gradient_cost(attributes);
  auto const global = static_cast<double>(config.global.max_iter);
  auto const local = static_cast<double>(config.local.num);
  double const renewed =
      method.local_renews_always ? 1.0 : 1.0 / std::max(config.local.update_interval, 1U);
  return {global + local,
          global * (variants + gradients) + local * (variants + gradients * renewed),
          global + local};
}

/// Populations follow each other; the tests of the seeds before them are one round.
Shape adaptive_shape(RunConfig const& config, double variants) {
  auto const local = static_cast<double>(config.local.num);
  return {1.0 + local, (1.0 + local) * variants, local, static_cast<double>(config.aequitas.lanes)};
}

/// A seed's populations are tested, and evaluated again for their fitness; of the last one every
/// individual may be an origin.
Shape genetic_shape(RunConfig const& config, double variants) {
  constexpr double kPopulation = kGrftPopulation;
  auto const global = static_cast<double>(config.global.max_iter);
  auto const local = static_cast<double>(config.local.num);
  return {kPopulation * (global + local),
          kPopulation * (global * (2.0 * variants + 1.0) + local * variants), global + local,
          kLanesAtOnce / kPopulation};
}

/// A queue is worked off in rounds of a few inputs.
Shape symbolic_shape(RunConfig const& config, double variants) {
  bool const explains_each = config.sg.surrogate == Surrogate::kPerInstance;
  double const samples = explains_each ? static_cast<double>(config.sg.samples) : 0.0;
  return {1.0, variants + samples, 1.0, static_cast<double>(config.sg.frontier)};
}

/// Individuals of all populations are a round. Explanations are the host's on every backend.
Shape explained_shape(RunConfig const& config, double variants) {
  double const generations = 1.0 + static_cast<double>(config.local.num);
  return {generations, generations * variants, generations};
}

Shape shape_of(RunConfig const& config, MethodSpec const& method, double variants, int attributes) {
  switch (method.kind) {
    case SearchKind::kRandom:
      return {1.0, variants, 1.0};
    case SearchKind::kGradient:
      return gradient_shape(config, method, variants, attributes);
    case SearchKind::kAdaptive:
      return adaptive_shape(config, variants);
    case SearchKind::kSymbolic:
      return symbolic_shape(config, variants);
    case SearchKind::kGenetic:
      return genetic_shape(config, variants);
    case SearchKind::kExplained:
      return explained_shape(config, variants);
  }
  return {};
}

}  // namespace

Workload search_workload(RunConfig const& config, MethodSpec const& method, std::int64_t variants,
                         int attributes, std::int64_t rows) {
  Shape const shape = shape_of(config, method, static_cast<double>(variants), attributes);
  auto const& budget = config.budget;
  auto seeds = static_cast<double>(config.global.num);
  // The queue of sg grows beyond its seeds: global.num are its tests.
  bool const is_queue = method.kind == SearchKind::kSymbolic;
  if (rows > 0 && !is_queue) seeds = std::min(seeds, static_cast<double>(rows));
  if (method.kind == SearchKind::kExplained)
    seeds = std::min(seeds, static_cast<double>(config.expga.populations * kExpgaPopulation));
  if (budget.seeds) seeds = std::min(seeds, static_cast<double>(*budget.seeds));
  if (budget.iterations)
    seeds = std::min(seeds, static_cast<double>(*budget.iterations) / shape.steps);
  if (budget.evaluations)
    seeds = std::min(seeds, static_cast<double>(*budget.evaluations) / shape.evaluations);
  return {seeds * shape.steps, seeds * shape.evaluations,
          std::ceil(seeds / shape.together) * shape.rounds, budget.seconds};
}

Workload search_workload(RunConfig const& config, MethodSpec const& method,
                         TestSubject const& subject) {
  std::int64_t rows = 0;
  if (subject.seed_rows() != nullptr) {
    rows = subject.seed_rows()->count();
  } else if (subject.data() != nullptr &&
             resolved_seeding(config, method, subject) != kUniformSeeding) {
    rows = subject.data()->count();
  }
  return search_workload(config, method, subject.variants(), subject.domain().size(), rows);
}

}  // namespace fairlane
