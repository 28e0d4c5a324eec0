#include "engine/check/instance_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "engine/check/double_evaluator.h"
#include "engine/check/scorer_evaluator.h"

namespace fairlane {
namespace {

constexpr double kScoreTolerance =
    1.0e-6;                              // relative; sigmoid and softmax are within 1 ulp = 1.2e-7
constexpr double kScoreFloor = 1.0e-44;  // float32 has no smaller numbers to tell apart

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

InstanceChecker::InstanceChecker(TestSubject const& subject, InstanceFile const& file)
    : subject_(subject), file_(file), attributes_(subject.domain().attributes.size()) {}

template <class Value>
std::int64_t InstanceChecker::variant_of(Value const& value) const {
  std::int64_t variant = 0;
  for (std::size_t s = 0; s < subject_.values().size(); ++s) {
    auto const& values = subject_.values()[s];
    auto const found = std::lower_bound(values.begin(), values.end(), value(s));
    if (found == values.end() || *found != value(s)) return -1;
    variant = variant * static_cast<std::int64_t>(values.size()) + (found - values.begin());
  }
  return variant;
}

std::int64_t InstanceChecker::pair_variant_of(InstanceRecord const& record) const {
  return variant_of([&](std::size_t s) { return record.pair[s]; });
}

void InstanceChecker::set_variant(std::int64_t variant, std::int32_t* row) const {
  auto const& values = subject_.values();
  for (std::size_t s = values.size(); s-- > 0;) {
    auto const count = static_cast<std::int64_t>(values[s].size());
    row[subject_.selected()[s]] = values[s][static_cast<std::size_t>(variant % count)];
    variant /= count;
  }
}

std::unique_ptr<RowEvaluator> InstanceChecker::make_evaluator() const {
  auto const& scorer = subject_.model().scorer();
  auto const& domain = subject_.domain();
  if (scorer) return std::make_unique<ScorerEvaluator>(*scorer, domain, asking_);
  return std::make_unique<DoubleEvaluator>(subject_.model().network("check"), &domain);
}

std::vector<std::int32_t> InstanceChecker::members_of(InstanceBlock const& block) const {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> member(attributes_);
  auto const take = [&](std::int64_t, InstanceRecord const& record) {
    rows.insert(rows.end(), record.row, record.row + attributes_);
    member.assign(record.row, record.row + attributes_);
    std::int64_t const last =
        record.pair == nullptr ? subject_.variants() - 1 : pair_variant_of(record);
    for (std::int64_t v = 0; v <= last; ++v) {
      set_variant(v, member.data());
      rows.insert(rows.end(), member.begin(), member.end());
    }
  };
  file_.parse(block, take, [](std::int64_t, char const*) {});  // check() tells what is wrong
  return rows;
}

std::string InstanceChecker::wrong_score(float stated, std::int32_t label, char const* what,
                                         RowEvaluator const& evaluator) const {
  double tolerance = 0.0;
  double const score = evaluator.score(label, tolerance);
  tolerance += kScoreTolerance * score + kScoreFloor;
  if (std::abs(static_cast<double>(stated) - score) <= tolerance) return {};
  return fmt::format("{} is {}, expected {} within {:.2g}", what, stated, score, tolerance);
}

std::string InstanceChecker::wrong_undefined(CertainLabel const& found, char const* what,
                                             std::int32_t stated, Doubt& doubt) {
  if (found.certain)
    return fmt::format("{} is {}, expected none: the output is not finite", what, stated);
  doubt.undefined = true;
  return {};
}

std::string InstanceChecker::wrong_member(InstanceRecord const& record,
                                          std::vector<std::int32_t>& member, std::int64_t own,
                                          std::int64_t pair, RowEvaluator& evaluator,
                                          Doubt& doubt) const {
  auto const threshold = static_cast<double>(subject_.view().threshold);
  // The members before the pair must have the instance's label, the pair itself another.
  for (std::int64_t v = 0; v <= pair; ++v) {
    if (v == own) continue;
    set_variant(v, member.data());
    evaluator.evaluate(member.data());
    auto const found = evaluator.label(threshold);
    if (!found.certain) doubt.close = true;
    if (!exists(member.data())) {
      if (v != pair) continue;
      return "the pair violates a constraint of the domain";
    }
    if (v == pair) {
      if (found.label == kNoLabel)
        return wrong_undefined(found, "pair_label", record.pair_label, doubt);
      if (found.certain && found.label != record.pair_label) {
        return fmt::format("pair_label is {}, expected {}", record.pair_label, found.label);
      }
      if (!file_.columns().has_scores()) return {};
      return wrong_score(record.pair_score, record.pair_label, "pair_score", evaluator);
    }
    if (found.certain && found.label != record.label && found.label != kNoLabel) {
      return "the pair is not the first similar input in product order that has another label";
    }
  }
  return {};
}

std::string InstanceChecker::wrong_input(InstanceRecord const& record, std::int64_t own,
                                         RowEvaluator& evaluator, Doubt& doubt) const {
  auto const threshold = static_cast<double>(subject_.view().threshold);
  evaluator.evaluate(record.row);
  auto const found = evaluator.label(threshold);
  if (found.label == kNoLabel) {
    doubt.undefined = !found.certain;
    return found.certain ? "the output is not finite" : "";
  }
  bool is_close = !found.certain;
  std::vector<std::int32_t> member(record.row, record.row + attributes_);
  for (std::int64_t v = 0; v < subject_.variants(); ++v) {
    if (v == own) continue;
    set_variant(v, member.data());
    evaluator.evaluate(member.data());
    auto const other = evaluator.label(threshold);
    if (!exists(member.data())) continue;
    bool const differs = other.label != found.label && other.label != kNoLabel;
    if (found.certain && other.certain && differs) return {};
    if (!other.certain) is_close = true;
  }
  doubt.close = is_close;
  return is_close ? "" : "no similar input has another label";
}

std::string InstanceChecker::problem_of(InstanceRecord const& record, RowEvaluator& evaluator,
                                        std::int64_t& pair_variant, Doubt& doubt) const {
  for (std::size_t a = 0; a < attributes_; ++a) {
    Attribute const& attribute = subject_.domain().attributes[a];
    if (!attribute.allows(record.row[a])) {
      return fmt::format("{} is {}, expected {}", escaped(attribute.name, 60), record.row[a],
                         attribute.codes_text());
    }
  }
  for (Constraint const& constraint : subject_.domain().constraints) {
    if (!satisfies(constraint, record.row))
      return "violates " + constraint_text(constraint, subject_.domain());
  }
  if (!subject_.is_plausible(record.row))
    return "is less plausible than plausibility.at_least asks for";
  auto const outputs = static_cast<std::int32_t>(std::max(2, evaluator.outputs()));
  if (file_.columns().has_votes()) {
    std::int32_t const voted = record.voted_label;
    if (voted < 0 || voted >= outputs)
      return fmt::format("voted_label {} is none of {} classes", voted, outputs);
    if (!(record.vote > 0.0F && record.vote <= 1.0F))
      return fmt::format("vote is {}, expected a share above 0 up to 1", record.vote);
  }
  auto const own = variant_of(
      [&](std::size_t s) { return record.row[static_cast<std::size_t>(subject_.selected()[s])]; });
  if (own < 0) return "a protected value is not among the compared ones";
  if (!file_.columns().has_labels()) return wrong_input(record, own, evaluator, doubt);
  pair_variant = pair_variant_of(record);
  if (pair_variant < 0) return "a protected value of the pair is not among the compared ones";
  if (own == pair_variant) return "the pair is the instance itself";
  if (record.label == record.pair_label) return fmt::format("both labels are {}", record.label);

  evaluator.evaluate(record.row);
  auto const found = evaluator.label(static_cast<double>(subject_.view().threshold));
  if (!found.certain) doubt.close = true;
  if (found.label == kNoLabel) return wrong_undefined(found, "label", record.label, doubt);
  if (found.certain && found.label != record.label) {
    return fmt::format("label is {}, expected {}", record.label, found.label);
  }
  for (std::int32_t const label : {record.label, record.pair_label}) {
    if (label < 0 || label >= outputs)
      return fmt::format("label {} is none of {} classes", label, outputs);
  }
  if (file_.columns().has_scores()) {
    std::string problem = wrong_score(record.score, record.label, "score", evaluator);
    if (!problem.empty()) return problem;
  }
  std::vector<std::int32_t> member(record.row, record.row + attributes_);
  return wrong_member(record, member, own, pair_variant, evaluator, doubt);
}

bool InstanceChecker::in_order(std::int32_t const* before, std::int32_t const* row,
                               std::int64_t number, CheckResult& result) const {
  auto const order =
      std::lexicographical_compare_three_way(before, before + attributes_, row, row + attributes_);
  if (order < 0) return true;
  result.fail(
      fmt::format("{}: {}", file_.place(number),
                  order == 0 ? "the instance occurs twice" : "the instance is out of order"));
  return false;
}

void InstanceChecker::put_record(InstanceRecord const& record, std::int32_t pair_variant,
                                 std::string& records) const {
  InstanceColumns const& columns = file_.columns();
  if (columns.has_scores()) {
    records.append(reinterpret_cast<char const*>(record.row), attributes_ * sizeof(std::int32_t));
    records.append(reinterpret_cast<char const*>(&pair_variant), sizeof(pair_variant));
    records.append(reinterpret_cast<char const*>(&record.finder), sizeof(record.finder));
    return;
  }
  InstanceColumn const* column = columns.all().data();
  append_cells(records, CellForm::kBinary, record.row, column, attributes_);
  if (!columns.has_labels()) return;
  column += attributes_;
  append_cells(records, CellForm::kBinary, record.pair, column, columns.selected());
  column += columns.selected();
  append_cells(records, CellForm::kBinary, &record.label, column, 1);
  append_cells(records, CellForm::kBinary, &record.pair_label, column + 1, 1);
}

void InstanceChecker::check(InstanceBatch& batch) const {
  if (!batch.evaluator) batch.evaluator = make_evaluator();
  batch.result = {};
  batch.records.clear();
  batch.groups.clear();
  batch.first.clear();
  batch.last.clear();
  CheckResult& result = batch.result;
  std::vector<std::uint8_t> selected(attributes_);
  for (std::int32_t const a : subject_.selected()) selected[static_cast<std::size_t>(a)] = 1;
  if (batch.evaluator->wants_batches()) batch.evaluator->announce(members_of(batch.block));
  auto const take = [&](std::int64_t number, InstanceRecord const& record) {
    ++result.instances;
    bool ordered = true;
    if (batch.first.empty()) {
      batch.first.assign(record.row, record.row + attributes_);
      batch.first_number = number;
    } else {
      ordered = in_order(batch.last.data(), record.row, number, result);
    }
    batch.last.assign(record.row, record.row + attributes_);
    std::int64_t pair = -1;
    Doubt doubt;
    std::string const problem = problem_of(record, *batch.evaluator, pair, doubt);
    if (!problem.empty()) {
      if (ordered) result.fail(fmt::format("{}: {}", file_.place(number), problem));
    } else if (doubt.undefined) {
      ++result.undefined;
    } else if (doubt.close) {
      ++result.marginal;
      if (result.marginals.size() < CheckResult::kListed) {
        result.marginals.push_back(fmt::format(
            "{}: within float32's error of the decision boundary", file_.place(number)));
      }
    } else if (ordered) {
      ++result.confirmed;
    }
    put_record(record, static_cast<std::int32_t>(pair), batch.records);
    GroupHash hash{0x9E3779B97F4A7C15ULL, 0xD1B54A32D192ED03ULL};
    for (std::size_t a = 0; a < attributes_; ++a) {
      if (selected[a] != 0) continue;
      auto const value = static_cast<std::uint32_t>(record.row[a]);
      hash.a = mix(hash.a ^ value);
      hash.b = mix(hash.b + value * 0xA24BAED4963EE407ULL + a);
    }
    if (batch.groups.empty() || batch.groups.back() != hash) batch.groups.push_back(hash);
  };
  file_.parse(batch.block, take, [&](std::int64_t number, char const* what) {
    ++result.instances;
    result.fail(fmt::format("{}: {}", file_.place(number), what));
  });
}

}  // namespace fairlane
