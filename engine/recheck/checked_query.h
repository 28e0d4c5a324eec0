// What a verification was asked, as its manifest has it, for the certificate's checker.
#pragma once

#include <string>

#include "engine/subject/subject.h"
#include "engine/verify/boxes/box_domain.h"
#include "engine/verify/recorded_query.h"

namespace fairlane {

/// The query of a finished directory. Throws Error(kData) where its manifest has none.
VerifyOptions checked_query(std::string const& dir);
/// Who is compared beside the attributes under test, and who is left out. Throws Error(kData) for
/// attributes that cannot be relaxed, and as parse_limit does.
RegionRules checked_rules(std::string const& dir, VerifyOptions const& query,
                          TestSubject const& subject);
/// Whether two variants are compared.
bool are_compared(TestSubject const& subject, PairSemantics semantics, int v, int w);

}  // namespace fairlane
