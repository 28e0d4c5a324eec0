// constraints: of a domain file.
#include "models/data/constraints_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "base/text.h"
#include "models/data/raw_form_yaml.h"

namespace fairlane {
namespace {

constexpr std::int64_t kNoLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNoMost = std::numeric_limits<std::int64_t>::max();

// Reads the entries of one file.
class ConstraintReader {
 public:
  ConstraintReader(std::string const& source, Domain const& domain)
      : source_(source), domain_(domain) {}

  Constraint read(YamlNode const& node, std::string const& what) const {
    static std::vector<std::string> const kKeys = {
        "if", "then", "sum", "at_least", "at_most", "from_data", "combinations", "rows"};
    if (node.kind != YamlNode::Kind::kMap || node.keys.empty()) {
      fail(node, fmt::format("{} is {}, expected a map such as {{if: {{a: 1}}, then: {{b: 2}}}}",
                             what, shown(node)));
    }
    check_yaml_keys(source_, node, kKeys);
    Constraint constraint;
    if (node.find("if") != nullptr || node.find("then") != nullptr) {
      read_implication(node, what, constraint);
    } else if (node.find("sum") != nullptr) {
      read_sum(node, what, constraint);
    } else if (YamlNode const* const from_data = node.find("from_data")) {
      only_keys(node, {"from_data"});
      constraint.kind = ConstraintKind::kCombinations;
      constraint.from_data = true;
      constraint.attributes = attribute_list(*from_data, what + ".from_data");
    } else if (node.find("combinations") != nullptr) {
      read_combinations(node, what, constraint);
    } else {
      fail(node, fmt::format("{} has {} alone, expected if and then, sum, from_data, or "
                             "combinations and rows",
                             what, node.keys.front().scalar));
    }
    constraint.place = fmt::format("{}:{}:{}", escaped(source_, 4096), node.line, node.column);
    return constraint;
  }

 private:
  [[noreturn]] void fail(YamlNode const& node, std::string const& what) const {
    fail_yaml(source_, node, what);
  }

  static std::string shown(YamlNode const& node) {
    if (node.kind == YamlNode::Kind::kSequence && node.items.empty()) return "an empty list";
    if (node.kind == YamlNode::Kind::kMap && node.items.empty()) return "an empty map";
    return node.shown();
  }

  // Keys of one kind of constraint do not go with another's.
  void only_keys(YamlNode const& node, std::vector<std::string> const& keys) const {
    for (YamlNode const& key : node.keys) {
      if (std::ranges::find(keys, key.scalar) != keys.end()) continue;
      fail(key, fmt::format("key {} stands beside {}, expected {} alone", in_quotes(key.scalar),
                            keys.front(), fmt::join(keys, ", ")));
    }
  }

  YamlNode const& needed(YamlNode const& node, std::string const& key, std::string const& what,
                         char const* expected) const {
    YamlNode const* const found = node.find(key);
    if (found == nullptr) fail(node, fmt::format("{} has no {}, expected {}", what, key, expected));
    return *found;
  }

  int attribute_of(YamlNode const& name, std::string const& what) const {
    if (name.kind != YamlNode::Kind::kScalar)
      fail(name, fmt::format("{} is {}, expected an attribute's name", what, shown(name)));
    int const attribute = domain_.find(name.scalar);
    if (attribute >= 0) return attribute;
    std::vector<std::string> names;
    for (Attribute const& one : domain_.attributes) names.push_back(one.name);
    fail(name, fmt::format("{}: {} is no attribute, expected one of those above{}", what,
                           in_quotes(name.scalar), did_you_mean(name.scalar, names)));
  }

