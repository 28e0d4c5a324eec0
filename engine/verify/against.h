// A verification beside that of another model: what became fair, cell by cell, and what unfair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "engine/subject/subject.h"
#include "engine/verify/box_queue.h"
#include "engine/verify/boxes/cells.h"

namespace fairlane {

/// What a finished directory of `verify` says of the same cells.
/// verdicts      [cells]
/// model_sha256  of its model
struct EarlierVerdicts {
  std::vector<CellVerdict> verdicts;
  std::string model_sha256;
};

/// Throws Error(kNoInput | kData | kOutput) where that is no directory of `verify`, and kUsage where
/// its cells, the attributes under test or the semantics are others.
EarlierVerdicts read_earlier(std::string const& dir, TestSubject const& subject, Cells const& cells,
                             Json const& query);

/// against.csv: a line for every cell with another verdict than before.
std::string against_csv(EarlierVerdicts const& earlier, std::vector<CellState> const& now);
/// How many cells became fair, became unfair, stayed so, and are unknown in one of the two.
Json against_json(EarlierVerdicts const& earlier, std::vector<CellState> const& now);

}  // namespace fairlane
