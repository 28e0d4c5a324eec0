// Domain files: name, label, labels?, raw?, attributes: [{name, low, high, values?, protected,
// immutable?, encoding?, categories?, bins?, column?, missing?}], constraints?.
#include "models/data/domain_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "base/formats/strict_yaml.h"
#include "base/text.h"
#include "models/data/constraints_yaml.h"
#include "models/data/encoding_yaml.h"
#include "models/data/raw_form_yaml.h"
#include "models/network.h"

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

/// More edges than a person tells apart.
constexpr std::size_t kMaxEdges = 4096;

std::vector<double> read_bins(std::string const& source, YamlNode const& node,
                              std::string const& what) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.size() < 2) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected at least two bin edges", what,
                          node.kind == YamlNode::Kind::kSequence
                              ? fmt::format("a list of {}", node.items.size())
                              : node.shown()));
  }
  if (node.items.size() > kMaxEdges) {
    fail_yaml(
        source, node,
        fmt::format("{} lists {} edges, expected at most {}", what, node.items.size(), kMaxEdges));
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

bool read_flag(std::string const& source, YamlNode const& node, std::string const& what) {
  auto const value = node.boolean();
  if (!value)
    fail_yaml(source, node, fmt::format("{} is {}, expected true or false", what, node.shown()));
  return *value;
}

// Categories name the codes low, low + 1, ..., and bins number them, so they settle whichever bound
// is absent. key: "categories" or "bins"; things: what there are `count` of.
void settle_bounds(std::string const& source, YamlNode const& node, std::string const& what,
                   char const* key, char const* things, std::int64_t count, Attribute& attribute) {
  if (attribute.low && attribute.high) {
    std::int64_t const codes = attribute.code_count();
    if (count != codes) {
      fail_yaml(source, node,
                fmt::format("{}.{} lists {} {}, expected {} for the codes {}", what, key, count,
                            things, codes, attribute.codes_text()));
    }
    return;
  }
  std::int64_t const low = attribute.low    ? std::int64_t{*attribute.low}
                           : attribute.high ? std::int64_t{*attribute.high} - count + 1
                                            : 0;
  std::int64_t const high = low + count - 1;
  if (low < -kMaxCode || high > kMaxCode) {
    fail_yaml(source, node,
              fmt::format("{}.{} gives codes {}..{}, expected {}..{}", what, key, low, high,
                          -kMaxCode, kMaxCode));
  }
  attribute.low = static_cast<std::int32_t>(low);
  attribute.high = static_cast<std::int32_t>(high);
}

// {no: 0, yes: 1}: what the cells of the label column mean.
std::vector<LabelName> read_labels(std::string const& source, YamlNode const& node) {
  if (node.kind != YamlNode::Kind::kMap || node.keys.empty()) {
    fail_yaml(
        source, node,
        fmt::format("labels is {}, expected the class of every cell of the label column, such "
                    "as {{no: 0, yes: 1}}",
                    node.kind == YamlNode::Kind::kMap ? "an empty map" : node.shown()));
  }
  std::vector<LabelName> labels;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    std::string const what = fmt::format("labels: {}", in_quotes(node.keys[i].scalar));
    std::int32_t const label = read_code(source, node.items[i], what);
    if (label < 0) {
      fail_yaml(source, node.items[i],
                fmt::format("{} is {}, expected a class number 0, 1, ...", what, label));
    }
    labels.push_back({node.keys[i].scalar, label});
  }
  return labels;
}

