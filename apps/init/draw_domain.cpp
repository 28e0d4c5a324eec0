#include "apps/init/draw_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "apps/init/column_list.h"
#include "apps/init/named_inputs.h"
#include "base/error.h"
#include "base/text.h"
#include "models/data/csv.h"

namespace fairlane {
namespace {

constexpr auto kMaxCategories = static_cast<std::int64_t>(kMaxListed);
/// Gaps are mentioned where so many codes occur: of two the sample may just have missed those
/// between.
constexpr std::size_t kLeastSparse = 3;
constexpr std::size_t kMostSparse = 16;

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

bool is_code(std::string const& text) {
  double const number = std::strtod(text.c_str(), nullptr);
  return std::fabs(number) <= kMaxCode && number == std::trunc(number);
}

/// Text cells become categories in alphabetical order; what is neither integers nor text is
/// refused.
void read_categories(Table const& table, TableColumn const& column, Attribute& attribute) {
  std::string const name = in_quotes(column.name);
  std::string number;
  std::string text;
  for (std::string const& cell : column.categories) {
    if (cell.empty())
      fail(table, fmt::format("column {} has empty cells, expected a value in every row", name));
    if (!is_number(cell)) {
      text = cell;
    } else if (number.empty() || is_code(number)) {
      number = cell;  // one that is no code, where there is one
    }
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
    throw usage_error(fmt::format("--label: {} has no column {}{}",
                                  escaped(table.source, table.source.size()), in_quotes(wanted),
                                  did_you_mean(wanted, names)));
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
  if (!too_few) fail(table, what + "; --drop A,B leaves columns out");
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

/// The label is the last column unless named. Where the model takes more inputs than there are
/// attributes, the text is encoded one-hot in the way that gives exactly its number.
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

/// Classes that a model decides between.
int classes_of(Model const& model) { return std::max(2, model.outputs()); }

std::string guessed_label(Table const& table, TableColumn const& label) {
  return fmt::format(
      "such a model does not tell how many inputs it takes, so that the last column of {}, {}, was "
      "taken for the label: --label names another, and a table without labels needs a domain file "
      "and a configuration that are written by hand",
      escaped(table.source, table.source.size()), in_quotes(label.name));
}

/// What the label column's cells stand for: nothing where they are class numbers, otherwise the
/// classes in the order of the cells, as scikit-learn numbers them. hint: where they are neither
std::vector<LabelName> draw_labels(Table const& table, TableColumn const& label, Model const& model,
                                   std::string const& hint) {
  int const classes = classes_of(model);
  if (label.integer && label.low >= 0 && label.high < classes) return {};
  std::vector<std::string> cells = label.categories;
  if (label.integer) {
    for (std::int32_t const value : label.values) cells.push_back(std::to_string(value));
  } else {
    std::sort(cells.begin(), cells.end());
  }
  constexpr std::size_t kShown = 6;
  bool const fits = label.distinct == classes && std::ranges::count(cells, "") == 0;
  if (!fits) {
    std::string shown;
    for (std::size_t i = 0; i < std::min(cells.size(), kShown); ++i)
      shown += (i == 0 ? "" : ", ") + in_quotes(cells[i]);
    if (label.distinct > static_cast<std::int64_t>(kShown)) shown += ", ...";
    fail(table, fmt::format("the label column {} holds {} different cell{} ({}), but {} decides "
                            "between {} classes, expected class numbers 0..{} or {} words; {}",
                            in_quotes(label.name), label.distinct, label.distinct == 1 ? "" : "s",
                            shown, escaped(model.source(), model.source().size()), classes,
                            classes - 1, classes, hint));
  }
  std::vector<LabelName> labels;
  for (std::string const& cell : cells)
    labels.push_back({cell, static_cast<std::int32_t>(labels.size())});
  return labels;
}

/// "income: 1, 2, 4, 8" where few codes occur and others lie between them, or nothing.
std::string sparse_codes(TableColumn const& column) {
  bool const few = column.values.size() >= kLeastSparse && column.values.size() <= kMostSparse;
  std::int64_t const codes = std::int64_t{column.high} - column.low + 1;
  if (!few || static_cast<std::int64_t>(column.values.size()) == codes) return {};
  return fmt::format("{}: {}", escaped(column.name), fmt::join(column.values, ", "));
}

/// How numbers are scaled before they enter the network.
enum class Scaling { kNone, kStandardise, kMinMax };

void scale(TableColumn const& column, Scaling scaling, Attribute& attribute) {
  if (scaling == Scaling::kNone) return;
  Encoding& encoding = attribute.encoding;
  encoding.kind = EncodingKind::kAffine;
  bool const by_range = scaling == Scaling::kMinMax;
  encoding.mean = by_range ? column.low : column.mean;
  encoding.std = by_range ? double(column.high) - column.low : column.std;
  if (!(encoding.std > 0.0)) encoding.std = 1.0;  // as scikit-learn scales a constant
}

/// Where columns of text stand among the inputs.
enum class TextPlace { kTable, kBehind, kBefore };

/// An attribute, and the column of numbers that may be scaled; null for text and one-hot.
struct Drawn {
  Attribute attribute;
  TableColumn const* number = nullptr;
};

std::string way_text(DrawnDomain const& drawn, Scaling scaling, TextPlace place, bool has_numbers) {
  std::string text = !has_numbers                       ? std::string()
                     : scaling == Scaling::kStandardise ? "numbers as (code - mean) / std"
                     : scaling == Scaling::kMinMax      ? "numbers scaled to 0..1"
                                                        : "numbers as they are";
  auto const add = [&](std::string const& more) { text += (text.empty() ? "" : ", ") + more; };
  switch (drawn.text_inputs) {
    case TextInputs::kCodes:
      if (!drawn.named && !drawn.encoded.empty()) add("text as codes");
      break;
    case TextInputs::kOneHot:
      add("text one-hot");
      break;
    case TextInputs::kOneHotIfBinary:
      add("text one-hot without the first of two categories");
      break;
    case TextInputs::kOneHotDropFirst:
      add("text one-hot without first categories");
      break;
  }
  add(drawn.named                   ? "columns in the order of the model's names"
      : place == TextPlace::kTable  ? "columns in the table's order"
      : place == TextPlace::kBehind ? "text behind the numbers"
                                    : "text before the numbers");
  return text;
}

/// Attributes in one of their orders: text where it stands, behind the numbers or before them.
std::vector<Drawn> in_place(std::vector<Drawn> attributes, TextPlace place) {
  if (place != TextPlace::kTable) {
    std::stable_partition(attributes.begin(), attributes.end(), [&](Drawn const& one) {
      return (one.number != nullptr) == (place == TextPlace::kBehind);
    });
  }
  return attributes;
}

/// The ways in which the attributes may be given to the model.
void draw_ways(std::vector<Drawn> const& attributes, Domain const& head, bool standardise,
               DrawnDomain& drawn) {
  std::vector<TextPlace> places = {TextPlace::kTable};
  if (!drawn.named) places.insert(places.end(), {TextPlace::kBehind, TextPlace::kBefore});
  std::vector<Scaling> scalings = {Scaling::kNone, Scaling::kStandardise, Scaling::kMinMax};
  if (standardise) scalings = {Scaling::kStandardise};
  bool const has_numbers =
      std::ranges::any_of(attributes, [](Drawn const& one) { return one.number != nullptr; });
  if (!has_numbers) scalings.resize(1);
  std::vector<std::vector<std::string>> orders;  // that there have been
  for (TextPlace const place : places) {
    std::vector<Drawn> const ordered = in_place(attributes, place);
    std::vector<std::string> names;
    for (Drawn const& one : ordered) names.push_back(one.attribute.name);
    if (std::ranges::count(orders, names) > 0) continue;
    orders.push_back(std::move(names));
    for (Scaling const scaling : scalings) {
      InputWay way{head, way_text(drawn, scaling, place, has_numbers)};
      for (Drawn const& one : ordered) {
        way.domain.attributes.push_back(one.attribute);
        if (one.number != nullptr) scale(*one.number, scaling, way.domain.attributes.back());
      }
      drawn.ways.push_back(std::move(way));
    }
  }
}

/// A column that is an attribute of its own codes, or one-hot as `text_inputs` says.
Drawn draw_column(Table const& table, TableColumn const& column, DrawnDomain& drawn) {
  Drawn one;
  one.attribute.name = column.name;
  if (column.integer) {
    one.attribute.low = column.low;
    one.attribute.high = column.high;
    one.number = &column;
    if (std::string codes = sparse_codes(column); !codes.empty())
      drawn.sparse.push_back(std::move(codes));
    return one;
  }
  read_categories(table, column, one.attribute);
  drawn.encoded.push_back(column.name);
  if (drawn.text_inputs != TextInputs::kCodes) {
    // Of two categories, all but the first are the code itself; the words say what was meant.
    one.attribute.encoding.kind = EncodingKind::kOneHot;
    one.attribute.encoding.drop_first = drops_first(drawn.text_inputs, column.distinct);
  }
  return one;
}

/// Columns in the order of the model's names; the others but the label are left out.
std::vector<Drawn> draw_named(Table const& table, std::vector<NamedInput> const& inputs,
                              std::vector<TableColumn const*> const& columns,
                              std::string const& wanted, TableColumn const*& label,
                              DrawnDomain& drawn) {
  label = wanted.empty() ? nullptr : named_label(table, columns, wanted);
  std::vector<Drawn> attributes;
  std::vector<TableColumn const*> others = columns;
  for (NamedInput const& input : inputs) {
    if (input.column == label) {
      throw usage_error(
          fmt::format("--label: {} is an input of the model", in_quotes(input.column->name)));
    }
    std::erase(others, input.column);
    if (input.categories.empty()) {
      attributes.push_back(draw_column(table, *input.column, drawn));
      continue;
    }
    attributes.push_back({one_hot_attribute(input)});
    if (!input.column->integer) {
      Attribute ignored;
      read_categories(table, *input.column, ignored);  // refuses what is no text
      drawn.encoded.push_back(input.column->name);
    }
  }
  if (label == nullptr && !others.empty()) label = others.back();
  for (TableColumn const* other : others) {
    if (other != label) drawn.left_out.push_back(other->name);
  }
  return attributes;
}

}  // namespace

std::vector<TableColumn const*> kept_columns(Table const& table,
                                             std::vector<std::string> const& drop) {
  std::vector<TableColumn const*> columns;
  std::vector<std::string> names;
  for (TableColumn const& column : table.columns) {
    if (column.name.empty()) continue;
    names.push_back(column.name);
    if (std::ranges::count(drop, column.name) == 0) columns.push_back(&column);
  }
  for (std::string const& name : drop) {
    if (std::ranges::count(names, name) == 0)
      throw no_column("--drop", "column", table.source, name, names);
  }
  return columns;
}

DrawnDomain draw_domain(Table const& table, Model const& model, DrawOptions const& options) {
  std::vector<TableColumn const*> const columns = kept_columns(table, options.drop);
  if (columns.empty()) fail(table, "names no column, expected a header row with names");
  DrawnDomain drawn;
  TableColumn const* label = nullptr;
  std::vector<Drawn> attributes;
  auto const named = match_inputs(model.features(), columns, drawn.unnamed);
  drawn.named = named.has_value();
  if (named) {
    attributes = draw_named(table, *named, columns, options.label, label, drawn);
  } else {
    Layout layout;
    try {
      layout = find_layout(table, columns, model, options.label);
    } catch (Error const& error) {
      if (drawn.unnamed.empty()) throw;
      throw Error(error.code(), fmt::format("{}; the model names its inputs, but {}", error.what(),
                                            drawn.unnamed));
    }
    label = layout.label;
    drawn.text_inputs = layout.text_inputs;
    drawn.other_label = layout.other_label;
    for (TableColumn const* column : columns) {
      if (column != label) attributes.push_back(draw_column(table, *column, drawn));
    }
  }
  Domain head;
  head.name = std::filesystem::path(table.source).stem().string();
  drawn.has_label = label != nullptr;
  if (label != nullptr) {
    head.label = label->name;
    head.names_label = true;
    if (!named && options.label.empty() && runs_code(model.source()))
      drawn.guessed_label = guessed_label(table, *label);
    head.labels = draw_labels(
        table, *label, model,
        drawn.guessed_label.empty() ? "name another column with --label" : drawn.guessed_label);
  }
  draw_ways(attributes, head, options.standardise, drawn);
  // A program takes codes, and may fail on others' or on numbers between them.
  if (is_command(model.source())) drawn.ways.resize(1);
  return drawn;
}

}  // namespace fairlane
