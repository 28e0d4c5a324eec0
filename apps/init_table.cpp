#include "apps/init_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "kernels/core/error.h"
#include "models/text.h"

namespace fairlane {
namespace {

/// More combinations than this are not tested together unless somebody asks for it.
constexpr double kManyCombinations = 1000.0;
constexpr std::int64_t kMaxCategories = 1000;  // as many as describe_csv() lists

constexpr char const* kProtectedWords[] = {
    "age",      "sex",         "gender",   "race",       "ethnicity", "ethnic",  "ethnie",
    "religion", "nationality", "national", "disability", "disabled",  "minority"};

std::vector<std::string> names_of(std::vector<TableColumn const*> const& columns) {
  std::vector<std::string> names;
  for (TableColumn const* column : columns) names.push_back(column->name);
  return names;
}

[[noreturn]] void fail(Table const& table, std::string const& what) {
  throw Error(ExitCode::kData,
              fmt::format("{}: {}", escaped(table.source, table.source.size()), what));
}

bool is_number(std::string const& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

/// The column of the label, or null; the last one unless named.
TableColumn const* find_label(Table const& table, std::vector<TableColumn const*> const& columns,
                              Model const& model, std::string const& wanted) {
  auto const inputs = static_cast<std::size_t>(model.inputs());
  TableColumn const* label = nullptr;
  if (!wanted.empty()) {
    auto const names = names_of(columns);
    auto const found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      throw Error(ExitCode::kUsage, fmt::format("--label: {} has no column {}{}",
                                                escaped(table.source, table.source.size()),
                                                in_quotes(wanted), did_you_mean(wanted, names)));
    }
    label = columns[static_cast<std::size_t>(found - names.begin())];
  } else if (columns.size() == inputs + 1) {
    label = columns.back();
  }
  if (columns.size() != inputs + (label != nullptr ? 1 : 0)) {
    fail(table,
         fmt::format("has {} columns{}, but {} takes {} inputs, expected {} columns{}",
                     columns.size(), label != nullptr ? " with the label" : "",
                     escaped(model.source(), model.source().size()), inputs,
                     label != nullptr ? inputs + 1 : inputs,
                     label != nullptr ? "" : fmt::format(", or {} with the label", inputs + 1)));
  }
  if (label != nullptr && (!label->integer || label->low < 0)) {
    std::string const example = label->integer              ? fmt::format("{}", label->low)
                                : label->categories.empty() ? std::string("text")
                                                            : label->categories.front();
    fail(table, fmt::format("the label column {} holds {}, expected class numbers 0, 1, ...; "
                            "encode it, or name another column with --label",
                            in_quotes(label->name), in_quotes(example)));
  }
  return label;
}

/// Text cells become categories in alphabetical order; what is neither integers nor text is refused.
void read_categories(Table const& table, TableColumn const& column, Attribute& attribute) {
  std::string const name = in_quotes(column.name);
  std::string number;
  std::string text;
  for (std::string const& cell : column.categories) {
    if (cell.empty())
      fail(table, fmt::format("column {} has empty cells, expected a value in every row", name));
    (is_number(cell) ? number : text) = cell;
  }
  if (text.empty()) {
    fail(table,
         fmt::format("column {} holds numbers that are no integer codes, such as {}, expected "
                     "integers of at most {} in magnitude; encode the column (bins)",
                     name, in_quotes(number), kMaxCode));
  }
  if (!number.empty()) {
    fail(table,
         fmt::format("column {} holds both numbers and text, such as {} and {}, expected one "
                     "kind; encode the column",
                     name, in_quotes(number), in_quotes(text)));
  }
  if (column.distinct > kMaxCategories) {
    fail(table, fmt::format("column {} holds {} different texts, expected at most {} categories; "
                            "encode the column",
                            name, column.distinct, kMaxCategories));
  }
  attribute.categories = column.categories;
  std::sort(attribute.categories.begin(), attribute.categories.end());
  attribute.low = 0;
  attribute.high = static_cast<std::int32_t>(attribute.categories.size()) - 1;
}

double values_of(Attribute const& attribute) {
  return static_cast<double>(*attribute.high) - static_cast<double>(*attribute.low) + 1.0;
}

void flag_protected(Table const& table, std::vector<std::string> const& wanted,
                    DrawnDomain& drawn) {
  Domain& domain = drawn.domain;
  std::vector<std::string> names;
  for (Attribute const& attribute : domain.attributes) names.push_back(attribute.name);
  for (std::string const& name : wanted) {
    int const index = domain.find(name);
    if (index < 0) {
      throw Error(ExitCode::kUsage, fmt::format("--protected: {} has no attribute {}{}",
                                                escaped(table.source, table.source.size()),
                                                in_quotes(name), did_you_mean(name, names)));
    }
    domain.attributes[static_cast<std::size_t>(index)].is_protected = true;
  }
  drawn.guessed = wanted.empty();
  if (drawn.guessed) {
    for (Attribute& attribute : domain.attributes) {
      attribute.is_protected = is_protected_name(attribute.name) && values_of(attribute) > 1.0;
    }
  }
  std::vector<Attribute const*> by_size;
  for (Attribute const& attribute : domain.attributes) {
    if (!attribute.is_protected) continue;
    drawn.protected_names.push_back(attribute.name);
    by_size.push_back(&attribute);
  }
  if (by_size.empty()) {
    throw Error(ExitCode::kUsage,
                fmt::format("{}: no column is named like a protected attribute (age, sex, race, "
                            "...); name them with --protected a,b",
                            escaped(table.source, table.source.size())));
  }
  std::stable_sort(by_size.begin(), by_size.end(), [](Attribute const* a, Attribute const* b) {
    return values_of(*a) < values_of(*b);
  });
  double combinations = 1.0;
  for (Attribute const* attribute : by_size) {
    combinations *= values_of(*attribute);
    if (combinations > kManyCombinations && !drawn.tested.empty()) break;
    drawn.tested.push_back(attribute->name);
  }
  std::sort(
      drawn.tested.begin(), drawn.tested.end(),
      [&](std::string const& a, std::string const& b) { return domain.find(a) < domain.find(b); });
}

}  // namespace

bool is_protected_name(std::string const& name) {
  // Words of snake_case, kebab-case, spaces and CamelCase.
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    auto const c = static_cast<unsigned char>(name[i]);
    bool const hump =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (std::isalpha(c) == 0 || hump) words.emplace_back();
    if (std::isalpha(c) != 0) words.back() += static_cast<char>(std::tolower(c));
  }
  return std::any_of(words.begin(), words.end(), [](std::string const& word) {
    return std::find(std::begin(kProtectedWords), std::end(kProtectedWords), word) !=
           std::end(kProtectedWords);
  });
}

DrawnDomain draw_domain(Table const& table, Model const& model, std::string const& label,
                        std::vector<std::string> const& protected_names) {
  std::vector<TableColumn const*> columns;
  for (TableColumn const& column : table.columns) {
    if (!column.name.empty()) columns.push_back(&column);  // an index column has no name
  }
  TableColumn const* const label_column = find_label(table, columns, model, label);
  DrawnDomain drawn;
  drawn.has_label = label_column != nullptr;
  drawn.domain.name = std::filesystem::path(table.source).stem().string();
  for (TableColumn const* column : columns) {
    if (column == label_column) continue;
    Attribute attribute;
    attribute.name = column->name;
    if (column->integer) {
      attribute.low = column->low;
      attribute.high = column->high;
    } else {
      read_categories(table, *column, attribute);
      drawn.encoded.push_back(column->name);
    }
    drawn.domain.attributes.push_back(std::move(attribute));
  }
  if (drawn.has_label) {
    drawn.domain.label = label_column->name;
  } else {
    while (drawn.domain.find(drawn.domain.label) >= 0) drawn.domain.label += "_column";
  }
  flag_protected(table, protected_names, drawn);
  return drawn;
}

}  // namespace fairlane