  // A word wins over a number: what has words is spoken of in words.
  std::int32_t code_of(YamlNode const& node, std::string const& what,
                       Attribute const& attribute) const {
    bool const has_words = !attribute.categories.empty() || !attribute.bins.empty();
    std::vector<std::string> words;
    if (has_words && node.kind == YamlNode::Kind::kScalar) {
      for (std::int64_t i = 0; i < attribute.code_count(); ++i) {
        std::int32_t const code = attribute.code_at(i);
        words.push_back(attribute.word(code));
        if (words.back() == node.scalar) return code;
      }
    }
    std::string const codes = attribute.codes_text();
    std::string const expected =
        !attribute.categories.empty()
            ? fmt::format("a category of {} or its code, {}", in_quotes(attribute.name), codes)
        : has_words ? fmt::format("a bin of {} or its code, {}", in_quotes(attribute.name), codes)
                    : fmt::format("a code, {}", codes);
    auto const value = node.integer();
    if (!value) {
      std::string hint =
          node.kind == YamlNode::Kind::kScalar ? did_you_mean(node.scalar, words) : std::string();
      if (hint.empty() && node.quoted && !has_words) hint = "; remove the quotes";
      fail(node, fmt::format("{} is {}, expected {}{}", what, shown(node), expected, hint));
    }
    bool const fits = *value >= -kMaxCode && *value <= kMaxCode;
    if (!fits || !attribute.allows(static_cast<std::int32_t>(*value)))
      fail(node, fmt::format("{} is {}, expected {}", what, *value, expected));
    return static_cast<std::int32_t>(*value);
  }

  // One past the codes that exist is a limit, too: it says that none or all of them are meant.
  std::int32_t code_limit(YamlNode const& node, std::string const& what) const {
    auto const value = node.integer();
    constexpr std::int64_t kMost = std::int64_t{kMaxCode} + 1;
    if (!value || *value < -kMost || *value > kMost) {
      fail(node,
           fmt::format("{} is {}, expected a code, {}..{}", what, shown(node), -kMost, kMost));
    }
    return static_cast<std::int32_t>(*value);
  }

  std::vector<CodeInterval> code_list(YamlNode const& node, std::string const& what,
                                      Attribute const& attribute) const {
    std::vector<CodeInterval> ranges;
    if (node.kind == YamlNode::Kind::kScalar) {
      std::int32_t const code = code_of(node, what, attribute);
      ranges.push_back({code, code});
    } else {
      for (YamlNode const& item : node.items) {
        std::int32_t const code =
            code_of(item, fmt::format("{}[{}]", what, ranges.size()), attribute);
        ranges.push_back({code, code});
      }
    }
    if (ranges.empty()) {
      fail(node, fmt::format("{} is {}, expected a value, a list of them, or {{at_least: CODE, "
                             "at_most: CODE, not: VALUES}}",
                             what, shown(node)));
    }
    return ranges;
  }

  std::vector<CodeInterval> code_ranges(YamlNode const& node, std::string const& what,
                                        Attribute const& attribute,
                                        std::vector<std::string> const& keys) const {
    if (node.kind != YamlNode::Kind::kMap || node.keys.empty())
      return settled_ranges(code_list(node, what, attribute), attribute);
    check_yaml_keys(source_, node, keys);
    CodeInterval range;
    YamlNode const* const least = node.find("at_least");
    YamlNode const* const most = node.find("at_most");
    if (least != nullptr) range.from = code_limit(*least, what + ".at_least");
    if (most != nullptr) range.to = code_limit(*most, what + ".at_most");
    if (range.from > range.to) {
      fail(*least, fmt::format("{} has at_least {} > at_most {}", what, range.from, range.to));
    }
    YamlNode const* const excluded = node.find("not");
    if (excluded == nullptr) return settled_ranges({range}, attribute);
    // What lies in the range and not among the excluded is outside of both others.
    std::vector<CodeInterval> outside =
        code_ranges(*excluded, what + ".not", attribute, {"at_least", "at_most"});
    for (CodeInterval const& one : other_ranges({range}, attribute)) outside.push_back(one);
    return other_ranges(settled_ranges(std::move(outside), attribute), attribute);
  }

