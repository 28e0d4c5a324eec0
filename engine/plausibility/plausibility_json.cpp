#include "engine/plausibility/plausibility_json.h"

namespace fairlane {

Json plausibility_json(Plausibility const& one) {
  return {{"distance", one.distance},
          {"distance_percentile", one.distance_percentile},
          {"surprise", one.surprise},
          {"surprise_percentile", one.surprise_percentile}};
}

Plausibility plausibility_of(Json const& json) {
  return {json.at("distance").get<double>(), json.at("surprise").get<double>(),
          json.at("distance_percentile").get<double>(),
          json.at("surprise_percentile").get<double>()};
}

}  // namespace fairlane
