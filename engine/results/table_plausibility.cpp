#include "engine/results/table_plausibility.h"

#include <charconv>

#include "engine/subject/kept_rows.h"
#include "models/data/csv.h"
#include "models/data/dataset.h"

namespace fairlane {

PlausibilityModel table_plausibility(RunConfig const& config, Domain domain, int threads) {
  Dataset table = read_csv(config.data, domain, Labels::kUnused);
  resolve_bounds(domain, &table);
  apply_out_of_domain(table, domain, config.out_of_domain);
  keep_existing_rows(table, domain, config.data);
  return {domain, table, threads};
}

void append_plausibility(std::string& bytes, PlausibilityModel const& model,
                         std::int32_t const* row) {
  constexpr std::size_t kLongest = 32;  // of a number, with its comma
  Plausibility const one = model.score_one(row);
  for (double const figure :
       {one.distance, one.surprise, one.distance_percentile, one.surprise_percentile}) {
    char cell[kLongest];
    char* const end = std::to_chars(cell, cell + kLongest - 1, figure).ptr;
    *end = ',';
    bytes.append(cell, end + 1);
  }
  bytes.back() = '\n';  // for the last comma
}

}  // namespace fairlane
