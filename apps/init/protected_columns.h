// Which columns of a table are protected attributes, and which are tested together.
#pragma once

#include <string>
#include <vector>

#include "models/data/domain.h"

namespace fairlane {

/// names     the protected attributes, in the domain's order
/// tested    those of them whose combinations are few enough to be tested together
/// guessed   they were recognised by their names
struct ProtectedColumns {
  std::vector<std::string> names;
  std::vector<std::string> tested;
  bool guessed = false;
};

/// Flags attributes of a domain: the wanted ones, or those with well-known names.
/// source: the table, for messages. Throws Error(kUsage) for unknown names, and where there are
/// none.
ProtectedColumns flag_protected(std::string const& source, std::vector<std::string> const& wanted,
                                Domain& domain);

/// Whether a column's name is one of the well-known protected attributes, such as age or race.
bool is_protected_name(std::string const& name);

}  // namespace fairlane
