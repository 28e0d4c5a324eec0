// Codes back into raw words.
#pragma once

#include <string>
#include <string_view>

#include "models/data/domain.h"
#include "models/data/encode_table.h"

namespace fairlane {

/// Turns the codes of a table with a header row into words; other columns stay as they are. Where
/// the attributes stand beside each other in the domain's order, as in a command's findings, their
/// place says which they are, and pair_NAME directly behind them is turned, too; otherwise names say
/// it: NAME, pair_NAME, NAME_low, NAME_high, greater_NAME, lesser_NAME. label, pair_label and the
/// domain's label column are turned where they are no attribute's.
/// Throws Error(kData) with file:line:column, at a code that the domain does not have, too.
void decode_table(std::string_view text, std::string const& source, Domain const& domain,
                  TextSink const& sink);

}  // namespace fairlane
