#include "models/data/raw_form_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "base/text.h"
#include "models/data/csv_scanner.h"

namespace fairlane {
namespace {

/// Words that are looked through for every cell.
constexpr std::size_t kMaxMissing = 100;

std::string read_word(std::string const& source, YamlNode const& node, std::string const& what) {
  if (node.kind != YamlNode::Kind::kScalar || node.scalar.empty())
    fail_yaml(source, node, fmt::format("{} is {}, expected a name", what, node.shown()));
  return node.scalar;
}

char read_separator(std::string const& source, YamlNode const& node) {
  std::string keys;
  for (Separator const& one : kSeparators) {
    if (node.kind == YamlNode::Kind::kScalar && node.scalar == one.key) return one.character;
    keys += fmt::format("{}\"{}\"", keys.empty() ? "" : ", ", one.key);
  }
  fail_yaml(source, node,
            fmt::format("raw: separator is {}, expected one of {}", node.shown(), keys));
}

/// Fails at a mark for missing values that is also a value.
void check_mark(std::string const& source, YamlNode const& node, std::string const& mark,
                Domain const& domain) {
  for (Attribute const& attribute : domain.attributes) {
    if (std::ranges::count(attribute.categories, mark) > 0) {
      fail_yaml(source, node,
                fmt::format("raw: missing lists {}, which is a category of {}, expected one or the "
                            "other",
                            in_quotes(mark), in_quotes(attribute.name)));
    }
  }
  for (LabelName const& one : domain.labels) {
    if (one.text == mark)
      fail_yaml(source, node,
                fmt::format("raw: missing lists {}, which is one of the labels, "
                            "expected one or the other",
                            in_quotes(mark)));
  }
}

bool is_plain(std::string const& text) {
  std::unordered_set<std::string> const kReserved = {"null", "true", "false", "yes", "no",
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

}  // namespace

RawForm read_raw_form_yaml(std::string const& source, YamlNode const& node) {
  static std::vector<std::string> const kKeys = {"separator", "columns", "missing", "label"};
  if (node.kind != YamlNode::Kind::kMap) {
    fail_yaml(
        source, node,
        fmt::format("raw is {}, expected a map such as {{separator: \";\", missing: [\"?\"]}}",
                    node.shown()));
  }
  check_yaml_keys(source, node, kKeys);
  RawForm form;
  if (YamlNode const* const separator = node.find("separator"))
    form.separator = read_separator(source, *separator);
  if (YamlNode const* const columns = node.find("columns"))
    form.columns = read_names_yaml(source, *columns, "raw: columns");
  if (YamlNode const* const missing = node.find("missing"))
    form.missing = read_names_yaml(source, *missing, "raw: missing");
  if (form.missing.size() > kMaxMissing) {
    fail_yaml(source, *node.find("missing"),
              fmt::format("raw: missing lists {} words, expected at most {}", form.missing.size(),
                          kMaxMissing));
  }
  if (YamlNode const* const label = node.find("label"))
    form.label = read_word(source, *label, "raw: label");
  return form;
}

void read_raw_keys_yaml(std::string const& source, YamlNode const& node, std::string const& what,
                        Attribute& attribute) {
  if (YamlNode const* const column = node.find("column"))
    attribute.column = read_word(source, *column, what + ": column");
  if (YamlNode const* const missing = node.find("missing")) {
    attribute.imputes = missing->kind == YamlNode::Kind::kScalar && missing->scalar == "mode";
    if (!attribute.imputes &&
        (missing->kind != YamlNode::Kind::kScalar || missing->scalar != "refuse")) {
      fail_yaml(source, *missing,
                fmt::format("{}: missing is {}, expected refuse, or mode: the most frequent value",
                            what, missing->shown()));
    }
  }
  if (attribute.bins.empty()) return;
  for (std::string const& name : attribute.categories) {
    std::int32_t number = 0;
    if (parse_code(name, number) == CodeCell::kNo) continue;
    fail_yaml(source, *node.find("categories"),
              fmt::format("{}: categories has {}, expected names of bins that are no numbers", what,
                          in_quotes(name)));
  }
}

void check_raw_form_yaml(std::string const& source, YamlNode const& root, Domain const& domain) {
  YamlNode const* const raw = root.find("raw");
  YamlNode const& attributes = *root.find("attributes");
  auto const& columns = domain.raw.columns;
  std::unordered_set<std::string> const listed(columns.begin(), columns.end());
  // A table without a header row has the columns that the file lists.
  auto const check_listed = [&](YamlNode const& place, std::string const& what,
                                std::string const& column) {
    if (columns.empty() || listed.contains(column)) return;
    fail_yaml(source, place,
              fmt::format("{} has the raw column {}, which raw: columns does not list{}", what,
                          in_quotes(column), did_you_mean(column, columns)));
  };
  std::map<std::string, std::string> owners;
  if (domain.names_label) owners[domain.raw_label()] = "the label";
  for (std::size_t i = 0; i < domain.attributes.size(); ++i) {
    Attribute const& attribute = domain.attributes[i];
    YamlNode const& item = attributes.items[i];
    YamlNode const* const column = item.find("column");
    YamlNode const& place = column != nullptr ? *column : item;
    std::string const what = fmt::format("attribute {}", in_quotes(attribute.name));
    auto const [owner, is_new] = owners.emplace(attribute.raw_column(), what);
    if (!is_new) {
      fail_yaml(source, place,
                fmt::format("{} has the raw column {} of {}, expected one of its own", what,
                            in_quotes(attribute.raw_column()), owner->second));
    }
    check_listed(place, what, attribute.raw_column());
  }
  if (raw == nullptr) return;
  YamlNode const* const label = raw->find("label");
  if (domain.names_label)
    check_listed(label != nullptr ? *label : *raw, "the label", domain.raw_label());
  if (YamlNode const* const missing = raw->find("missing")) {
    for (YamlNode const& item : missing->items) check_mark(source, item, item.scalar, domain);
  }
}

std::string format_raw_form_yaml(RawForm const& form) {
  std::string text;
  auto const add = [&](char const* key, std::string const& value) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value);
  };
  auto const list = [](std::vector<std::string> const& names) {
    std::string names_text;
    for (std::string const& name : names)
      names_text += (names_text.empty() ? "" : ", ") + format_name_yaml(name);
    return "[" + names_text + "]";
  };
  if (form.separator != ',') add("separator", format_name_yaml(separator_of(form.separator).key));
  if (!form.columns.empty()) add("columns", list(form.columns));
  if (!form.missing.empty()) add("missing", list(form.missing));
  if (!form.label.empty()) add("label", format_name_yaml(form.label));
  return "{" + text + "}";
}

std::vector<std::string> read_names_yaml(std::string const& source, YamlNode const& node,
                                         std::string const& what) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    fail_yaml(source, node,
              fmt::format("{} is {}, expected a list of names", what,
                          node.kind == YamlNode::Kind::kSequence ? "an empty list" : node.shown()));
  }
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (YamlNode const& item : node.items) {
    names.push_back(read_word(source, item, fmt::format("{}[{}]", what, names.size())));
    if (!seen.insert(names.back()).second) {
      fail_yaml(source, item, fmt::format("{} lists {} twice", what, in_quotes(names.back())));
    }
  }
  return names;
}

std::string format_quoted_yaml(std::string_view text) {
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

std::string format_name_yaml(std::string const& text) {
  return is_plain(text) ? text : format_quoted_yaml(text);
}

}  // namespace fairlane
