// What a verification asks, written for other verifiers.
#pragma once

#include <string>

#include "engine/subject/subject.h"
#include "engine/verify/boxes/cells.h"
#include "engine/verify/boxes/verify_query.h"

namespace fairlane {

/// Throws Error(kUnavailable) for a question that VNN-LIB has no words for: of a model that is no
/// network, of constraints, limits or relaxed attributes.
void check_vnnlib(TestSubject const& subject, RegionRules const& rules);

/// Writes into a folder, as VNN-COMP has benchmarks:
/// network.onnx         both members of a pair side by side: their common inputs once, those under
///                      test of the first among them, of the second behind them; outputs without
///                      the last layer's sigmoid or softmax, of the first, then of the second
/// vnnlib/cell_N.vnnlib  what an example of cell N of cells.csv is, in VNN-LIB 1.0
/// instances.csv        a line for each: network, property, seconds
/// Inputs are real numbers there and take all values of a cell's bounds: `unsat` proves a cell
/// fair, an example may be of nobody.
/// folder  is made; one that holds anything else is refused
/// Throws Error(kUsage) for too many cells or pairs, Error(kOutput | kDisk).
/// Source: VNN-LIB 1.0, https://www.vnnlib.org; Fairify (ICSE 2023) for the question.
void write_vnnlib(TestSubject const& subject, BoxDomain const& domain, Cells const& cells,
                  VerifyQuery const& query, std::string const& folder);

}  // namespace fairlane
