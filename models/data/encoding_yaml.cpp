// encoding: of an attribute in a domain file.
#include "models/data/encoding_yaml.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "models/data/domain.h"
#include "models/network.h"

namespace fairlane {
namespace {

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

}  // namespace

Encoding read_encoding_yaml(std::string const& source, YamlNode const& node,
                            std::string const& what) {
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

void check_encoding_yaml(std::string const& source, YamlNode const& node, std::string const& what,
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

std::string format_encoding_yaml(Encoding const& encoding) {
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

}  // namespace fairlane
