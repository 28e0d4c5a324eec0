#include "engine/results/table_models.h"

#include "engine/results/table_plausibility.h"

namespace fairlane {

TableModels table_models(RunConfig const& config, TestSubject const& subject, int threads,
                         std::atomic<bool> const* stop) {
  TableModels models;
  if (config.output.plausibility)
    models.plausibility.emplace(table_plausibility(config, subject.domain(), threads));
  if (config.output.vote) models.voters.emplace(table_electorate(config, subject, stop));
  return models;
}

}  // namespace fairlane
