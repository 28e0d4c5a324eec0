// Raw tables into codes, as a domain file says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "models/data/dataset.h"
#include "models/data/domain.h"

namespace fairlane {

/// What was put in place of an attribute's missing values.
struct ImputedColumn {
  int attribute = 0;
  std::int64_t cells = 0;
  std::int32_t code = 0;
};

/// A raw table as codes; `lines` of its rows are left empty.
/// left_out  raw columns of no attribute
struct EncodedTable {
  Dataset data;
  std::vector<ImputedColumn> imputed;
  std::vector<std::string> left_out;
};

/// Encodes a raw table: a word becomes the code of its category, a number that of its bin, other
/// numbers are codes; where the attribute imputes, a missing value becomes the column's most
/// frequent code, of equally frequent ones the lowest. Throws Error(kConfig) where the domain's
/// names could not be told from codes afterwards, Error(kNoInput | kData) with file:line:column.
EncodedTable encode_table(std::string const& path, Domain const& domain);
/// Same, from text.
EncodedTable parse_raw_table(std::string_view text, std::string const& source,
                             Domain const& domain);

/// The table as CSV: the attributes' names and the label's, then a row of codes each.
void format_table(Domain const& domain, Dataset const& data, TextSink const& sink);

}  // namespace fairlane
