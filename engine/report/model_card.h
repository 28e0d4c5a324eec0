// A section for a model's card.
#pragma once

#include <string>
#include <string_view>

#include "base/formats/json.h"

namespace fairlane::report {

/// A text as it stands in Markdown, in a cell of a table too.
std::string markdown_text(std::string_view text);
/// The shares of every protected set as a table in Markdown.
std::string markdown_shares(Json const& audit);
/// "Fairness" as a section in Markdown, to be pasted into a model card.
std::string model_card(Json const& audit);

}  // namespace fairlane::report
