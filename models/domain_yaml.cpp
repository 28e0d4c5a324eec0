// Domain files: name, label, attributes: [{name, low, high, values?, protected, immutable?, encoding?, categories?, bins?}].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "kernels/core/error.h"
#include "models/domain.h"
#include "models/network.h"
#include "models/strict_yaml.h"
#include "models/text.h"

namespace fairlane {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 24;

// A name of the domain, the label, an attribute or a category. Numbers and words like `no` are
// names, too.
std::string read_name(std::string const& source, YamlNode const& node, std::string const& what) {
  if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty()) {
    fail_yaml(source, node, fmt::format("{} is {}, expected a name", what, node.shown()));
  }
  return node.scalar;
}

std::int32_t read_code(std::string const& source, YamlNode const& node, std::string const& what) {
  auto const value = node.integer();
  if (!value) {
    char const* const hint = node.quoted ? "; remove the quotes" : "";
    fail_yaml(source, node,
              fmt::format("{} is {}, expected an integer{}", what, node.shown(), hint));
  }
  if (*value < -kMaxCode || *value > kMaxCode) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected {}..{} (codes must be exact in float32)", what,
                          *value, -kMaxCode, kMaxCode));
  }
  return static_cast<std::int32_t>(*value);
}

std::vector<std::string> read_categories(std::string const& source, YamlNode const& node,
                                         std::string const& what) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected a list of names", what,
                          node.kind == YamlNode::Kind::kSequence ? "an empty list" : node.shown()));
  }
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (YamlNode const& item : node.items) {
    names.push_back(read_name(source, item, fmt::format("{}[{}]", what, names.size())));
    if (!seen.insert(names.back()).second) {
      fail_yaml(source, item, fmt::format("{} lists {} twice", what, in_quotes(names.back())));
    }
  }
  return names;
}

std::vector<double> read_bins(std::string const& source, YamlNode const& node,
                              std::string const& what) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.size() < 2) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected at least two bin edges", what,
                          node.kind == YamlNode::Kind::kSequence
                              ? fmt::format("a list of {}", node.items.size())
                              : node.shown()));
  }
  std::vector<double> edges;
  for (YamlNode const& item : node.items) {
    auto const value = item.number();
    if (!value) {
      fail_yaml(
          source, item,
          fmt::format("{}[{}] is {}, expected a finite number", what, edges.size(), item.shown()));
    }
    if (!edges.empty() && *value <= edges.back()) {
      fail_yaml(source, item,
                fmt::format("{}[{}] is {}, expected more than the edge before, {}", what,
                            edges.size(), *value, edges.back()));
    }
    edges.push_back(*value);
  }
  return edges;
}

std::vector<std::int32_t> read_values(std::string const& source, YamlNode const& node,
                                      std::string const& what) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected a list of codes such as [1, 4, 7]", what,
                          node.kind == YamlNode::Kind::kSequence ? "an empty list" : node.shown()));
  }
  std::vector<std::int32_t> values;
  for (YamlNode const& item : node.items) {
    std::string const entry = fmt::format("{}[{}]", what, values.size());
    std::int32_t const value = read_code(source, item, entry);
    if (!values.empty() && value <= values.back()) {
      fail_yaml(source, item,
                fmt::format("{} is {}, expected more than the value before, {}", entry, value,
                            values.back()));
    }
    values.push_back(value);
  }
  return values;
}

double read_number(std::string const& source, YamlNode const& node, std::string const& what) {
  auto const value = node.number();
  if (!value) {
    fail_yaml(source, node, fmt::format("{} is {}, expected a finite number", what, node.shown()));
  }
  return *value;
}

// {affine: {mean: 38.6, std: 13.6}}
void read_affine(std::string const& source, YamlNode const& node, std::string const& what,
                 Encoding& encoding) {
  encoding.kind = EncodingKind::kAffine;
  YamlNode const* const mean = node.find("mean");
  YamlNode const* const std = node.find("std");
  if (node.kind != YamlNode::Kind::kMap || mean == nullptr || std == nullptr) {
    fail_yaml(
        source, node,
        fmt::format("{}.affine is {}, expected {{mean: NUMBER, std: NUMBER}}", what, node.shown()));
  }
  check_yaml_keys(source, node, {"mean", "std"});
  encoding.mean = read_number(source, *mean, what + ".affine.mean");
  encoding.std = read_number(source, *std, what + ".affine.std");
  if (!(encoding.std > 0.0)) {
    fail_yaml(source, *std,
              fmt::format("{}.affine.std is {}, expected more than 0", what, encoding.std));
  }
}

