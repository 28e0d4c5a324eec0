// What searches, counts and estimates say in words.
#pragma once

#include "engine/report/command_words.h"

namespace fairlane::report {

extern CommandWords const kRunWords;
extern CommandWords const kEnumerateWords;
extern CommandWords const kEstimateWords;

}  // namespace fairlane::report