  std::vector<CodeCondition> read_conditions(YamlNode const& node, std::string const& what) const {
    if (node.kind != YamlNode::Kind::kMap || node.keys.empty()) {
      fail(node, fmt::format("{} is {}, expected attributes and their values, such as "
                             "{{age: {{at_most: 17}}}}",
                             what, shown(node)));
    }
    std::vector<CodeCondition> conditions;
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
      int const attribute = attribute_of(node.keys[i], what);
      conditions.push_back(
          {attribute,
           code_ranges(node.items[i], fmt::format("{}: {}", what, in_quotes(node.keys[i].scalar)),
                       domain_.attributes[static_cast<std::size_t>(attribute)],
                       {"at_least", "at_most", "not"})});
    }
    return conditions;
  }

  void read_implication(YamlNode const& node, std::string const& what,
                        Constraint& constraint) const {
    char const* const expected = "both if and then";
    YamlNode const& when = needed(node, "if", what, expected);
    YamlNode const& then = needed(node, "then", what, expected);
    only_keys(node, {"if", "then"});
    constraint.when = read_conditions(when, what + ".if");
    constraint.then = read_conditions(then, what + ".then");
    for (std::size_t i = 0; i < then.keys.size(); ++i) {
      if (when.find(then.keys[i].scalar) == nullptr) continue;
      fail(then.keys[i], fmt::format("{}.then speaks of {} as if does, expected another attribute",
                                     what, in_quotes(then.keys[i].scalar)));
    }
  }

  std::int64_t whole(YamlNode const& node, std::string const& what) const {
    if (auto const value = node.integer()) return *value;
    char const* const hint =
        node.number() ? "; scale it: multiply all factors and bounds by the same number" : "";
    fail(node, fmt::format("{} is {}, expected a whole number{}", what, shown(node), hint));
  }

  void read_sum(YamlNode const& node, std::string const& what, Constraint& constraint) const {
    constraint.kind = ConstraintKind::kSum;
    YamlNode const& sum = *node.find("sum");
    only_keys(node, {"sum", "at_least", "at_most"});
    if (sum.kind != YamlNode::Kind::kMap || sum.keys.empty()) {
      fail(sum, fmt::format("{}.sum is {}, expected attributes and their factors, such as "
                            "{{age: 1, years: -1}}",
                            what, shown(sum)));
    }
    for (std::size_t i = 0; i < sum.keys.size(); ++i) {
      int const attribute = attribute_of(sum.keys[i], what + ".sum");
      std::string const name = fmt::format("{}.sum: {}", what, in_quotes(sum.keys[i].scalar));
      std::int64_t const factor = whole(sum.items[i], name);
      if (factor == 0 || factor < -kMaxCode || factor > kMaxCode) {
        fail(sum.items[i], fmt::format("{} is {}, expected a factor of {}..{} other than 0", name,
                                       factor, -kMaxCode, kMaxCode));
      }
      constraint.terms.push_back({attribute, static_cast<std::int32_t>(factor)});
    }
    YamlNode const* const least = node.find("at_least");
    YamlNode const* const most = node.find("at_most");
    if (least == nullptr && most == nullptr)
      fail(node, fmt::format("{} has neither at_least nor at_most, expected a bound", what));
    if (least != nullptr) constraint.least = whole(*least, what + ".at_least");
    if (most != nullptr) constraint.most = whole(*most, what + ".at_most");
    if (constraint.least > constraint.most) {
      fail(*least,
           fmt::format("{} has at_least {} > at_most {}", what, constraint.least, constraint.most));
    }
  }

  std::vector<int> attribute_list(YamlNode const& node, std::string const& what) const {
    if (node.kind != YamlNode::Kind::kSequence || node.items.size() < 2) {
      fail(node, fmt::format("{} is {}, expected at least two attributes, such as [a, b]", what,
                             node.kind == YamlNode::Kind::kSequence
                                 ? fmt::format("a list of {}", node.items.size())
                                 : shown(node)));
    }
    std::vector<int> attributes;
    for (YamlNode const& item : node.items) {
      int const attribute = attribute_of(item, fmt::format("{}[{}]", what, attributes.size()));
      if (std::ranges::find(attributes, attribute) != attributes.end())
        fail(item, fmt::format("{} lists {} twice", what, in_quotes(item.scalar)));
      attributes.push_back(attribute);
    }
    return attributes;
  }