// one-hot, or {one-hot: {drop: first}}
void read_one_hot(std::string const& source, YamlNode const& node, std::string const& what,
                  Encoding& encoding) {
  encoding.kind = EncodingKind::kOneHot;
  YamlNode const* const drop = node.find("drop");
  if (node.kind != YamlNode::Kind::kMap || drop == nullptr || drop->scalar != "first") {
    fail_yaml(source, node,
              fmt::format("{}.one-hot is {}, expected `encoding: one-hot`, or {{one-hot: {{drop: "
                          "first}}}}",
                          what, node.shown()));
  }
  check_yaml_keys(source, node, {"drop"});
  encoding.drop_first = true;
}

// [[a row of numbers for each code] ...], or a flat list for a single column
void read_table(std::string const& source, YamlNode const& node, std::string const& what,
                Encoding& encoding) {
  encoding.kind = EncodingKind::kTable;
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    fail_yaml(
        source, node,
        fmt::format("{}.table is {}, expected a list with a number, or a list of numbers, for "
                    "every code",
                    what, node.kind == YamlNode::Kind::kSequence ? "an empty list" : node.shown()));
  }
  bool const flat = node.items.front().kind == YamlNode::Kind::kScalar;
  std::size_t width = 1;
  for (YamlNode const& item : node.items) {
    std::string const entry = fmt::format("{}.table[{}]", what, encoding.rows.size());
    bool const is_list = item.kind == YamlNode::Kind::kSequence && !item.items.empty();
    if (!flat && encoding.rows.empty() && is_list) width = item.items.size();
    if (flat ? item.kind != YamlNode::Kind::kScalar : !is_list || item.items.size() != width) {
      std::string const wanted =
          flat ? "a number" : fmt::format("a list of {} numbers like the others", width);
      std::string const found =
          is_list ? fmt::format("a list of {}", item.items.size()) : item.shown();
      fail_yaml(source, item, fmt::format("{} is {}, expected {}", entry, found, wanted));
    }
    encoding.rows.emplace_back();
    for (std::size_t k = 0; k < width; ++k) {
      YamlNode const& cell = flat ? item : item.items[k];
      double const value = read_number(source, cell, entry);
      encoding.rows.back().push_back(static_cast<float>(value));
      if (!std::isfinite(encoding.rows.back().back()))
        fail_yaml(source, cell, fmt::format("{} is {}, beyond float32", entry, value));
    }
  }
}

Encoding read_encoding(std::string const& source, YamlNode const& node, std::string const& what) {
  static std::vector<std::string> const kKinds = {"identity", "affine", "one-hot", "table"};
  constexpr char const* kExpected =
      "identity, one-hot, {affine: {mean: NUMBER, std: NUMBER}}, {one-hot: {drop: first}} or "
      "{table: "
      "[...]}";
  Encoding encoding;
  if (node.kind == YamlNode::Kind::kScalar) {
    if (node.scalar == "identity") return encoding;
    if (node.scalar == "one-hot") {
      encoding.kind = EncodingKind::kOneHot;
      return encoding;
    }
    fail_yaml(source, node,
              fmt::format("{} is {}, expected {}{}", what, node.shown(), kExpected,
                          did_you_mean(node.scalar, kKinds)));
  }
  if (node.kind != YamlNode::Kind::kMap || node.keys.size() != 1)
    fail_yaml(source, node, fmt::format("{} is {}, expected {}", what, node.shown(), kExpected));
  check_yaml_keys(source, node, {"affine", "one-hot", "table"});
  if (YamlNode const* const affine = node.find("affine"))
    read_affine(source, *affine, what, encoding);
  if (YamlNode const* const one_hot = node.find("one-hot"))
    read_one_hot(source, *one_hot, what, encoding);
  if (YamlNode const* const table = node.find("table")) read_table(source, *table, what, encoding);
  return encoding;
}

// What an encoding needs to know of the codes, where the file alone says it.
void check_encoding(std::string const& source, YamlNode const& node, std::string const& what,
                    Attribute const& attribute) {
  bool const bounded = attribute.low && attribute.high;
  if (attribute.encoding.kind == EncodingKind::kTable) {
    if (!bounded) {
      fail_yaml(source, node,
                fmt::format("{} is a table, which needs low and high, or values", what));
    }
    auto const rows = static_cast<std::int64_t>(attribute.encoding.rows.size());
    if (rows != attribute.code_count()) {
      fail_yaml(source, node,
                fmt::format("{}.table has {} rows, expected {} for the codes {}", what, rows,
                            attribute.code_count(), attribute.codes_text()));
    }
  }
  bool const is_affine = attribute.encoding.kind == EncodingKind::kAffine;
  if (!bounded || attribute.encoding.kind == EncodingKind::kIdentity) return;
  std::int64_t const most = is_affine ? kMaxTableCodes : kMaxInputs;
  if (attribute.code_count() > most) {
    fail_yaml(
        source, node,
        fmt::format("{} is for {} codes, expected at most {}", what, attribute.code_count(), most));
  }
  if (attribute.encoding.drop_first && attribute.code_count() < 2)
    fail_yaml(source, node, fmt::format("{} drops the only code, {}", what, *attribute.low));
}

