#include "engine/search/search.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/search/genetic/expga_search.h"
#include "engine/search/genetic/grft_search.h"
#include "engine/search/lockstep/lockstep_search.h"
#include "engine/search/symbolic/symbolic_search.h"

namespace fairlane {
namespace {

std::vector<std::string> sharable_methods() {
  std::vector<std::string> names;
  for (MethodSpec const& method : methods()) {
    if (method.kind == SearchKind::kGradient) names.emplace_back(method.name);
  }
  return names;
}

}  // namespace

bool can_resume(RunConfig const& config, MethodSpec const& method) {
  // These know their tests by themselves.
  if (method.kind == SearchKind::kSymbolic || method.kind == SearchKind::kExplained) return true;
  return method.kind != SearchKind::kRandom && !config.budget.instances;
}

void require_sharable(RunConfig const& config, MethodSpec const& method, bool replays) {
  if (method.kind != SearchKind::kGradient) {
    throw Error(ExitCode::kConfig,
                fmt::format("method: {} cannot be shared by ranks, since each of its steps depends "
                            "on all that were taken before; expected one of {}, or a run without "
                            "--mpi",
                            config.method, fmt::join(sharable_methods(), ", ")));
  }
  auto const refuse = [](char const* key, char const* why) {
    throw Error(ExitCode::kConfig,
                fmt::format("{}: {}; leave it out, or run without --mpi", key, why));
  };
  if (config.budget.instances)
    refuse("budget.instances", "no rank knows on the way how many distinct IDIs all have found");
  if (config.budget.seconds && !replays)
    refuse("budget.seconds", "the clocks of ranks do not end a run at the same place");
  if (config.output.path_coverage)
    refuse("output.path_coverage", "no rank has all inputs that were tried");
  if (config.arithmetic == Arithmetic::kFast)
    refuse("arithmetic", "fast may differ from rank to rank");
}

SearchResult search(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                    Backend& backend, SearchOptions const& options) {
  if (method.kind == SearchKind::kSymbolic) return symbolic_search(config, seeds, backend, options);
  if (method.kind == SearchKind::kGenetic) return grft_search(config, seeds, backend, options);
  if (method.kind == SearchKind::kExplained) return expga_search(config, seeds, backend, options);
  return LockstepSearch(config, method, seeds, backend, options).run();
}

}  // namespace fairlane
