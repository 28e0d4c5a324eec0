// Domain files.
#pragma once

#include <string>

#include "models/data/domain.h"

namespace fairlane {

/// Reads a domain file (YAML). Throws Error(kNoInput | kConfig) with file:line:column.
Domain read_domain_yaml(std::string const& path);
/// Same, from text; `source` names it in messages.
Domain parse_domain_yaml(std::string const& text, std::string const& source);
/// Text of a domain file, one attribute per line.
std::string format_domain_yaml(Domain const& domain);

}  // namespace fairlane