Attribute read_attribute(std::string const& source, YamlNode const& node, std::size_t index) {
  static std::vector<std::string> const kKeys = {"name",      "low",       "high",     "values",
                                                 "protected", "immutable", "encoding", "categories",
                                                 "bins",      "column",    "missing"};
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
    attribute.categories = read_names_yaml(source, *categories, what + ": categories");
    settle_bounds(source, *categories, what, "categories", "names",
                  static_cast<std::int64_t>(attribute.categories.size()), attribute);
  }
  if (YamlNode const* const bins = node.find("bins")) {
    attribute.bins = read_bins(source, *bins, what + ": bins");
    settle_bounds(source, *bins, what, "bins", "bins",
                  static_cast<std::int64_t>(attribute.bins.size()) - 1, attribute);
  }
  read_raw_keys_yaml(source, node, what, attribute);
  if (YamlNode const* const encoding = node.find("encoding")) {
    attribute.encoding = read_encoding_yaml(source, *encoding, what + ": encoding");
    check_encoding_yaml(source, *encoding, what + ": encoding", attribute);
  }
  return attribute;
}

}  // namespace

Domain read_domain_yaml(std::string const& path) {
  return parse_domain_yaml(read_file(path, kMaxBytes), path);
}

Domain parse_domain_yaml(std::string const& text, std::string const& source) {
  static std::vector<std::string> const kKeys = {"name", "label",      "labels",
                                                 "raw",  "attributes", "constraints"};
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
  if (YamlNode const* const labels = root.find("labels"))
    domain.labels = read_labels(source, *labels);
  if (YamlNode const* const raw = root.find("raw")) domain.raw = read_raw_form_yaml(source, *raw);
  domain.names_label =
      root.find("label") != nullptr || !domain.labels.empty() || !domain.raw.label.empty();

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
    if (name == domain.label && domain.names_label) {
      fail_yaml(source, item,
                fmt::format("attribute {} is also the label column", in_quotes(name)));
    }
  }
  check_raw_form_yaml(source, root, domain);
  if (YamlNode const* const constraints = root.find("constraints"))
    domain.constraints = read_constraints_yaml(source, *constraints, domain);
  return domain;
}

std::string format_domain_yaml(Domain const& domain) {
  std::string out;
  if (!domain.name.empty()) out += fmt::format("name: {}\n", format_name_yaml(domain.name));
  if (domain.names_label || domain.label != Domain().label)
    out += fmt::format("label: {}\n", format_name_yaml(domain.label));
  if (!domain.labels.empty()) {
    std::string labels;
    for (LabelName const& one : domain.labels)
      labels += fmt::format("{}{}: {}", labels.empty() ? "" : ", ", format_name_yaml(one.text),
                            one.label);
    out += fmt::format("labels: {{{}}}\n", labels);
  }
  if (domain.raw != RawForm()) out += fmt::format("raw: {}\n", format_raw_form_yaml(domain.raw));
  out += "attributes:\n";
  for (Attribute const& attribute : domain.attributes) {
    out += fmt::format("  - {{name: {}", format_name_yaml(attribute.name));
    if (!attribute.values.empty()) {
      out += fmt::format(", values: [{}]", fmt::join(attribute.values, ", "));
    } else {
      if (attribute.low) out += fmt::format(", low: {}", *attribute.low);
      if (attribute.high) out += fmt::format(", high: {}", *attribute.high);
    }
    if (attribute.is_protected) out += ", protected: true";
    if (attribute.immutable) out += ", immutable: true";
    if (attribute.encoding.kind != EncodingKind::kIdentity)
      out += ", encoding: " + format_encoding_yaml(attribute.encoding);
    if (!attribute.categories.empty()) {
      out += ", categories: [";
      for (std::size_t i = 0; i < attribute.categories.size(); ++i) {
        out += (i == 0 ? "" : ", ") + format_quoted_yaml(attribute.categories[i]);
      }
      out += "]";
    }
    if (!attribute.bins.empty())
      out += fmt::format(", bins: [{}]", fmt::join(attribute.bins, ", "));
    if (!attribute.column.empty())
      out += fmt::format(", column: {}", format_name_yaml(attribute.column));
    if (attribute.imputes) out += ", missing: mode";
    out += "}\n";
  }
  if (!domain.constraints.empty()) out += "constraints:\n";
  for (Constraint const& constraint : domain.constraints)
    out += fmt::format("  - {}\n", format_constraint_yaml(constraint, domain));
  return out;
}

}  // namespace fairlane
