// Names of columns in arguments, as --protected and --drop take them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace fairlane {

/// The names in texts like "age,race", each a line of CSV: a name that holds a comma stands in
/// double quotes, as in `age,"born, year"`. option: "--drop", for messages. Throws Error(kUsage)
std::vector<std::string> parse_columns(char const* option, std::vector<std::string> const& texts);
/// The argument that parse_columns takes for these names; empty for none.
std::string column_list(std::vector<std::string> const& names);

/// "--drop: people.csv has no column 'x'", with what may be meant: one of `names`, or one that
/// holds a comma and is not written so. kind: "column"
Error no_column(char const* option, char const* kind, std::string const& source,
                std::string const& name, std::vector<std::string> const& names);

}  // namespace fairlane
