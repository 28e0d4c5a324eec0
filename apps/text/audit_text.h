// An audit for people.
#pragma once

#include <string>

#include "engine/audit/audit.h"

namespace fairlane {

/// The text of audit.json as verdict, table, rules and a few findings.
/// source  for messages
/// Throws Error(kData) where it is malformed.
std::string audit_text(std::string const& json, std::string const& source);

/// "gender: rules  12.3 s".
std::string audit_progress_text(AuditProgress const& progress);

}  // namespace fairlane
