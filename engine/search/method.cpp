#include "engine/search/method.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "engine/config/run_config.h"
#include "engine/subject/subject.h"
#include "models/data/domain.h"

namespace fairlane {

namespace {

constexpr double kBackpropagation = 2.0;  // one forward and one backward pass
constexpr double kDifferences = 0.0;      // 1 + attributes

GradientSpec gradient_of(MethodSpec const& method, RunConfig const& config) {
  return {method.gradient, static_cast<float>(config.perturbation_size)};
}

GlobalStep sign_step(MethodSpec const& method, RunConfig const& config) {
  return SignStep{gradient_of(method, config),
                  method.uses_decay ? static_cast<float>(config.global.decay) : 0.0F,
                  static_cast<std::int32_t>(config.global.step), method.sign};
}

LocalStep weighted_step(MethodSpec const& method, RunConfig const& config) {
  WeightedStep step;
  step.gradient = gradient_of(method, config);
  step.step = static_cast<std::int32_t>(config.local.step);
  step.epsilon = static_cast<float>(config.local.epsilon);
  step.never_update = !method.local_renews_always && config.local.update_interval == kNeverUpdate;
  step.update_interval = method.local_renews_always ? 0 : config.local.update_interval;
  return step;
}

GlobalStep newton_step(MethodSpec const&, RunConfig const& config) {
  return NewtonStep{static_cast<std::int32_t>(config.global.step)};
}

LocalStep margin_step(MethodSpec const&, RunConfig const& config) {
  return MarginStep{static_cast<std::int32_t>(config.local.step)};
}

/// Its odds and events are the search's, which adapts them.
LocalStep odds_step(MethodSpec const&, RunConfig const& config) {
  OddsStep step;
  step.step = static_cast<std::int32_t>(config.local.step);
  step.acceptance = config.aequitas.acceptance;
  return step;
}

/// What AEQUITAS's three rows share.
constexpr MethodSpec kAequitas = {
    .paper = "Udeshi, Arora and Chattopadhyay, ASE 2018",
    .deviation =
        "protected attributes stay as they are, since a step along one leads to the same group; "
        "populations of aequitas.lanes origins step together and share what their steps tell; "
        "not copied: the wrong sign of the updates and 1/e^2 in the programs for scikit-learn, "
        "draws seeded by the clock",
    .kind = SearchKind::kAdaptive,
    .local_step = odds_step,
};

constexpr MethodSpec aequitas(char const* name, char const* algorithm, bool directions,
                              bool attributes) {
  MethodSpec method = kAequitas;
  method.name = name;
  method.algorithm = algorithm;
  method.adapts_directions = directions;
  method.adapts_attributes = attributes;
  return method;
}

/// What EIDIG's row and MAFT's share.
constexpr MethodSpec kEidig = {
    .name = "eidig",
    .paper = "Zhang, Zhang and Zhang, ISSTA 2021",
    .algorithm = "EIDIG; EIDIG-INF with local.update_interval: inf",
    .kind = SearchKind::kGradient,
    .test = Test::kPartner,
    .global_step = sign_step,
    .local_step = weighted_step,
    .gradient = GradientKind::kProbability,
    .uses_decay = true,
    .sign = -1,
    .steps_after_last_test = true,
    .begins_with_partner = true,
    .begins_with_gradients = true,
    .seeds_with_replacement = true,
    .evaluations_per_gradient = kBackpropagation,
    .weighs_surprise = true,
};

constexpr MethodSpec maft(char const* name, char const* algorithm, char const* deviation) {
  MethodSpec method = kEidig;
  method.name = name;
  method.paper = "Wang et al., ICSE 2024";
  method.algorithm = algorithm;
  method.deviation = deviation;
  method.gradient = GradientKind::kProbabilityDifference;
  method.evaluations_per_gradient = kDifferences;
  return method;
}

/// What margin's row and margin-walk's share.
constexpr MethodSpec kMargin = {
    .name = "margin",
    .paper = "Fairlane",
    .algorithm =
        "moves of several attributes that put the boundary between two members, from a frontier "
        "of inputs near it (kernels/core/lattice.h)",
    .kind = SearchKind::kGradient,
    .test = Test::kMargins,
    .global_step = newton_step,
    .gradient = GradientKind::kMargin,
    .sign = -1,
    .begins_with_gradients = true,
    .evaluations_per_gradient = kBackpropagation,
    .weighs_surprise = true,
    .frontier = true,
};

constexpr MethodSpec margin_walk() {
  MethodSpec method = kMargin;
  method.name = "margin-walk";
  method.algorithm =
      "Newton steps of the logit margin on the lattice, then local.num moves of one attribute "
      "around each IDI "
      "(kernels/core/margin.h)";
  method.local_step = margin_step;
  method.weighs_surprise = false;
  method.frontier = false;
  return method;
}

// Deviations common to all rows: findings are counted by full input and by group; global IDIs are
// kept unclipped and unmodified (EIDIG.py overwrites them by the first local step); a draw always
// returns an attribute; an empty local phase is no error.
constexpr std::array kMethods = {
    MethodSpec{
        .name = "themis",
        .paper = "Galhotra, Brun and Meliou, FSE 2017",
        .algorithm = "causal discrimination by random inputs",
        .deviation = "inputs without duplicates, until global.num are tested",
        .kind = SearchKind::kRandom,
    },
    aequitas("aequitas-random", "random local search", false, false),
    aequitas("aequitas-semi", "semi-directed local search: adapts directions", true, false),
    aequitas("aequitas-fully", "fully directed local search: adapts directions and attributes",
             true, true),
    MethodSpec{
        .name = "sg",
        .paper = "Aggarwal et al., FSE 2019; as re-implemented by Zhang et al., ICSE 2020",
        .algorithm = "symbolic generation: toggled paths of surrogate trees, best first",
        .deviation =
            "boxes solved by the nearest values, paths compared as integers, no profile twice",
        .kind = SearchKind::kSymbolic,
    },
    MethodSpec{
        .name = "adf",
        .paper = "Zhang et al., ICSE 2020; as re-implemented by Zhang, Zhang and Zhang, ISSTA 2021",
        .algorithm = "algorithms 1 to 3 with the similar set over all combinations",
        .deviation = "loss gradient from the logits, not through clipped probabilities",
        .kind = SearchKind::kGradient,
        .test = Test::kPartner,
        .global_step = sign_step,
        .local_step = weighted_step,
        .gradient = GradientKind::kLoss,
        .sign = +1,
        .steps_after_last_test = true,
        .local_renews_always = true,
        .seeds_with_replacement = true,
        .evaluations_per_gradient = kBackpropagation,
        .weighs_surprise = true,
    },
    kEidig,
    maft("maft", "MAFT, all differences in one batch", ""),
    maft("maft-nonvec", "MAFT, one difference at a time",
         "lanes batch across seeds, so the search is the vectored one; kept for its name"),
    MethodSpec{
        .name = "grft",
        .paper = "Quan et al., ICSE 2025",
        .algorithm = "a genetic population from every seed, then one random walk for all its IDIs",
        .deviation =
            "seeds are drawn from clusters in turn, with global.clusters: 1 as in the program; "
            "budgets end the local phase behind an origin; kept, since they decide what is found: "
            "a fitness that mixes individuals up, and origins that walk on outside the domain",
        .kind = SearchKind::kGenetic,
        .seeds_with_replacement = true,
    },
    MethodSpec{
        .name = "expga",
        .paper = "Fan et al., ICSE 2022",
        .algorithm = "ExpGA: a genetic algorithm from inputs whose LIME explanation names a "
                     "protected attribute",
        .deviation = "explained inputs have the first values of the protected attributes, not 0; "
                     "immutable attributes stay; the last generation is tested, too; explanations "
                     "count as evaluations",
        .kind = SearchKind::kExplained,
    },
    kMargin,
    margin_walk(),
};

}  // namespace

std::span<MethodSpec const> methods() { return kMethods; }

void require_usable(MethodSpec const& method, TestSubject const& subject) {
  if (method.kind != SearchKind::kRandom && !subject.can_move()) {
    throw Error(ExitCode::kConfig,
                std::string("method '") + method.name +
                    "' has nothing to change: every attribute that is not under test is immutable "
                    "in " +
                    escaped(subject.domain().source) + "; use themis, or enumerate");
  }
  if (subject.weighs_surprise() && !method.weighs_surprise) {
    std::string able;
    for (auto const& other : kMethods)
      if (other.weighs_surprise) able += std::string(able.empty() ? "" : ", ") + other.name;
    throw Error(ExitCode::kConfig, std::string("plausibility.weight: method '") + method.name +
                                       "' does not weigh its steps; expected one of " + able +
                                       ", or a weight of 0");
  }
  Model const& model = subject.model();
  bool const differences = method.gradient == GradientKind::kProbabilityDifference ||
                           method.gradient == GradientKind::kMargin;
  if (!model.scorer() || differences || method.gradient == GradientKind::kNone) return;
  throw Error(ExitCode::kConfig, std::string("method '") + method.name +
                                     "' follows gradients, which " +
                                     escaped(model.scorer()->name()) +
                                     " does not have; use margin or maft, which take "
                                     "differences instead");
}

MethodSpec const& find_method(std::string const& name) {
  std::vector<std::string> names;
  for (auto const& method : kMethods) {
    if (name == method.name) return method;
    names.emplace_back(method.name);
  }
  std::string list;
  for (auto const& n : names) list += (list.empty() ? "" : ", ") + n;
  throw Error(ExitCode::kConfig, "method '" + name + "' is unknown; expected one of " + list +
                                     did_you_mean(name, names));
}

}  // namespace fairlane
