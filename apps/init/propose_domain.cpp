#include "apps/init/propose_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "apps/init/column_list.h"
#include "base/error.h"
#include "base/text.h"
#include "models/data/csv.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMostClasses = 100;
/// In shorter tables a column may have another value in every row by chance.
constexpr std::int64_t kFewRows = 16;
/// Names that a label column often has.
constexpr std::string_view kLabelNames[] = {"label", "class", "target", "outcome", "y"};

[[noreturn]] void fail_table(RawTable const& table, std::string const& what) {
  throw data_error(escaped(table.source, 4096), what);
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Edges of bins of about equally many values, of `numbers` in ascending order.
std::vector<double> quantile_edges(RawTableColumn const& column) {
  auto const& numbers = column.numbers;
  double const least = numbers.front();
  double below = column.integer || std::floor(least) == least ? least - 1.0 : std::floor(least);
  if (!(below < least)) below = std::nextafter(least, -std::numeric_limits<double>::infinity());
  std::vector<double> edges = {below};
  for (int i = 1; i <= kProposedBins; ++i) {
    // The least value that so many quarters of the rows do not exceed.
    std::size_t const rows = (numbers.size() * static_cast<std::size_t>(i) + kProposedBins - 1) /
                             static_cast<std::size_t>(kProposedBins);
    if (numbers[rows - 1] > edges.back()) edges.push_back(numbers[rows - 1]);
  }
  return edges;
}

/// Whether integers lie so close together that they may be their own codes.
bool are_few(RawTableColumn const& column) {
  return column.integer && column.numbers.back() - column.numbers.front() < kFewNumbers;
}

/// Words by frequency; numbers among them keep their own codes, if they can. False where they
/// cannot.
bool propose_categories(RawTableColumn const& column, Attribute& attribute) {
  std::vector<std::pair<std::int32_t, std::string>> numbers;
  for (auto const& [word, count] : column.words) {
    std::int32_t number = 0;
    if (parse_code(word, number) == CodeCell::kYes) {
      numbers.emplace_back(number, word);
    } else {
      attribute.categories.push_back(word);
    }
  }
  std::ranges::sort(numbers);
  std::vector<std::string> first;
  for (auto const& [number, word] : numbers) {
    if (number != numbers.front().first + static_cast<std::int64_t>(first.size())) return false;
    first.push_back(word);
  }
  attribute.categories.insert(attribute.categories.begin(), first.begin(), first.end());
  auto const count = static_cast<std::int64_t>(attribute.categories.size());
  std::int64_t const low = numbers.empty() ? 0 : numbers.front().first;
  if (low + count > kMaxCode) return false;
  attribute.low = static_cast<std::int32_t>(low);
  attribute.high = static_cast<std::int32_t>(low + count - 1);
  return true;
}

/// Why a column is no attribute, or nothing.
std::string reason_against(RawTable const& table, RawTableColumn const& column) {
  std::int64_t const present = table.rows - column.missing;
  bool const many = table.rows > kFewRows;
  if (column.name.empty()) return "has no name";
  if (present == 0) return "every value is missing";
  if (column.numeric) {
    bool const counts_rows =
        column.integer && many && column.distinct == table.rows &&
        column.numbers.back() - column.numbers.front() + 1.0 == static_cast<double>(table.rows);
    return counts_rows ? "numbers the rows" : "";
  }
  if (column.distinct > static_cast<std::int64_t>(kMaxListed))
    return fmt::format("more than {} different texts", kMaxListed);
  if (many && column.distinct == present) return "a different text in every row";
  return "";
}

Attribute propose_attribute(RawTable const& table, RawTableColumn const& column,
                            std::string& reason) {
  Attribute attribute;
  attribute.name = column.name;
  attribute.imputes = column.missing > 0;
  reason = reason_against(table, column);
  if (!reason.empty()) return attribute;
  if (are_few(column)) {
    attribute.low = static_cast<std::int32_t>(column.numbers.front());
    attribute.high = static_cast<std::int32_t>(column.numbers.back());
  } else if (column.numeric) {
    attribute.bins = quantile_edges(column);
    attribute.low = 0;
    attribute.high = static_cast<std::int32_t>(attribute.bins.size()) - 2;
  } else if (!propose_categories(column, attribute)) {
    reason = "numbers and words, such as " + in_quotes(column.words.front().first);
  }
  return attribute;
}

/// Classes of the label column, and its name in the table of codes.
void propose_label(RawTable const& table, RawTableColumn const& column, Domain& domain) {
  std::string const what = fmt::format("the label column {}", in_quotes(column.name));
  if (column.missing > 0) {
    fail_table(table, fmt::format("{} has {} missing values, expected a label in every row; name "
                                  "another column with --label, or remove the rows",
                                  what, column.missing));
  }
  if (column.distinct < 2 || column.distinct > kMostClasses) {
    fail_table(table, fmt::format("{} has {} different values, expected 2 to {} classes; name "
                                  "another column with --label",
                                  what,
                                  column.words.empty() ? fmt::format("over {}", kMaxListed)
                                                       : std::to_string(column.distinct),
                                  kMostClasses));
  }
  domain.label = column.name;
  domain.names_label = true;
  std::vector<std::string> cells;
  bool own_classes = column.integer;
  if (column.integer) {
    for (std::size_t i = 0; i < column.numbers.size(); ++i) {
      if (i > 0 && column.numbers[i] == column.numbers[i - 1]) continue;
      own_classes = own_classes && column.numbers[i] == static_cast<double>(cells.size());
      cells.push_back(fmt::format("{}", static_cast<std::int32_t>(column.numbers[i])));
    }
  } else {
    for (auto const& [word, count] : column.words) cells.push_back(word);
    std::ranges::sort(cells);
  }
  if (own_classes) return;
  bool numbers_differ = false;
  for (std::string const& cell : cells) {
    auto const label = static_cast<std::int32_t>(domain.labels.size());
    std::int32_t number = 0;
    numbers_differ =
        numbers_differ || (parse_code(cell, number) == CodeCell::kYes && number != label);
    domain.labels.push_back({cell, label});
  }
  if (!numbers_differ) return;
  // A number that is one of the cells may be another one's class: the columns' names tell them apart.
  domain.raw.label = column.name;
  for (domain.label = "label"; std::ranges::any_of(
           table.columns, [&](RawTableColumn const& one) { return one.name == domain.label; });)
    domain.label += "_class";
}

}  // namespace

