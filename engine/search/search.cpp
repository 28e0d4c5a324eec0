#include "engine/search/search.h"

#include "engine/search/genetic/expga_search.h"
#include "engine/search/genetic/grft_search.h"
#include "engine/search/lockstep/lockstep_search.h"
#include "engine/search/symbolic/symbolic_search.h"

namespace fairlane {

bool can_resume(RunConfig const& config, MethodSpec const& method) {
  // These know their tests by themselves.
  if (method.kind == SearchKind::kSymbolic || method.kind == SearchKind::kExplained) return true;
  return method.kind != SearchKind::kRandom && !config.budget.instances;
}

SearchResult search(RunConfig const& config, MethodSpec const& method, SeedSource const& seeds,
                    Backend& backend, SearchOptions const& options) {
  if (method.kind == SearchKind::kSymbolic) return symbolic_search(config, seeds, backend, options);
  if (method.kind == SearchKind::kGenetic) return grft_search(config, seeds, backend, options);
  if (method.kind == SearchKind::kExplained) return expga_search(config, seeds, backend, options);
  return LockstepSearch(config, method, seeds, backend, options).run();
}

}  // namespace fairlane
