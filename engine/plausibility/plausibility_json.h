// Plausibility in JSON, as audit.json has it.
#pragma once

#include "base/formats/json.h"
#include "engine/plausibility/plausibility.h"

namespace fairlane {

Json plausibility_json(Plausibility const& one);
/// Throws JsonError.
Plausibility plausibility_of(Json const& json);

}  // namespace fairlane
