#include "apps/text/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/dataset.h"

namespace fairlane {
namespace {

/// The header and at least the first `limit` rows of a file.
std::string read_lines(std::string const& path, std::size_t limit) {
  InputFile const file = open_input(path);
  std::string text;
  std::array<char, 1U << 16> part{};
  std::size_t lines = 0;
  while (lines <= limit) {
    std::size_t const got = std::fread(part.data(), 1, part.size(), file.get());
    if (got == 0) return text;
    text.append(part.data(), got);
    lines += static_cast<std::size_t>(std::count(part.data(), part.data() + got, '\n'));
  }
  text.resize(text.rfind('\n') + 1);
  return text;
}

}  // namespace

std::string value_words(Attribute const& attribute, std::int32_t code) {
  std::int64_t const index = attribute.categories.empty() ? -1 : attribute.index_of(code);
  if (index < 0 || index >= static_cast<std::int64_t>(attribute.categories.size())) {
    return fmt::format("{}", code);
  }
  return escaped(attribute.categories[static_cast<std::size_t>(index)]);
}

std::string row_words(Domain const& domain, std::span<std::int32_t const> row,
                      std::span<int const> left_out) {
  std::string text;
  for (int i = 0; i < domain.size(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) != left_out.end()) continue;
    auto const column = static_cast<std::size_t>(i);
    Attribute const& attribute = domain.attributes[column];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escaped(attribute.name),
                        value_words(attribute, row[column]));
  }
  return text;
}

std::vector<int> attribute_indices(Domain const& domain, std::span<std::string const> names) {
  std::vector<int> indices;
  for (std::string const& name : names) {
    int const index = domain.find(name);
    if (index < 0) {
      throw Error(ExitCode::kBug,
                  fmt::format("{}: has no attribute {}", escaped(domain.source), in_quotes(name)));
    }
    indices.push_back(index);
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::vector<ReportedPair> read_pairs(std::string const& path, Domain const& domain,
                                     std::span<int const> protected_columns, std::size_t limit) {
  // instances.csv is a table of codes; what this does not name (scores, phase) is skipped.
  Domain columns;
  columns.source = path;
  columns.label.clear();
  for (Attribute const& attribute : domain.attributes) {
    columns.attributes.emplace_back().name = attribute.name;
  }
  for (int const column : protected_columns) {
    columns.attributes.emplace_back().name =
        "pair_" + domain.attributes[static_cast<std::size_t>(column)].name;
  }
  columns.attributes.emplace_back().name = "label";
  columns.attributes.emplace_back().name = "pair_label";

  std::string const text = read_lines(path, limit);
  if (text.find('\n') + 1 == text.size() && !text.empty()) return {};  // nothing was found
  Dataset const data = parse_csv(text, path, columns);
  std::vector<ReportedPair> pairs(static_cast<std::size_t>(data.count()));
  auto const attributes = static_cast<std::ptrdiff_t>(domain.attributes.size());
  auto at = data.rows.begin();
  for (ReportedPair& pair : pairs) {
    pair.row.assign(at, at + attributes);
    at += attributes;
    pair.pair.assign(at, at + static_cast<std::ptrdiff_t>(protected_columns.size()));
    at += static_cast<std::ptrdiff_t>(protected_columns.size());
    pair.label = *at++;
    pair.pair_label = *at++;
  }
  return pairs;
}

}  // namespace fairlane
