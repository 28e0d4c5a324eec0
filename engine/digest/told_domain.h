// What instances.json tells of a domain.
#pragma once

#include <optional>
#include <string>

#include "models/data/domain.h"

namespace fairlane::digest {

/// The domain as the instances.json of a directory of files tells it: attributes with their bounds
/// and words; none where there is no such file. Throws Error(kData).
std::optional<Domain> told_domain(std::string const& files);
/// Fills absent bounds, which the data gave, with those that were told.
void take_bounds(Domain& domain, Domain const& told);

}  // namespace fairlane::digest
