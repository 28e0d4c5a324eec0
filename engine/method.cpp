#include "engine/method.h"

#include <array>
#include <vector>

#include "engine/subject.h"
#include "kernels/core/error.h"
#include "models/domain.h"
#include "models/text.h"

namespace fairlane {

namespace {

constexpr double kBackpropagation = 2.0;  // one forward and one backward pass
constexpr double kDifferences = 0.0;      // 1 + attributes

constexpr char const* kAequitasPaper = "Udeshi, Arora and Chattopadhyay, ASE 2018";
constexpr char const* kAequitasDeviation =
    "protected attributes stay as they are, since a step along one leads to the same group; "
    "populations of aequitas.lanes origins step together and share what their steps tell; "
    "not copied: the wrong sign of the updates and 1/e^2 in the programs for scikit-learn, "
    "draws seeded by the clock";

constexpr MethodSpec aequitas(char const* name, char const* algorithm, bool directions,
                              bool attributes) {
  return {name,
          kAequitasPaper,
          algorithm,
          kAequitasDeviation,
          SearchKind::kAdaptive,
          GradientKind::kNone,
          false,
          0,
          false,
          false,
          false,
          0.0,
          directions,
          attributes};
}

// Deviations common to all rows: findings are counted by full input and by group; global IDIs are kept unclipped and
// unmodified (EIDIG.py overwrites them by the first local step); a draw always returns an attribute; an empty local
// phase is no error.
constexpr std::array kMethods = {
    MethodSpec{"themis", "Galhotra, Brun and Meliou, FSE 2017",
               "causal discrimination by random inputs",
               "inputs without duplicates, until global.num are tested", SearchKind::kRandom,
               GradientKind::kNone, false, 0, false, false, false, 0.0},
    aequitas("aequitas-random", "random local search", false, false),
    aequitas("aequitas-semi", "semi-directed local search: adapts directions", true, false),
    aequitas("aequitas-fully", "fully directed local search: adapts directions and attributes",
             true, true),
    MethodSpec{"sg", "Aggarwal et al., FSE 2019; as re-implemented by Zhang et al., ICSE 2020",
               "symbolic generation: toggled paths of surrogate trees, best first",
               "boxes solved by the nearest values, paths compared as integers, no profile twice",
               SearchKind::kSymbolic, GradientKind::kNone, false, 0, false, false, false, 0.0},
    MethodSpec{
        "adf", "Zhang et al., ICSE 2020; as re-implemented by Zhang, Zhang and Zhang, ISSTA 2021",
        "algorithms 1 to 3 with the similar set over all combinations",
        "loss gradient from the logits, not through clipped probabilities", SearchKind::kGradient,
        GradientKind::kLoss, false, +1, true, true, true, kBackpropagation},
    MethodSpec{"eidig", "Zhang, Zhang and Zhang, ISSTA 2021",
               "EIDIG; EIDIG-INF with local.update_interval: inf", "", SearchKind::kGradient,
               GradientKind::kProbability, true, -1, true, false, true, kBackpropagation},
    MethodSpec{"maft", "Wang et al., ICSE 2024", "MAFT, all differences in one batch", "",
               SearchKind::kGradient, GradientKind::kProbabilityDifference, true, -1, true, false,
               true, kDifferences},
    MethodSpec{"maft-nonvec", "Wang et al., ICSE 2024", "MAFT, one difference at a time",
               "lanes batch across seeds, so the search is the vectored one; kept for its name",
               SearchKind::kGradient, GradientKind::kProbabilityDifference, true, -1, true, false,
               true, kDifferences},
    MethodSpec{"margin", "Fairlane",
               "Newton steps of the logit margin on the lattice (kernels/core/margin.h)", "",
               SearchKind::kMargin, GradientKind::kMargin, false, -1, false, false, false,
               kBackpropagation},
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
  Model const& model = subject.model();
  bool const differences = method.gradient == GradientKind::kProbabilityDifference;
  if (!model.scorer() || differences || method.gradient == GradientKind::kNone) return;
  throw Error(ExitCode::kConfig, std::string("method '") + method.name +
                                     "' follows gradients, which " +
                                     escaped(model.scorer()->name()) +
                                     " does not have; use maft, which takes differences instead");
}

MethodSpec const& find_method(std::string const& name) {
  std::vector<std::string> names;
  for (auto const& method : kMethods) {
    if (name == method.name) return method;
    names.emplace_back(method.name);
  }
  std::string list;
  for (auto const& n : names) list += (list.empty() ? "" : ", ") + n;
  std::string const near = nearest_name(name, names);
  throw Error(ExitCode::kConfig, "method '" + name + "' is unknown; expected one of " + list +
                                     (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

}  // namespace fairlane