  void read_combinations(YamlNode const& node, std::string const& what,
                         Constraint& constraint) const {
    constraint.kind = ConstraintKind::kCombinations;
    only_keys(node, {"combinations", "rows"});
    constraint.attributes = attribute_list(*node.find("combinations"), what + ".combinations");
    std::size_t const width = constraint.attributes.size();
    std::string const expected = fmt::format("a list of rows of {} values", width);
    YamlNode const& rows = needed(node, "rows", what, expected.c_str());
    if (rows.kind != YamlNode::Kind::kSequence || rows.items.empty())
      fail(rows, fmt::format("{}.rows is {}, expected {}", what, shown(rows), expected));
    for (std::size_t r = 0; r < rows.items.size(); ++r) {
      YamlNode const& row = rows.items[r];
      std::string const name = fmt::format("{}.rows[{}]", what, r);
      if (row.kind != YamlNode::Kind::kSequence || row.items.size() != width) {
        fail(row, fmt::format("{} is {}, expected a list of {} values", name,
                              row.kind == YamlNode::Kind::kSequence
                                  ? fmt::format("a list of {}", row.items.size())
                                  : shown(row),
                              width));
      }
      for (std::size_t i = 0; i < width; ++i) {
        auto const& attribute =
            domain_.attributes[static_cast<std::size_t>(constraint.attributes[i])];
        constraint.rows.push_back(code_of(row.items[i], fmt::format("{}[{}]", name, i), attribute));
      }
    }
    constraint.rows = distinct_rows(constraint.rows, width);
  }

  std::string const& source_;
  Domain const& domain_;
};

Attribute const& attribute_at(Domain const& domain, int attribute) {
  return domain.attributes[static_cast<std::size_t>(attribute)];
}

std::string value_text(Attribute const& attribute, std::int32_t code) {
  bool const has_words = !attribute.categories.empty() || !attribute.bins.empty();
  return has_words ? format_name_yaml(attribute.word(code)) : std::to_string(code);
}

// Codes that may occur in ranges whose ends are known.
std::vector<std::int32_t> codes_in(std::vector<CodeInterval> const& ranges,
                                   Attribute const& attribute) {
  std::vector<std::int32_t> codes;
  for (CodeInterval const& range : ranges) {
    for (std::int64_t code = range.from; code <= range.to; ++code) {
      if (attribute.allows(static_cast<std::int32_t>(code)))
        codes.push_back(static_cast<std::int32_t>(code));
    }
  }
  return codes;
}

double span_of(std::vector<CodeInterval> const& ranges) {
  double span = 0.0;
  for (CodeInterval const& range : ranges) span += static_cast<double>(range.to) - range.from + 1.0;
  return span;
}

std::string limits_text(CodeInterval const& range) {
  CodeInterval const open;
  std::string text;
  if (range.from != open.from) text += fmt::format("at_least: {}", range.from);
  if (range.to != open.to) text += fmt::format("{}at_most: {}", text.empty() ? "" : ", ", range.to);
  return text;
}

std::string list_text(std::vector<std::int32_t> const& codes, Attribute const& attribute) {
  std::string text;
  for (std::int32_t const code : codes)
    text += (text.empty() ? "" : ", ") + value_text(attribute, code);
  return codes.size() == 1 ? text : "[" + text + "]";
}

// Values by name where they are few or have words; else by their limits, and what lies between them
// is excluded.
std::string condition_yaml(CodeCondition const& condition, Attribute const& attribute) {
  constexpr double kListed = 8;
  auto const& ranges = condition.ranges;
  if (ranges.empty() && !attribute.high && attribute.low)
    return fmt::format("{{at_most: {}}}", *attribute.low - 1);
  if (ranges.empty()) return fmt::format("{{at_least: {}}}", attribute.high.value_or(kMaxCode) + 1);
  CodeInterval const all{ranges.front().from, ranges.back().to};
  std::vector<CodeInterval> gaps;
  for (std::size_t i = 1; i < ranges.size(); ++i)
    gaps.push_back({ranges[i - 1].to + 1, ranges[i].from - 1});
  bool const has_words = !attribute.categories.empty() || !attribute.bins.empty();
  double const span = span_of(ranges);
  bool const is_all = attribute.low == all.from && attribute.high == all.to && gaps.empty();
  double const listed = std::max(kListed, span_of(gaps) * (has_words ? 2 : 1));
  if (!is_all && span <= listed) return list_text(codes_in(ranges, attribute), attribute);
  std::string text = limits_text(all);
  if (text.empty() && gaps.empty()) text = fmt::format("at_least: {}", -kMaxCode);
  if (gaps.size() == 1 && span_of(gaps) > kListed) {
    text += fmt::format("{}not: {{{}}}", text.empty() ? "" : ", ", limits_text(gaps.front()));
  } else if (!gaps.empty()) {
    text += fmt::format("{}not: {}", text.empty() ? "" : ", ",
                        list_text(codes_in(gaps, attribute), attribute));
  }
  return "{" + text + "}";
}

std::string conditions_yaml(std::vector<CodeCondition> const& conditions, Domain const& domain) {
  std::string text;
  for (CodeCondition const& condition : conditions) {
    Attribute const& attribute = attribute_at(domain, condition.attribute);
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", format_name_yaml(attribute.name),
                        condition_yaml(condition, attribute));
  }
  return "{" + text + "}";
}

}  // namespace