ProposedDomain propose_domain(RawTable const& table, std::string const& label,
                              std::vector<std::string> const& drop) {
  std::vector<std::string> names;
  for (RawTableColumn const& column : table.columns) names.push_back(column.name);
  auto const is_there = [&](std::string const& name) {
    return std::ranges::count(names, name) > 0;
  };
  for (std::string const& name : drop) {
    if (!is_there(name)) throw no_column("--drop", "column", table.source, name, names);
  }
  if (!label.empty() && !is_there(label))
    throw usage_error(fmt::format("--label: {} has no column {}{}",
                                  escaped(table.source, table.source.size()), in_quotes(label),
                                  did_you_mean(label, names)));
  ProposedDomain proposed;
  std::string label_name = label;
  for (std::string const& name : names) {
    bool const usual = std::ranges::count(kLabelNames, lower(name)) > 0;
    if (label_name.empty() && usual && std::ranges::count(drop, name) == 0) label_name = name;
  }
  for (auto name = names.rbegin(); label_name.empty() && name != names.rend(); ++name) {
    proposed.label_by_place = true;
    if (std::ranges::count(drop, *name) == 0) label_name = *name;
  }
  Domain& domain = proposed.domain;
  domain.name = std::filesystem::path(table.source).stem().string();
  domain.raw = table.form;
  for (RawTableColumn const& column : table.columns) {
    if (std::ranges::count(drop, column.name) > 0) {
      proposed.left_out.emplace_back(column.name, "--drop");
    } else if (column.name == label_name && !label_name.empty()) {
      propose_label(table, column, domain);
    } else {
      std::string reason;
      Attribute attribute = propose_attribute(table, column, reason);
      if (reason.empty()) {
        domain.attributes.push_back(std::move(attribute));
      } else {
        proposed.left_out.emplace_back(column.name, reason);
      }
    }
  }
  if (!domain.names_label || domain.attributes.empty())
    fail_table(table, "has a single column that is of use, expected attributes and a label");
  return proposed;
}

}  // namespace fairlane
