// Looks again at what a verification says of another one, with which it was compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/subject/subject.h"
#include "engine/verify/boxes/cells.h"
#include "engine/verify/certificate.h"

namespace fairlane {

/// What is wrong with `against` of a summary and with against.csv.
/// dir       of the verification; query: as its manifest has it
/// earlier   the directory of the other one, whose own statements are not looked at
/// now       what is said of every cell
/// Throws what read_earlier() throws, and JsonError.
std::vector<std::string> against_problems(std::string const& dir, std::string const& earlier,
                                          TestSubject const& subject, Cells const& cells,
                                          Json const& query, Json const& against,
                                          std::span<CertifiedCell const> now);

}  // namespace fairlane
