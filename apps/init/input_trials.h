// Which way of giving a table to a model agrees best with the table's labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/init/draw_domain.h"

namespace fairlane {

/// agreement  [ways] share of the rows whose label the model gives
/// rows       that were tried, spread evenly over the table
/// best       the first way with the greatest agreement
struct InputTrials {
  std::vector<double> agreement;
  std::int64_t rows = 0;
  std::size_t best = 0;
};

/// Tries all ways on a sample of the rows, few enough that it takes seconds at most.
/// data  rows in the order of ways[0], with labels
InputTrials try_ways(Model const& model, Dataset const& data, std::span<InputWay const> ways);

}  // namespace fairlane
