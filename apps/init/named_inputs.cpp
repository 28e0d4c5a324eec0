#include "apps/init/named_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "models/data/csv.h"

namespace fairlane {
namespace {

/// One name, understood.
struct Match {
  TableColumn const* column = nullptr;
  std::string category = {};  // empty: the column itself
};

/// Letters and digits as they are, everything else as LightGBM writes it.
std::string plain(std::string_view text) {
  std::string result;
  for (char const c : text) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return result;
}

std::optional<std::int32_t> code_of(std::string_view text) {
  if (text.ends_with(".0")) text.remove_suffix(2);
  std::int32_t code = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return code;
}

/// The category of a column that `rest`, which follows the column's name and a character, stands
/// for.
std::optional<std::string> category_of(TableColumn const& column, std::string_view rest) {
  if (column.integer) {
    auto const code = code_of(rest);
    if (!code || !std::binary_search(column.values.begin(), column.values.end(), *code))
      return std::nullopt;
    return std::to_string(*code);
  }
  for (std::string const& category : column.categories) {
    if (category == rest) return category;
  }
  for (std::string const& category : column.categories) {
    if (plain(category) == plain(rest)) return category;
  }
  return std::nullopt;
}

/// columns: longest names first
std::optional<Match> match_plain(std::string_view name,
                                 std::vector<TableColumn const*> const& columns) {
  for (TableColumn const* column : columns) {
    if (column->name == name) return Match{column};
  }
  for (TableColumn const* column : columns) {
    if (plain(column->name) == plain(name)) return Match{column};
  }
  auto const rest_behind = [&](TableColumn const& column) -> std::optional<std::string_view> {
    std::size_t const size = column.name.size();
    bool const longer = name.size() > size + 1 &&
                        std::isalnum(static_cast<unsigned char>(name[size])) == 0 &&
                        plain(name.substr(0, size)) == plain(column.name);
    if (!longer) return std::nullopt;
    return name.substr(size + 1);
  };
  for (TableColumn const* column : columns) {
    auto const rest = rest_behind(*column);
    if (!rest) continue;
    if (auto const category = category_of(*column, *rest)) return Match{column, *category};
  }
  // A category of the model's training table that this one lacks.
  for (TableColumn const* column : columns) {
    auto const rest = rest_behind(*column);
    if (rest && !column->integer) return Match{column, std::string(*rest)};
  }
  return std::nullopt;
}

std::optional<Match> match_input(std::string_view name,
                                 std::vector<TableColumn const*> const& columns) {
  auto match = match_plain(name, columns);
  std::size_t const step = name.find("__");
  if ((!match || match->category.empty() == false) && step != std::string_view::npos) {
    // scikit-learn's ColumnTransformer: step__column.
    if (auto const behind = match_plain(name.substr(step + 2), columns)) match = behind;
  }
  return match;
}

}  // namespace

std::optional<std::vector<NamedInput>> match_inputs(std::vector<std::string> const& inputs,
                                                    std::vector<TableColumn const*> const& columns,
                                                    std::string& problem) {
  problem.clear();
  std::vector<TableColumn const*> by_length = columns;
  std::stable_sort(
      by_length.begin(), by_length.end(),
      [](TableColumn const* a, TableColumn const* b) { return a->name.size() > b->name.size(); });
  std::vector<NamedInput> result;
  std::string unknown;
  for (std::string const& name : inputs) {
    auto const match = match_input(name, by_length);
    if (!match) {
      if (unknown.empty()) unknown = name;
      continue;
    }
    bool const goes_on = !result.empty() && result.back().column == match->column &&
                         !result.back().categories.empty() && !match->category.empty();
    bool const met_before =
        !goes_on && std::any_of(result.begin(), result.end(), [&](NamedInput const& input) {
          return input.column == match->column;
        });
    bool const met_category =
        goes_on && std::ranges::count(result.back().categories, match->category) > 0;
    if (met_before || met_category) {
      problem = fmt::format("its inputs of the column {} are not side by side, or one comes twice",
                            in_quotes(match->column->name));
      return std::nullopt;
    }
    if (!goes_on) result.push_back({match->column});
    if (!match->category.empty()) result.back().categories.push_back(match->category);
  }
  if (unknown.empty() && !result.empty()) return result;
  if (!result.empty())
    problem = fmt::format("its input {} is no column of the table", in_quotes(unknown));
  return std::nullopt;
}

Attribute one_hot_attribute(NamedInput const& input) {
  TableColumn const& column = *input.column;
  Attribute attribute;
  attribute.name = column.name;
  attribute.encoding.kind = EncodingKind::kOneHot;
  std::vector<std::string> all;  // categories by code
  if (column.integer) {
    std::vector<std::int32_t> codes = column.values;
    for (std::int32_t const code : codes) all.push_back(std::to_string(code));
    attribute.low = codes.front();
    attribute.high = codes.back();
    if (std::int64_t{codes.back()} - codes.front() + 1 != std::ssize(codes))
      attribute.values = std::move(codes);
  } else {
    std::vector<std::string> others;  // that the model has no input for
    for (std::string const& category : column.categories) {
      if (std::ranges::count(input.categories, category) == 0) others.push_back(category);
    }
    std::sort(others.begin(), others.end());
    all = std::move(others);
    all.insert(all.end(), input.categories.begin(), input.categories.end());
    attribute.categories = all;
    attribute.low = 0;
    attribute.high = static_cast<std::int32_t>(all.size()) - 1;
  }
  if (all == input.categories) return attribute;
  if (std::equal(all.begin() + 1, all.end(), input.categories.begin(), input.categories.end())) {
    attribute.encoding.drop_first = true;
    return attribute;
  }
  // Several categories without an input, or codes in another order: a row for each.
  attribute.encoding.kind = EncodingKind::kTable;
  for (std::string const& category : all) {
    std::vector<float> row;
    for (std::string const& of_input : input.categories)
      row.push_back(of_input == category ? 1.0F : 0.0F);
    attribute.encoding.rows.push_back(std::move(row));
  }
  return attribute;
}

}  // namespace fairlane
