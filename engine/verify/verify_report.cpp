#include "engine/verify/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/check/double_evaluator.h"
#include "engine/verify/certificate.h"
#include "engine/verify/recorded_query.h"

namespace fairlane {
namespace {

constexpr std::array kReasons = {"",          "boxes",  "seconds",
                                 "undefined", "margin", "empty"};  // by CellReason

std::string const& name_of(VerifyReport const& report, std::size_t attribute) {
  return report.subject.domain().attributes[attribute].name;
}

/// What makes the label of two people: one output itself; of several, by how much the higher
/// label's is greater than the lower's.
template <class T>
double lead_of(T const* outputs, int count, std::span<std::int32_t const> labels) {
  if (count == 1) return static_cast<double>(outputs[0]);
  return static_cast<double>(outputs[labels[0]]) - static_cast<double>(outputs[labels[1]]);
}

template <class T>
std::int32_t label_of(T const* outputs, int count, double threshold) {
  if (count == 1) return static_cast<double>(outputs[0]) > threshold ? 1 : 0;
  return static_cast<std::int32_t>(std::max_element(outputs, outputs + count) - outputs);
}

}  // namespace

std::string cells_csv(VerifyReport const& report) {
  std::string text = "cell";
  for (std::size_t a = 0; a < report.domain.attributes(); ++a) {
    for (char const* end : {"_low", "_high"}) text += "," + csv_cell(name_of(report, a) + end);
  }
  text += ",verdict,reason,boxes\n";
  for (std::int64_t cell = 0; cell < report.cells.count(); ++cell) {
    fmt::format_to(std::back_inserter(text), "{}", cell);
    for (AxisRange const& values : report.cells.values(cell))
      fmt::format_to(std::back_inserter(text), ",{},{}", values.first, values.last);
    CellState const& state = report.queue.states()[static_cast<std::size_t>(cell)];
    fmt::format_to(std::back_inserter(text), ",{},{},{}\n",
                   kVerdictWords[static_cast<std::size_t>(state.verdict)],
                   kReasons[static_cast<std::size_t>(state.reason)], state.boxes);
  }
  return text;
}

std::string counterexamples_csv(VerifyReport const& report, std::int64_t& float32_only) {
  auto const& subject = report.subject;
  std::vector<std::int32_t> beside = subject.selected();
  for (RelaxedBy const& relaxed : report.options.relaxed)
    beside.push_back(subject.domain().find(relaxed.attribute));
  std::string text = "cell";
  for (std::size_t a = 0; a < report.domain.attributes(); ++a)
    text += "," + csv_cell(name_of(report, a));
  for (std::int32_t const a : beside)
    text += "," + csv_cell("pair_" + name_of(report, static_cast<std::size_t>(a)));
  text += ",label,pair_label,logit,pair_logit,double_logit,pair_double_logit,double_agrees\n";
  // An ensemble adds up in the precision of its library; there is no second opinion.
  std::optional<DoubleEvaluator> evaluator;
  if (!subject.model().scorer()) {
    evaluator.emplace(subject.model().network("verify"), &subject.domain());
  }
  std::size_t const width = report.domain.attributes();
  int const outputs = subject.model().outputs();
  double const threshold = outputs == 1 ? static_cast<double>(subject.view().threshold) : 0.0;
  std::vector<std::int32_t> rows(2 * width);
  std::vector<float> logits(2 * static_cast<std::size_t>(outputs));
  float32_only = 0;
  for (auto const& [cell, example] : report.queue.examples()) {
    report.domain.row(example.entries, example.pair.upper, rows.data());
    report.domain.row(example.other, example.pair.lower, &rows[width]);
    report.rows.logits(rows.data(), 2, logits.data());
    fmt::format_to(std::back_inserter(text), "{}", cell);
    for (std::size_t a = 0; a < width; ++a)
      fmt::format_to(std::back_inserter(text), ",{}", rows[a]);
    for (std::int32_t const a : beside)
      fmt::format_to(std::back_inserter(text), ",{}", rows[width + static_cast<std::size_t>(a)]);
    std::int32_t labels[2];
    for (int side = 0; side < 2; ++side) {
      labels[side] =
          label_of(&logits[static_cast<std::size_t>(side * outputs)], outputs, threshold);
      fmt::format_to(std::back_inserter(text), ",{}", labels[side]);
    }
    for (int side = 0; side < 2; ++side) {
      float const* const z = &logits[static_cast<std::size_t>(side * outputs)];
      fmt::format_to(std::back_inserter(text), ",{:.9g}", lead_of(z, outputs, labels));
    }
    if (!evaluator) {
      text += ",,,\n";
      continue;
    }
    bool agrees = true;
    for (std::size_t side = 0; side < 2; ++side) {
      evaluator->evaluate(&rows[side * width]);
      double const* const z = evaluator->logits().data();
      fmt::format_to(std::back_inserter(text), ",{:.17g}", lead_of(z, outputs, labels));
      agrees = agrees && label_of(z, outputs, threshold) == labels[side];
    }
    float32_only += agrees ? 0 : 1;
    text += agrees ? ",yes\n" : ",no\n";
  }
  return text;
}

std::string certificate_of(VerifyReport const& report, std::string const& manifest,
                           std::vector<std::pair<std::string, std::string>> const& results) {
  CertificateHead head;
  head.manifest_digest = sha256(manifest);
  for (auto const& [name, text] : results) head.files.emplace_back(name, result_digest(name, text));
  for (std::size_t a = 0; a < report.domain.axes(); ++a) {
    head.axes.emplace_back();
    for (int const attribute : report.domain.axis(a).attributes)
      head.axes.back().push_back(name_of(report, static_cast<std::size_t>(attribute)));
  }
  head.cells = report.cells.count();
  return certificate_text(head, [&](std::int64_t cell) -> CertifiedCell {
    using Verdict = CertifiedCell::Verdict;
    switch (report.queue.states()[static_cast<std::size_t>(cell)].verdict) {
      case CellVerdict::kFair:
        return {Verdict::kFair, report.queue.proof(cell)};
      case CellVerdict::kUnfair:
        return {Verdict::kUnfair, {}};
      default:
        return {Verdict::kUnknown, {}};
    }
  });
}

std::string verify_summary_json(VerifyReport const& report) {
  std::int64_t sat = 0;
  std::int64_t unsat = 0;
  std::int64_t unknown = 0;
  std::int64_t empty = 0;
  Json reasons = Json::object();
  for (CellState const& state : report.queue.states()) {
    switch (state.verdict) {
      case CellVerdict::kUnfair:
        ++sat;
        break;
      case CellVerdict::kFair:
        ++unsat;
        empty += state.reason == CellReason::kEmpty ? 1 : 0;
        break;
      default: {
        ++unknown;
        char const* const reason = kReasons[static_cast<std::size_t>(state.reason)];
        reasons[reason] = reasons.value(reason, std::int64_t{0}) + 1;
      }
    }
  }
  Json names = Json::array();
  for (std::int32_t const s : report.subject.selected())
    names.push_back(name_of(report, static_cast<std::size_t>(s)));
  Json json;
  json["method"] = kVerifyMethod;
  json["protected"] = names;
  json["variants"] = report.domain.variants();
  record_rules(report.options, json);
  json["verdict"] = sat > 0 ? "sat" : unknown > 0 ? "unknown" : "unsat";
  json["cells"] = {{"sat", sat}, {"unsat", unsat}, {"unknown", unknown}};
  if (unknown > 0) json["unknown_by"] = reasons;
  if (empty > 0) json["empty_cells"] = empty;
  json["counterexamples"] = {{"all", sat}, {"float32_only", report.float32_only}};
  if (!report.against.is_null()) json["against"] = report.against;
  auto const of = [&](BoxVerdict verdict) {
    return report.queue.by_verdict()[static_cast<std::size_t>(verdict)];
  };
  json["boxes"] = {{"all", report.queue.boxes()},
                   {"unfair", of(BoxVerdict::kUnfair)},
                   {"fair_merged", of(BoxVerdict::kMerged)},
                   {"fair_by_variant", of(BoxVerdict::kVariants)},
                   {"fair_by_unit", of(BoxVerdict::kSplit)},
                   {"fair_enumerated", of(BoxVerdict::kEnumerated) + of(BoxVerdict::kKinds)},
                   {"undefined", of(BoxVerdict::kUndefined)},
                   {"within_margin", of(BoxVerdict::kWithinMargin)},
                   {"empty", of(BoxVerdict::kEmpty)},
                   {"split", of(BoxVerdict::kOpen)}};
  if (report.shares) {
    CertainShares const& shares = *report.shares;
    constexpr double kConfidence = 0.95;
    ShareInterval const sample = shares.interval(kConfidence);
    json["shares"] = {{"groups", shares.groups},
                      {"fair", shares.share_of(shares.fair)},
                      {"unfair", shares.share_of(shares.unfair)},
                      {"undecided", shares.share_of(shares.undecided())},
                      {"boxes", shares.boxes},
                      {"sample",
                       {{"groups", shares.sampled},
                        {"unfair", share_of(shares.unfair_samples, shares.sampled)},
                        {"low", sample.low},
                        {"high", sample.high},
                        {"confidence", kConfidence}}}};
  }
  json["timing"] = {{"search_seconds", report.search_seconds},
                    {"total_seconds", report.total_seconds}};
  return json.dump(2) + "\n";
}

}  // namespace fairlane
