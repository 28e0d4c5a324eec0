// Codes back into raw words.
#pragma once

#include <string>
#include <string_view>

#include "models/data/domain.h"
#include "models/data/encode_table.h"

namespace fairlane {

/// Turns the codes of a table with a header row into words; other columns stay as they are. Where
/// the attributes stand in the domain's order beside each other, as in a command's results, their
/// places say which they are, and pair_NAME, NAME_low, NAME_high, greater_NAME, lesser_NAME, label
/// and pair_label are turned, too; otherwise names say it.
/// Throws Error(kData) with file:line:column, at a code that the domain does not have, too.
void decode_table(std::string_view text, std::string const& source, Domain const& domain,
                  TextSink const& sink);

}  // namespace fairlane
