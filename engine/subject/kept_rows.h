// Which rows of a table can be tested.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

/// Leaves out rows that violate a constraint: by its words, which tell which. Returns a line for
/// people; empty where all are kept.
/// what  the table's file
/// Throws Error(kData) where none is kept.
std::string keep_existing_rows(Dataset& data, Domain const& domain, std::string const& what);

/// The same of rows whose protected values are not among the compared ones.
/// selected  attributes under test
/// values    [selected] their compared codes, ascending
std::string keep_compared_rows(Dataset& data, std::span<std::int32_t const> selected,
                               std::span<std::vector<std::int32_t> const> values,
                               std::string const& what);

}  // namespace fairlane