std::string encoding_text(Encoding const& encoding) {
  switch (encoding.kind) {
    case EncodingKind::kAffine:
      return fmt::format("{{affine: {{mean: {}, std: {}}}}}", encoding.mean, encoding.std);
    case EncodingKind::kOneHot:
      return encoding.drop_first ? "{one-hot: {drop: first}}" : "one-hot";
    case EncodingKind::kTable: {
      std::string rows;
      for (auto const& row : encoding.rows)
        rows += fmt::format("{}[{}]", rows.empty() ? "" : ", ", fmt::join(row, ", "));
      return fmt::format("{{table: [{}]}}", rows);
    }
    default:
      return "identity";
  }
}

bool read_flag(std::string const& source, YamlNode const& node, std::string const& what) {
  auto const value = node.boolean();
  if (!value)
    fail_yaml(source, node, fmt::format("{} is {}, expected true or false", what, node.shown()));
  return *value;
}

// Categories name the codes low, low + 1, ..., so they settle whichever bound is absent.
void settle_categories(std::string const& source, YamlNode const& node, std::string const& what,
                       Attribute& attribute) {
  auto const count = static_cast<std::int64_t>(attribute.categories.size());
  if (attribute.low && attribute.high) {
    std::int64_t const codes = attribute.code_count();
    if (count != codes) {
      fail_yaml(source, node,
                fmt::format("{}.categories lists {} names, expected {} for the codes {}", what,
                            count, codes, attribute.codes_text()));
    }
    return;
  }
  std::int64_t const low = attribute.low    ? std::int64_t{*attribute.low}
                           : attribute.high ? std::int64_t{*attribute.high} - count + 1
                                            : 0;
  std::int64_t const high = low + count - 1;
  if (low < -kMaxCode || high > kMaxCode) {
    fail_yaml(source, node,
              fmt::format("{}.categories gives codes {}..{}, expected {}..{}", what, low, high,
                          -kMaxCode, kMaxCode));
  }
  attribute.low = static_cast<std::int32_t>(low);
  attribute.high = static_cast<std::int32_t>(high);
}

Attribute read_attribute(std::string const& source, YamlNode const& node, std::size_t index) {
  static std::vector<std::string> const kKeys = {
      "name", "low", "high", "values", "protected", "immutable", "encoding", "categories", "bins"};
  std::string what = fmt::format("attributes[{}]", index);
  if (node.kind != YamlNode::Kind::kMap) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected a map such as {{name: age, low: 0, high: 9}}", what,
                          node.shown()));
  }
  check_yaml_keys(source, node, kKeys);
  Attribute attribute;
  YamlNode const* const name = node.find("name");
  if (name == nullptr) fail_yaml(source, node, fmt::format("{} has no name", what));
  attribute.name = read_name(source, *name, what + ".name");
  what = fmt::format("attribute {}", in_quotes(attribute.name));

  YamlNode const* const low = node.find("low");
  YamlNode const* const high = node.find("high");
  if (low != nullptr) attribute.low = read_code(source, *low, what + ": low");
  if (high != nullptr) attribute.high = read_code(source, *high, what + ": high");
  if (attribute.low && attribute.high && *attribute.low > *attribute.high) {
    fail_yaml(source, *low,
              fmt::format("{} has low {} > high {}", what, *attribute.low, *attribute.high));
  }
  if (YamlNode const* const values = node.find("values")) {
    if (low != nullptr || high != nullptr) {
      fail_yaml(source, *values,
                fmt::format("{} has values beside {}, expected one or the other: a list holds its "
                            "own bounds",
                            what, low != nullptr ? "low" : "high"));
    }
    attribute.values = read_values(source, *values, what + ": values");
    attribute.low = attribute.values.front();
    attribute.high = attribute.values.back();
  }
  if (YamlNode const* const flag = node.find("protected"))
    attribute.is_protected = read_flag(source, *flag, what + ": protected");
  if (YamlNode const* const flag = node.find("immutable"))
    attribute.immutable = read_flag(source, *flag, what + ": immutable");
  if (YamlNode const* const categories = node.find("categories")) {
    attribute.categories = read_categories(source, *categories, what + ": categories");
    settle_categories(source, *categories, what, attribute);
  }
  if (YamlNode const* const encoding = node.find("encoding")) {
    attribute.encoding = read_encoding(source, *encoding, what + ": encoding");
    check_encoding(source, *encoding, what + ": encoding", attribute);
  }
  if (YamlNode const* const bins = node.find("bins")) {
    attribute.bins = read_bins(source, *bins, what + ": bins");
  }
  return attribute;
}