std::vector<Constraint> read_constraints_yaml(std::string const& source, YamlNode const& node,
                                              Domain const& domain) {
  if (node.kind != YamlNode::Kind::kSequence || node.items.empty()) {
    fail_yaml(source, node,
              fmt::format("constraints is {}, expected a list such as [{{if: {{a: 1}}, then: {{b: "
                          "2}}}}]",
                          node.kind == YamlNode::Kind::kSequence ? "an empty list" : node.shown()));
  }
  ConstraintReader const reader(source, domain);
  std::vector<Constraint> constraints;
  for (YamlNode const& item : node.items)
    constraints.push_back(reader.read(item, fmt::format("constraints[{}]", constraints.size())));
  return constraints;
}

std::string format_constraint_yaml(Constraint const& constraint, Domain const& domain) {
  std::string names;
  switch (constraint.kind) {
    case ConstraintKind::kImplication:
      return fmt::format("{{if: {}, then: {}}}", conditions_yaml(constraint.when, domain),
                         conditions_yaml(constraint.then, domain));
    case ConstraintKind::kSum: {
      for (SumTerm const& term : constraint.terms)
        names +=
            fmt::format("{}{}: {}", names.empty() ? "" : ", ",
                        format_name_yaml(attribute_at(domain, term.attribute).name), term.factor);
      std::string text = fmt::format("{{sum: {{{}}}", names);
      if (constraint.least != kNoLeast) text += fmt::format(", at_least: {}", constraint.least);
      if (constraint.most != kNoMost) text += fmt::format(", at_most: {}", constraint.most);
      return text + "}";
    }
    case ConstraintKind::kCombinations:
      break;
  }
  for (int const attribute : constraint.attributes)
    names += (names.empty() ? "" : ", ") + format_name_yaml(attribute_at(domain, attribute).name);
  if (constraint.from_data) return fmt::format("{{from_data: [{}]}}", names);
  std::string rows;
  std::size_t const width = constraint.attributes.size();
  for (std::size_t at = 0; at < constraint.rows.size(); at += width) {
    std::string row;
    for (std::size_t i = 0; i < width; ++i)
      row += (i == 0 ? "" : ", ") +
             value_text(attribute_at(domain, constraint.attributes[i]), constraint.rows[at + i]);
    rows += fmt::format("{}[{}]", at == 0 ? "" : ", ", row);
  }
  return fmt::format("{{combinations: [{}], rows: [{}]}}", names, rows);
}

}  // namespace fairlane
