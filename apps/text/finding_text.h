// One finding for people, from its JSON.
#pragma once

#include <functional>
#include <string>

#include "base/formats/json.h"

namespace fairlane {

/// A finding as audit.json or top_findings() has it: the person without what is changed; below it
/// that, as is and as would be, with both decisions.
/// outcome  what a `decision` or `other` says
/// Throws JsonError.
std::string finding_text(Json const& finding,
                         std::function<std::string(Json const&)> const& outcome);

/// What top_findings() returns, under a title, with the figures that are known. Throws JsonError.
std::string top_text(Json const& top);

}  // namespace fairlane
