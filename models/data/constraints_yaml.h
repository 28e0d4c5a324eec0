// The constraints of a domain as its file spells them.
#pragma once

#include <string>
#include <vector>

#include "base/formats/strict_yaml.h"
#include "models/data/domain.h"

namespace fairlane {

/// Reads `constraints:` of a domain whose attributes are read. source names the file in messages.
/// Throws Error(kConfig) with file:line:column.
std::vector<Constraint> read_constraints_yaml(std::string const& source, YamlNode const& node,
                                              Domain const& domain);

/// One entry of `constraints:`, on one line.
std::string format_constraint_yaml(Constraint const& constraint, Domain const& domain);

}  // namespace fairlane
