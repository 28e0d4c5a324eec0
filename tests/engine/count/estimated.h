// An estimate as JSON, without what only tells of time.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/count/estimate.h"

namespace fairlane {

inline EstimateOptions on(int threads) {
  EstimateOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = threads;
  return options;
}

inline nlohmann::json estimated(RunConfig const& config, EstimateOptions const& options) {
  auto json = nlohmann::json::parse(estimate(config, options));
  json.erase("timing");
  return json;
}

}  // namespace fairlane
