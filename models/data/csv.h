// Tables as CSV files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

/// Whether a table is read for its labels, too, or for its rows alone.
enum class Labels { kWanted, kUnused };

/// Reads a CSV with a header row; columns are matched by name and reordered. A table without the
/// label column (domain.label) has no labels: where labels are wanted and the domain file names the
/// column, that is an error unless the table has no other column that could be meant.
/// Cells are integers (also written 3.0), or category names where the domain lists them. UTF-8 BOM
/// and CRLF are accepted, RFC 4180 quotes too.
/// Where the domain has words for the labels, these or their classes stand for all of them.
/// Columns that the domain does not name are ignored; a table without rows is an error.
/// Absent bounds of the domain are not checked here. Throws Error(kNoInput | kData) with
/// file:line:column.
Dataset read_csv(std::string const& path, Domain const& domain, Labels labels = Labels::kWanted);
/// Same, from text.
Dataset parse_csv(std::string_view text, std::string const& source, Domain const& domain,
                  Labels labels = Labels::kWanted);

/// Different cells of a column that are listed.
inline constexpr std::size_t kMaxListed = 1000;

/// Header names and integer ranges of a table without a domain file, for `init` and `inspect`.
struct TableColumn {
  std::string name;
  bool integer = true;  // every cell is an integer of at most kMaxCode in magnitude
  std::int32_t low = 0;
  std::int32_t high = 0;
  double mean = 0.0;  // of an integer column
  double std = 0.0;   // its population standard deviation
  std::int64_t distinct = 0;
  std::vector<std::int32_t>
      values;  // distinct codes of an integer column, ascending, up to kMaxListed of them
  std::vector<std::string>
      categories;  // distinct cells in order of appearance when not integer (first kMaxListed)
};
struct Table {
  std::string source;
  std::int64_t count = 0;
  std::vector<TableColumn> columns;
};
/// Throws Error(kNoInput | kData) with file:line:column.
Table describe_csv(std::string const& path);

}  // namespace fairlane
