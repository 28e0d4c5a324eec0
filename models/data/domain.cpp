#include "models/data/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "models/data/csv_scanner.h"
#include "models/data/dataset.h"

namespace fairlane {
namespace {

// The data's range of one column.
struct Range {
  std::int32_t low;
  std::int32_t high;
};

Range range_of(Dataset const& data, std::size_t column) {
  Range range{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
  auto const stride = static_cast<std::size_t>(data.attributes);
  for (std::size_t i = column; i < data.rows.size(); i += stride) {
    range.low = std::min(range.low, data.rows[i]);
    range.high = std::max(range.high, data.rows[i]);
  }
  return range;
}

/// The bin between two edges: "45-59" where all edges are whole numbers, else "over 1.5 to 2.5".
std::string bin_text(double above, double last, bool whole) {
  if (!whole) return fmt::format("over {} to {}", above, last);
  double const first = above + 1.0;
  if (first == last) return fmt::format("{:.0f}", last);
  return fmt::format("{:.0f}{}{:.0f}", first, first < 0.0 ? " to " : "-", last);
}

bool are_whole(std::vector<double> const& edges) {
  constexpr double kMost = 1e15;  // doubles below are exact, and so is their successor
  return std::ranges::all_of(
      edges, [](double edge) { return edge == std::trunc(edge) && std::fabs(edge) < kMost; });
}

}  // namespace

std::string Attribute::word(std::int32_t code) const {
  std::int64_t const index = categories.empty() && bins.empty() ? -1 : index_of(code);
  auto const i = static_cast<std::size_t>(index);
  if (index >= 0 && i < categories.size()) return categories[i];
  if (index >= 0 && i + 1 < bins.size()) return bin_text(bins[i], bins[i + 1], are_whole(bins));
  return std::to_string(code);
}

std::optional<std::int32_t> Attribute::bin_code(double number) const {
  auto const edge = std::lower_bound(bins.begin(), bins.end(), number);
  if (edge == bins.begin() || edge == bins.end()) return std::nullopt;
  return code_at(edge - bins.begin() - 1);
}

std::int64_t Attribute::code_count() const {
  return values.empty() ? std::int64_t{*high} - *low + 1 : static_cast<std::int64_t>(values.size());
}

std::int32_t Attribute::code_at(std::int64_t i) const {
  return values.empty() ? static_cast<std::int32_t>(*low + i) : values[static_cast<std::size_t>(i)];
}

std::int64_t Attribute::index_of(std::int32_t code) const {
  if (!values.empty()) {
    auto const found = std::lower_bound(values.begin(), values.end(), code);
    return found == values.end() || *found != code ? -1 : found - values.begin();
  }
  constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
  if (high && code > *high) return -1;
  std::int64_t const index = code - (low ? std::int64_t{*low} : kLowest);
  return index < 0 ? -1 : index;
}

std::int32_t Attribute::nearest(std::int32_t code) const {
  if (values.empty()) return std::clamp(code, low.value_or(code), high.value_or(code));
  auto const above = std::lower_bound(values.begin(), values.end(), code);
  if (above == values.begin()) return values.front();
  if (above == values.end()) return values.back();
  std::int32_t const below = *(above - 1);
  return std::int64_t{code} - below <= std::int64_t{*above} - code ? below : *above;
}

std::string Attribute::codes_text() const {
  constexpr std::size_t kShown = 12;
  auto const bound = [](std::optional<std::int32_t> const& code) {
    return code ? std::to_string(*code) : std::string("data");
  };
  if (values.empty()) return bound(low) + ".." + bound(high);
  std::string text = "one of ";
  for (std::size_t i = 0; i < values.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  if (values.size() > kShown)
    text += fmt::format(", ..., {} ({} in all)", values.back(), values.size());
  return text;
}

bool Domain::encodes() const {
  return std::any_of(attributes.begin(), attributes.end(), [](Attribute const& attribute) {
    return attribute.encoding.kind != EncodingKind::kIdentity;
  });
}

int Domain::columns() const {
  std::int64_t count = 0;
  for (auto const& attribute : attributes) count += encoded_width(attribute);
  return static_cast<int>(std::min<std::int64_t>(count, kMaxCode));
}

void Domain::encode(std::int32_t const* row, std::vector<double>& inputs) const {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    Attribute const& attribute = attributes[a];
    Encoding const& encoding = attribute.encoding;
    auto const index = static_cast<std::size_t>(attribute.index_of(row[a]));
    switch (encoding.kind) {
      case EncodingKind::kIdentity:
        inputs.push_back(row[a]);
        break;
      case EncodingKind::kAffine:
        inputs.push_back(static_cast<float>((row[a] - encoding.mean) / encoding.std));
        break;
      case EncodingKind::kTable:
        inputs.insert(inputs.end(), encoding.rows[index].begin(), encoding.rows[index].end());
        break;
      case EncodingKind::kOneHot:
        for (std::size_t i = encoding.drop_first ? 1 : 0;
             i < static_cast<std::size_t>(attribute.code_count()); ++i)
          inputs.push_back(i == index ? 1.0 : 0.0);
        break;
    }
  }
}

std::string Domain::label_word(std::int32_t label_class) const {
  auto const found = std::find_if(labels.begin(), labels.end(),
                                  [&](LabelName const& one) { return one.label == label_class; });
  return found == labels.end() ? std::to_string(label_class) : found->text;
}

bool Domain::has_class(std::int32_t label_class) const {
  return std::ranges::any_of(labels,
                             [&](LabelName const& one) { return one.label == label_class; });
}

LabelName const* Domain::clashing_label() const {
  auto const found = std::ranges::find_if(labels, [&](LabelName const& one) {
    std::int32_t number = 0;
    bool const is_number = parse_code(one.text, number) == CodeCell::kYes;
    return is_number && number != one.label && has_class(number);
  });
  return found == labels.end() ? nullptr : &*found;
}

int Domain::find(std::string const& wanted) const {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

double Domain::inputs() const {
  double product = 1.0;
  for (auto const& attribute : attributes) {
    if (!attribute.low || !attribute.high) return std::numeric_limits<double>::quiet_NaN();
    product *= static_cast<double>(attribute.code_count());
  }
  return product;
}

void resolve_bounds(Domain& domain, Dataset const* data) {
  std::string const source = escaped(domain.source);
  for (std::size_t i = 0; i < domain.attributes.size(); ++i) {
    Attribute& attribute = domain.attributes[i];
    if (attribute.low && attribute.high) continue;
    std::string const missing = attribute.low ? "high" : attribute.high ? "low" : "low and high";
    if (data == nullptr || data->count() == 0) {
      throw Error(ExitCode::kConfig,
                  fmt::format("{}: attribute {} has no {}, and there is no data to take them from; "
                              "write the bounds or give a table",
                              source, in_quotes(attribute.name), missing));
    }
    if (data->attributes != domain.size()) {
      throw Error(ExitCode::kBug,
                  fmt::format("{}: the table has {} attributes, expected {}", escaped(data->source),
                              data->attributes, domain.size()));
    }
    Range const range = range_of(*data, i);
    if (!attribute.low) attribute.low = range.low;
    if (!attribute.high) attribute.high = range.high;
    if (*attribute.low > *attribute.high) {
      throw Error(
          ExitCode::kConfig,
          fmt::format(
              "{}: attribute {} has low {} > high {} once {} comes from {}; write both bounds",
              source, in_quotes(attribute.name), *attribute.low, *attribute.high, missing,
              escaped(data->source)));
    }
  }
  resolve_constraints(domain, data);
}

}  // namespace fairlane