bool is_plain(std::string const& text) {
  static std::unordered_set<std::string> const kReserved = {"null", "true", "false", "yes", "no",
                                                            "on",   "off",  "y",     "n"};
  std::string lowered;
  for (char const c : text) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool const other = (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (!letter && !(other && !lowered.empty())) return false;
    lowered += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return !text.empty() && kReserved.count(lowered) == 0;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string name_text(std::string const& text) {
  return is_plain(text) ? text : double_quoted(text);
}

}  // namespace

Domain read_domain_yaml(std::string const& path) {
  return parse_domain_yaml(read_file(path, kMaxBytes), path);
}

Domain parse_domain_yaml(std::string const& text, std::string const& source) {
  static std::vector<std::string> const kKeys = {"name", "label", "attributes"};
  YamlNode const root = parse_strict_yaml(text, source, {.bytes = kMaxBytes});
  if (root.kind != YamlNode::Kind::kMap) {
    YamlNode place = root;  // an empty document has no place of its own
    place.line = std::max(place.line, 1);
    place.column = std::max(place.column, 1);
    fail_yaml(source, place,
              fmt::format("the file holds {}, expected a map with name, label and attributes",
                          root.shown()));
  }
  check_yaml_keys(source, root, kKeys);
  Domain domain;
  domain.source = source;
  if (YamlNode const* const name = root.find("name"))
    domain.name = read_name(source, *name, "name");
  if (YamlNode const* const label = root.find("label"))
    domain.label = read_name(source, *label, "label");

  YamlNode const* const attributes = root.find("attributes");
  if (attributes == nullptr)
    fail_yaml(source, root, "has no attributes, expected a list of {name, low, high}");
  if (attributes->kind != YamlNode::Kind::kSequence || attributes->items.empty()) {
    bool const empty = attributes->kind == YamlNode::Kind::kSequence;
    fail_yaml(source, *attributes,
              fmt::format("attributes is {}, expected a list of {{name, low, high}}",
                          empty ? "an empty list" : attributes->shown()));
  }
  if (attributes->items.size() > static_cast<std::size_t>(kMaxInputs)) {
    fail_yaml(source, *attributes,
              fmt::format("attributes lists {} entries, expected at most {}",
                          attributes->items.size(), kMaxInputs));
  }
  std::unordered_map<std::string, int> lines;
  for (YamlNode const& item : attributes->items) {
    domain.attributes.push_back(read_attribute(source, item, domain.attributes.size()));
    std::string const& name = domain.attributes.back().name;
    auto const [before, is_new] = lines.emplace(name, item.line);
    if (!is_new) {
      fail_yaml(source, item,
                fmt::format("attribute {} occurs twice, first on line {}", in_quotes(name),
                            before->second));
    }
    if (name == domain.label) {
      fail_yaml(source, item,
                fmt::format("attribute {} is also the label column", in_quotes(name)));
    }
  }
  return domain;
}

std::string format_domain_yaml(Domain const& domain) {
  std::string out;
  if (!domain.name.empty()) out += fmt::format("name: {}\n", name_text(domain.name));
  out += fmt::format("label: {}\nattributes:\n", name_text(domain.label));
  for (Attribute const& attribute : domain.attributes) {
    out += fmt::format("  - {{name: {}", name_text(attribute.name));
    if (!attribute.values.empty()) {
      out += fmt::format(", values: [{}]", fmt::join(attribute.values, ", "));
    } else {
      if (attribute.low) out += fmt::format(", low: {}", *attribute.low);
      if (attribute.high) out += fmt::format(", high: {}", *attribute.high);
    }
    if (attribute.is_protected) out += ", protected: true";
    if (attribute.immutable) out += ", immutable: true";
    if (attribute.encoding.kind != EncodingKind::kIdentity)
      out += ", encoding: " + encoding_text(attribute.encoding);
    if (!attribute.categories.empty()) {
      out += ", categories: [";
      for (std::size_t i = 0; i < attribute.categories.size(); ++i) {
        out += (i == 0 ? "" : ", ") + double_quoted(attribute.categories[i]);
      }
      out += "]";
    }
    if (!attribute.bins.empty())
      out += fmt::format(", bins: [{}]", fmt::join(attribute.bins, ", "));
    out += "}\n";
  }
  return out;
}

}  // namespace fairlane
