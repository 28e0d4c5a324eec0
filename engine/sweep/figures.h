// What a sweep keeps of a cell's result: one row per method, with named figures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "engine/sweep/sweep_command.h"

namespace fairlane {

/// One column of sweep.csv, and where commands' results have it.
/// paths  members that lead to it, parted by dots; the first that there is counts
struct Figure {
  char const* name;
  std::vector<std::string> paths;
  char const* help;
};

/// All figures, in the order of the columns. None depends on the machine or on time.
std::span<Figure const> figures();

/// A row of figures.
/// method   of a command that has several in one result; empty otherwise
/// values   [figures] numbers or texts, null where the result lacks one
/// seconds  of the work itself, and of all; 0 where the result does not say
struct FigureRow {
  std::string method;
  std::vector<Json> values;
  double search_seconds = 0.0;
  double total_seconds = 0.0;
};

/// A figure's value; null where the row lacks it.
Json const* value_of(FigureRow const& row, std::string_view figure);
/// A figure as a number, 0 where the row lacks it.
double number_of(FigureRow const& row, std::string_view figure);

/// The figures of a result. Throws Error(kData) where `json` is none of the command's.
std::vector<FigureRow> figures_of(SweepCommand const& command, Json const& json);
/// The same from the result in a cell's directory. Throws Error(kNoInput | kData).
std::vector<FigureRow> read_figures(SweepCommand const& command, std::string const& dir);

Json figure_rows_json(std::vector<FigureRow> const& rows);
std::vector<FigureRow> figure_rows_of(Json const& json);

}  // namespace fairlane
