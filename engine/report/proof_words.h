// What proofs, comparisons, retrainings, sweeps and audits beside others say in words.
#pragma once

#include "engine/report/command_words.h"

namespace fairlane::report {

extern CommandWords const kVerifyWords;
extern CommandWords const kCompareWords;
extern CommandWords const kRetrainWords;
extern CommandWords const kSweepWords;
extern CommandWords const kAuditWords;

}  // namespace fairlane::report
