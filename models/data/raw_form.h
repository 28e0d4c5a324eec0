// How a raw table is written, from which `prepare` makes the table of codes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlane {

/// Words that often stand for a missing value; nothing takes them for one unless a domain file says
/// so.
inline constexpr std::string_view kUsualMissing[] = {"?",   "NA",  "N/A",  "n/a",
                                                     "NaN", "nan", "null", "NULL"};

/// Form of a raw table, as the domain file states it.
/// columns  names of the columns of a table that has no header row; empty: it has one
/// missing  cells that stand for a missing value, as an empty one does
struct RawForm {
  char separator = ',';
  std::vector<std::string> columns = {};
  std::vector<std::string> missing = {};
  std::string label = {};  // its label column; empty: that of the domain

  bool operator==(RawForm const&) const = default;
};

}  // namespace fairlane
