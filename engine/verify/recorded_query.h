// What a manifest records of a verification's query.
#pragma once

#include "base/formats/json.h"
#include "engine/verify/verify.h"

namespace fairlane {

/// The manifest's section `verify`.
Json recorded_query(VerifyOptions const& options);
/// What manifest and summary say of who is compared: relaxed, where, margin, where they are given.
void record_rules(VerifyOptions const& options, Json& json);
/// The options that recorded_query() recorded, but for the file of the cells, of which it has the
/// digest. Throws JsonError.
VerifyOptions restored_query(Json const& json);

}  // namespace fairlane
