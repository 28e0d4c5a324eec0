// The limit that an audit was held to (`policy` of audit.json): what each set's share says of it,
// and that in words.
#pragma once

#include <string>
#include <string_view>

#include "base/formats/json.h"

namespace fairlane::report {

enum class LimitState { kKept, kExceeded, kUndecided, kUnexamined };

/// What one set says of a limit: that it is exceeded where all that its share may be is above it,
/// kept where none of that is, and undecided between them.
/// set  of audit.json
/// of   rows, plausible or domain
LimitState limit_state(Json const& set, std::string_view of, double above);

/// Shares by which a policy can judge: its name in the JSON, in words.
std::string policy_share_words(std::string_view share);
/// The share of a set that was examined: "7.68 % (7.12 % to 8.26 %)", "2.00 % (and 5 of the 100 may
/// be)".
std::string measured_words(Json const& set, std::string_view of);
/// Whether the shares exceed the limit that was given, and which sets do; empty without a limit.
std::string policy_words(Json const& audit);
/// The set that exceeds the limit most, its share, the limit, and how many more do; empty where
/// none does.
std::string exceeded_words(Json const& audit);

}  // namespace fairlane::report
