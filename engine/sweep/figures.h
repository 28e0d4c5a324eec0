// What a sweep keeps of a cell's result: one row per method, with named figures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
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
/// values   object: figure -> number or text; those that the result lacks are absent
/// seconds  of the work itself, and of all; 0 where the result does not say
struct FigureRow {
  std::string method;
  Json values = Json::object();
  double search_seconds = 0.0;
  double total_seconds = 0.0;
};

/// The figures of a result. Throws Error(kData) where `json` is none of the command's.
std::vector<FigureRow> figures_of(SweepCommand const& command, Json const& json);
/// The same from the result in a cell's directory. Throws Error(kNoInput | kData).
std::vector<FigureRow> read_figures(SweepCommand const& command, std::string const& dir);

Json figure_rows_json(std::vector<FigureRow> const& rows);
std::vector<FigureRow> figure_rows_of(Json const& json);

}  // namespace fairlane
