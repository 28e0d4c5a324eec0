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
constexpr auto kMaxCategories = static_cast<std::int64_t>(kMaxListed);
/// Gaps are mentioned where so many codes occur: of two the sample may just have missed those between.
constexpr std::size_t kLeastSparse = 3;
constexpr std::size_t kMostSparse = 16;

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

/// A column with a single category keeps it: every attribute has an input.
bool drops_first(TextInputs way, std::int64_t categories) {
  return (way == TextInputs::kOneHotDropFirst && categories > 1) ||
         (way == TextInputs::kOneHotIfBinary && categories == 2);
}

/// Inputs of the columns but the label's, with text encoded one-hot.
std::int64_t one_hot_inputs(std::vector<TableColumn const*> const& columns,
                            TableColumn const* label, TextInputs way) {
  std::int64_t inputs = 0;
  for (TableColumn const* column : columns) {
    if (column == label) continue;
    inputs += column->integer ? 1 : column->distinct - (drops_first(way, column->distinct) ? 1 : 0);
  }
  return inputs;
}

/// Which columns are attributes, and how text enters the network.
struct Layout {
  TableColumn const* label = nullptr;
  TextInputs text_inputs = TextInputs::kCodes;
  std::string other_label = {};
};

TableColumn const* named_label(Table const& table, std::vector<TableColumn const*> const& columns,
                               std::string const& wanted) {
  auto const names = names_of(columns);
  auto const found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    throw Error(ExitCode::kUsage, fmt::format("--label: {} has no column {}{}",
                                              escaped(table.source, table.source.size()),
                                              in_quotes(wanted), did_you_mean(wanted, names)));
  }
  return columns[static_cast<std::size_t>(found - names.begin())];
}

/// What does not fit, and what would: as codes, or with the text one-hot.
[[noreturn]] void fail_layout(Table const& table, std::vector<TableColumn const*> const& columns,
                              Model const& model, TableColumn const* label) {
  auto const inputs = static_cast<std::size_t>(model.inputs());
  std::string what = fmt::format(
      "has {} columns{}, but {} takes {} inputs, expected {} columns{}", columns.size(),
      label != nullptr ? " with the label" : "", escaped(model.source(), model.source().size()),
      inputs, label != nullptr ? inputs + 1 : inputs,
      label != nullptr ? "" : fmt::format(", or {} with the label", inputs + 1));
  bool const too_few = columns.size() < inputs + (label != nullptr ? 1 : 0);
  if (!too_few) fail(table, what);
  if (label == nullptr) label = columns.back();
  std::string text;
  for (TableColumn const* column : columns) {
    if (column == label || column->integer) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", escaped(column->name), column->distinct);
  }
  if (!text.empty()) {
    what += fmt::format(
        "; beside the label {} its text ({}) would give {} inputs one-hot, {} without first "
        "categories",
        in_quotes(label->name), text, one_hot_inputs(columns, label, TextInputs::kOneHot),
        one_hot_inputs(columns, label, TextInputs::kOneHotDropFirst));
  }
  fail(table, what +
                  (text.empty() ? "; columns of codes may be one-hot,"
                                : "; columns of codes may be one-hot, too,") +
                  " which no table tells: write the domain file by hand, with encodings");
}

/// The label is the last column unless named. Where the model takes more inputs than there are attributes, the text is
/// encoded one-hot in the way that gives exactly its number.
Layout find_layout(Table const& table, std::vector<TableColumn const*> const& columns,
                   Model const& model, std::string const& wanted) {
  auto const inputs = static_cast<std::size_t>(model.inputs());
  Layout layout;
  if (!wanted.empty()) {
    layout.label = named_label(table, columns, wanted);
  } else if (columns.size() == inputs + 1) {
    layout.label = columns.back();
  }
  std::size_t const attributes = columns.size() - (layout.label != nullptr ? 1 : 0);
  auto const fit = [&](TableColumn const* label) {
    for (TextInputs const way :
         {TextInputs::kOneHot, TextInputs::kOneHotIfBinary, TextInputs::kOneHotDropFirst}) {
      if (one_hot_inputs(columns, label, way) == static_cast<std::int64_t>(inputs)) return way;
    }
    return TextInputs::kCodes;
  };
  if (attributes == inputs) {
    if (layout.label == nullptr && columns.back()->integer && columns.back()->low >= 0 &&
        fit(columns.back()) != TextInputs::kCodes) {
      layout.other_label = columns.back()->name;
    }
    return layout;
  }
  if (attributes > inputs) fail_layout(table, columns, model, layout.label);
  for (TableColumn const* column : columns) {
    Attribute ignored;
    if (column->integer || column == layout.label) continue;
    // The last column may be the label, of which more is said when it fits.
    if (!wanted.empty() || column != columns.back()) read_categories(table, *column, ignored);
  }
  std::vector<TableColumn const*> labels = {layout.label};
  if (wanted.empty()) labels = {columns.back(), nullptr};
  for (TableColumn const* const label : labels) {
    TextInputs const way = fit(label);
    if (way != TextInputs::kCodes) return {label, way};
  }
  fail_layout(table, columns, model, layout.label);
}

