// What `fairlane init` sees in a raw table: its form, and what its columns hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/data/raw_form.h"

namespace fairlane {

/// One column. Its cells are words but where every one that is not missing is a number.
/// numbers  ascending, of a column of numbers
/// words    different cells and how many of each, the most frequent first, then in alphabetical
///          order; empty where there are more than kMaxListed
struct RawTableColumn {
  std::string name;
  std::int64_t missing = 0;
  std::int64_t distinct = 0;
  bool numeric = true;
  bool integer = true;  // every number is an integer code
  std::vector<double> numbers;
  std::vector<std::pair<std::string, std::int64_t>> words;
};

/// A table and the form that it seems to have.
struct RawTable {
  std::string source;
  RawForm form;  // its missing marks are those that occur
  std::int64_t rows = 0;
  std::vector<RawTableColumn> columns;
};

/// Finds the form out: the separator is the one that cuts the first rows into equally many cells,
/// most of them, blanks only where no other does; the first row is a header unless it holds a
/// number, or a cell that occurs again below it. Throws Error(kData) with file:line:column, also
/// where the text is not UTF-8.
RawTable describe_raw_table(std::string_view text, std::string const& source);

}  // namespace fairlane
