#include "engine/recheck/checked_example.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "engine/recheck/exact_label.h"
#include "engine/recheck/smooth_enclosure.h"

namespace fairlane {
namespace {

constexpr std::size_t kAfter = 7;  // labels, outputs, whether double precision agrees

std::optional<std::int32_t> number_of(std::string_view text) {
  std::int32_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One output itself; of several, by how much the first label's is above the second's.
template <class T>
double lead_of(std::vector<T> const& outputs, std::int32_t const* labels) {
  if (outputs.size() == 1) return static_cast<double>(outputs[0]);
  auto const of = [&](int side) {
    return static_cast<double>(outputs[static_cast<std::size_t>(labels[side])]);
  };
  return of(0) - of(1);
}

/// Zeros have no sign that shows.
bool is_number(std::string_view text, std::string const& expected) {
  return text == expected ||
         ((text == "0" || text == "-0") && (expected == "0" || expected == "-0"));
}

}  // namespace

ExampleChecker::ExampleChecker(TestSubject const& subject, BoxDomain const& domain,
                               Cells const& cells, std::vector<RelaxedAttribute> relaxed,
                               std::function<bool(std::size_t)> compares, double threshold)
    : subject_(subject),
      domain_(domain),
      cells_(cells),
      relaxed_(std::move(relaxed)),
      compares_(std::move(compares)),
      threshold_(threshold),
      contract_(make_contract_label(subject)) {
  if (subject.model().scorer()) return;
  network_ = &subject.model().network("verify --check");
  has_smooth_ =
      std::ranges::any_of(network_->layers.begin(), network_->layers.end() - 1,
                          [](DenseLayer const& layer) { return is_smooth(layer.activation); });
  in_double_.emplace(*network_, &subject.domain());
}

std::string ExampleChecker::header() const {
  auto const& attributes = subject_.domain().attributes;
  std::string text = "cell";
  for (Attribute const& attribute : attributes) text += "," + csv_cell(attribute.name);
  for (std::int32_t const s : subject_.selected())
    text += "," + csv_cell("pair_" + attributes[static_cast<std::size_t>(s)].name);
  for (RelaxedAttribute const& relaxed : relaxed_) {
    text += "," + csv_cell("pair_" + attributes[static_cast<std::size_t>(relaxed.attribute)].name);
  }
  return text + ",label,pair_label,logit,pair_logit,double_logit,pair_double_logit,double_agrees";
}

ExampleOutcome ExampleChecker::check(std::int64_t cell,
                                     std::vector<std::string_view> const& words) {
  ExampleOutcome outcome;
  outcome.problem = read_rows(cell, words);
  if (outcome.problem.empty()) outcome.problem = violated();
  if (outcome.problem.empty())
    outcome.problem = compare_outputs(&words[words.size() - kAfter], outcome);
  return outcome;
}

std::string ExampleChecker::read_rows(std::int64_t cell,
                                      std::vector<std::string_view> const& words) {
  auto const& attributes = subject_.domain().attributes;
  auto const& selected = subject_.selected();
  std::size_t const width = attributes.size();
  std::size_t const expected = 1 + width + selected.size() + relaxed_.size() + kAfter;
  if (words.size() != expected)
    return fmt::format("has {} columns, expected {}", words.size(), expected);
  if (words[0] != std::to_string(cell))
    return fmt::format("is of cell {}, expected {}", in_quotes(words[0]), cell);
  auto const bounds = cells_.values(cell);
  // Of the two, who is compared with the cell's may be somewhat beyond it.
  auto const beyond = [&](std::size_t a) {
    Attribute const& attribute = attributes[a];
    std::int64_t const by = apart(a);
    std::int64_t const low = attribute.code_at(0);
    std::int64_t const high = attribute.code_at(attribute.code_count() - 1);
    return fmt::format("{}{} to {}", by == 0 ? "a value of the cell, " : "",
                       std::max(bounds[a].first - by, low), std::min(bounds[a].last + by, high));
  };
  auto const code_of = [&](std::string_view word, std::size_t a) {
    auto const code = number_of(word);
    std::int64_t const by = apart(a);
    bool const is_value = code && attributes[a].allows(*code) && *code >= bounds[a].first - by &&
                          *code <= bounds[a].last + by;
    return is_value ? code : std::nullopt;
  };
  rows_[0].clear();
  for (std::size_t a = 0; a < width; ++a) {
    auto const code = code_of(words[1 + a], a);
    if (!code) {
      return fmt::format("{} is {}, expected {}", in_quotes(attributes[a].name),
                         in_quotes(words[1 + a]), beyond(a));
    }
    rows_[0].push_back(*code);
  }
  rows_[1] = rows_[0];
  std::size_t differing = 0;
  for (std::size_t s = 0; s < selected.size(); ++s) {
    auto const a = static_cast<std::size_t>(selected[s]);
    std::string_view const word = words[1 + width + s];
    auto const code = code_of(word, a);
    auto const& values = subject_.values()[s];
    if (!code || std::ranges::count(values, *code) == 0) {
      return fmt::format("pair_{} is {}, expected {}", escaped(attributes[a].name), in_quotes(word),
                         beyond(a));
    }
    if (std::ranges::count(values, rows_[0][a]) == 0) {
      return fmt::format("{} is {}, expected a value that is compared",
                         in_quotes(attributes[a].name), rows_[0][a]);
    }
    differing += *code != rows_[0][a] ? 1 : 0;
    rows_[1][a] = *code;
  }
  for (std::size_t r = 0; r < relaxed_.size(); ++r) {
    auto const a = static_cast<std::size_t>(relaxed_[r].attribute);
    std::string_view const word = words[1 + width + selected.size() + r];
    auto const code = code_of(word, a);
    auto const refuse = [&](std::string const& wanted) {
      return fmt::format("pair_{} is {}, expected {}", escaped(attributes[a].name), in_quotes(word),
                         wanted);
    };
    if (!code) return refuse(beyond(a));
    if (std::abs(std::int64_t{*code} - rows_[0][a]) > relaxed_[r].by)
      return refuse(fmt::format("at most {} from {}", relaxed_[r].by, rows_[0][a]));
    rows_[1][a] = *code;
  }
  GroupBox const own = cells_.box(cell);
  GroupBox all;
  for (std::size_t i = 0; i < domain_.axes(); ++i)
    all.push_back({0, static_cast<std::int32_t>(domain_.axis(i).size()) - 1});
  bool const found = (is_group_of(own, rows_[0]) && is_group_of(all, rows_[1])) ||
                     (is_group_of(all, rows_[0]) && is_group_of(own, rows_[1]));
  if (!found)
    return "is not in the region: its combination of values does not occur there, or is beyond a "
           "limit";
  if (!compares_(differing)) {
    return fmt::format(
        "the two differ in {} of {} attributes under test, and are not compared in this query",
        differing, selected.size());
  }
  return "";
}

std::string ExampleChecker::violated() const {
  for (int side = 0; side < 2; ++side) {
    for (Constraint const& constraint : subject_.domain().constraints) {
      if (satisfies(constraint, rows_[side].data())) continue;
      return fmt::format("the {} of the two does not exist: it violates \"{}\"",
                         side == 0 ? "first" : "second",
                         constraint_text(constraint, subject_.domain()));
    }
  }
  return "";
}

std::int32_t ExampleChecker::apart(std::size_t attribute) const {
  for (RelaxedAttribute const& relaxed : relaxed_)
    if (static_cast<std::size_t>(relaxed.attribute) == attribute) return relaxed.by;
  return 0;
}

bool ExampleChecker::is_group_of(GroupBox const& box, std::vector<std::int32_t> const& row) const {
  std::vector<std::int32_t> entries;
  for (std::size_t i = 0; i < domain_.axes(); ++i) {
    ValueList const& list = domain_.axis(i);
    std::vector<std::int32_t> values;
    for (int const a : list.attributes) values.push_back(row[static_cast<std::size_t>(a)]);
    bool found = false;
    for (std::int32_t entry = box[i].first; entry <= box[i].last && !found; ++entry) {
      auto const at = static_cast<std::size_t>(entry) * values.size();
      found = std::ranges::equal(values, std::span(list.values).subspan(at, values.size()));
      if (found) entries.push_back(entry);
    }
    if (!found) return false;
  }
  return domain_.excess(entries) == 0;
}

std::string ExampleChecker::compare_outputs(std::string_view const* words,
                                            ExampleOutcome& outcome) {
  std::int32_t labels[2];
  std::vector<float> outputs[2];
  for (int side = 0; side < 2; ++side) {
    labels[side] = (*contract_)(rows_[side].data()).label;
    outputs[side] = contract_->outputs();
  }
  std::vector<std::string> expected;
  for (auto const& of_side : outputs)
    expected.push_back(fmt::format("{:.9g}", lead_of(of_side, labels)));
  if (network_ == nullptr) {
    expected.insert(expected.end(), 3, "");
  } else if (std::string problem = compare_in_double(labels, expected, outcome); !problem.empty()) {
    return problem;
  }
  for (int side = 0; side < 2; ++side) {
    if (number_of(words[side]) != labels[side] || labels[side] < 0) {
      return fmt::format("{} is {}, expected {}, the label of its outputs",
                         side == 0 ? "label" : "pair_label", in_quotes(words[side]), labels[side]);
    }
  }
  if (labels[0] <= labels[1])
    return fmt::format("label {} and {}, expected the higher one first", labels[0], labels[1]);
  constexpr char const* kColumns[] = {"logit", "pair_logit", "double_logit", "pair_double_logit",
                                      "double_agrees"};
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    if (!is_number(words[2 + i], expected[i])) {
      return fmt::format("{} is {}, expected {}", kColumns[i], in_quotes(words[2 + i]),
                         in_quotes(expected[i]));
    }
  }
  return "";
}

std::string ExampleChecker::compare_in_double(std::int32_t const* labels,
                                              std::vector<std::string>& expected,
                                              ExampleOutcome& outcome) {
  for (int side = 0; side < 2; ++side) {
    in_double_->evaluate(rows_[side].data());
    std::vector<double> const z = in_double_->logits();
    CertainLabel const found = in_double_->label(threshold_);
    if (found.certain && found.label != labels[side]) {
      return fmt::format("label {} in float32, but {} in double precision beyond any rounding",
                         labels[side], found.label);
    }
    expected.push_back(fmt::format("{:.17g}", lead_of(z, labels)));
    auto const label = z.size() == 1
                           ? static_cast<std::int32_t>(z[0] > threshold_ ? 1 : 0)
                           : static_cast<std::int32_t>(std::ranges::max_element(z) - z.begin());
    outcome.disagrees = outcome.disagrees || label != labels[side];
    if (found.certain) continue;
    outcome.marginal = true;
    std::vector<double> inputs;
    subject_.domain().encode(rows_[side].data(), inputs);
    std::int32_t const real = has_smooth_ ? label : exact_label(*network_, inputs, threshold_);
    outcome.float32_only = outcome.float32_only || real != labels[side];
  }
  expected.emplace_back(outcome.disagrees ? "no" : "yes");
  return "";
}

}  // namespace fairlane