/// Labels are class numbers.
void check_label(Table const& table, TableColumn const& label) {
  if (label.integer && label.low >= 0) return;
  std::string const example = label.integer              ? fmt::format("{}", label.low)
                              : label.categories.empty() ? std::string("text")
                                                         : label.categories.front();
  fail(table, fmt::format("the label column {} holds {}, expected class numbers 0, 1, ...; "
                          "encode it, or name another column with --label",
                          in_quotes(label.name), in_quotes(example)));
}

/// "income: 1, 2, 4, 8" where few codes occur and others lie between them, or nothing.
std::string sparse_codes(TableColumn const& column) {
  bool const few = column.values.size() >= kLeastSparse && column.values.size() <= kMostSparse;
  std::int64_t const codes = std::int64_t{column.high} - column.low + 1;
  if (!few || static_cast<std::int64_t>(column.values.size()) == codes) return {};
  return fmt::format("{}: {}", escaped(column.name), fmt::join(column.values, ", "));
}

/// How one column enters the network.
void encode(TableColumn const& column, bool standardise, DrawnDomain& drawn, Attribute& attribute) {
  Encoding& encoding = attribute.encoding;
  if (!column.integer && drawn.text_inputs != TextInputs::kCodes) {
    // Of two categories, all but the first are the code itself; the words say what was meant.
    encoding.kind = EncodingKind::kOneHot;
    encoding.drop_first = drops_first(drawn.text_inputs, column.distinct);
  }
  if (column.integer && standardise) {
    encoding.kind = EncodingKind::kAffine;
    encoding.mean = column.mean;
    encoding.std = column.std > 0.0 ? column.std : 1.0;  // as scikit-learn scales a constant
    drawn.standardised.push_back(column.name);
  }
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

DrawnDomain draw_domain(Table const& table, Model const& model, DrawOptions const& options) {
  std::vector<TableColumn const*> columns;
  for (TableColumn const& column : table.columns) {
    if (!column.name.empty()) columns.push_back(&column);  // an index column has no name
  }
  if (columns.empty()) fail(table, "names no column, expected a header row with names");
  Layout const layout = find_layout(table, columns, model, options.label);
  DrawnDomain drawn;
  drawn.has_label = layout.label != nullptr;
  drawn.text_inputs = layout.text_inputs;
  drawn.other_label = layout.other_label;
  if (drawn.has_label) check_label(table, *layout.label);
  drawn.domain.name = std::filesystem::path(table.source).stem().string();
  for (TableColumn const* column : columns) {
    if (column == layout.label) continue;
    Attribute attribute;
    attribute.name = column->name;
    if (column->integer) {
      attribute.low = column->low;
      attribute.high = column->high;
      if (std::string const codes = sparse_codes(*column); !codes.empty())
        drawn.sparse.push_back(codes);
    } else {
      read_categories(table, *column, attribute);
      drawn.encoded.push_back(column->name);
    }
    encode(*column, options.standardise, drawn, attribute);
    drawn.domain.attributes.push_back(std::move(attribute));
  }
  if (drawn.has_label) {
    drawn.domain.label = layout.label->name;
  } else {
    while (drawn.domain.find(drawn.domain.label) >= 0) drawn.domain.label += "_column";
  }
  flag_protected(table, options.protected_names, drawn);
  return drawn;
}

}  // namespace fairlane
