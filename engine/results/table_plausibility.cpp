#include "engine/results/table_plausibility.h"

#include "models/data/csv.h"
#include "models/data/dataset.h"

namespace fairlane {

PlausibilityModel table_plausibility(RunConfig const& config, Domain domain, int threads) {
  Dataset table = read_csv(config.data, domain, Labels::kUnused);
  resolve_bounds(domain, &table);
  apply_out_of_domain(table, domain, config.out_of_domain);
  return {domain, table, threads};
}

}  // namespace fairlane
