#include "engine/report/proof_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "engine/report/command_words.h"
#include "engine/report/results_words.h"

namespace fairlane::report {
namespace {

std::vector<ShareLine> no_shares(Json const&) { return {}; }

// verify

std::string cells_words(std::int64_t count) {
  return fmt::format("{} {}", with_commas(count), count == 1 ? "cell" : "cells");
}

ResultVerdict verify_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::string const verdict = summary.at("verdict").get<std::string>();
  std::string const region = region_words(digest);
  std::string const where = region.empty() ? "" : " " + region;
  std::string const beside = present(summary, "relaxed") == nullptr ? "" : " and what was relaxed";
  if (verdict == "sat")
    return {"Decisions differ",
            fmt::format(
                "{}{}, a decision changes in {}{}; counterexamples.csv has an example of each.",
                changes_with(digest), beside, cells_words(whole_at(summary, "cells.sat")), where)};
  if (verdict == "unsat")
    return {"Proven fair",
            fmt::format("{}{}, nobody's decision changes{}: that is proven for all inputs.",
                        changes_with(digest), beside, where)};
  return {"Not known", fmt::format("{}{}, no decision was found to change{}, and that none does is "
                                   "not proven for all cells.",
                                   changes_with(digest), beside, where)};
}

std::vector<ShareLine> verify_shares(Json const& digest) {
  Json const& summary = digest.at("summary");
  double const sat = share_at(summary, "cells.sat");
  double const unsat = share_at(summary, "cells.unsat");
  double const unknown = share_at(summary, "cells.unknown");
  double const all = std::max(1.0, sat + unsat + unknown);
  std::vector<ShareLine> lines;
  for (auto const& [of, cells] : {std::pair("cells with an example of unfair treatment (sat)", sat),
                                  std::pair("cells that are proven fair (unsat)", unsat),
                                  std::pair("cells that are not known (unknown)", unknown)}) {
    double const share = cells / all;
    lines.push_back(
        share_line(of, share, share, share,
                   fmt::format("{} of {}", with_commas(static_cast<std::int64_t>(cells)),
                               with_commas(static_cast<std::int64_t>(all)))));
  }
  Json const* const shares = present(summary, "shares");
  if (shares == nullptr) return lines;
  for (auto const& [of, name] : {std::pair("profiles that are proven unfair", "unfair"),
                                 std::pair("profiles that are proven fair", "fair"),
                                 std::pair("profiles that are not decided", "undecided")}) {
    double const share = share_at(*shares, name);
    lines.push_back(share_line(of, share, share, share, "certain"));
  }
  Json const& sample = shares->at("sample");
  lines.push_back(share_line("profiles that are unfair", share_at(sample, "low"),
                             share_at(sample, "unfair"), share_at(sample, "high"),
                             interval_words(share_at(sample, "low"), share_at(sample, "high"),
                                            present(sample, "confidence")) +
                                 fmt::format(", by a sample of {}", count_at(sample, "groups"))));
  return lines;
}

Facts verify_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  Facts facts = {{"boxes examined", count_at(summary, "boxes.all")}};
  if (Json const* const against = present(summary, "against"))
    facts.emplace_back(
        "against the other results",
        fmt::format("{} cells became fair, {} unfair; {} stayed fair, {} unfair",
                    count_at(*against, "became_fair"), count_at(*against, "became_unfair"),
                    count_at(*against, "stayed_fair"), count_at(*against, "stayed_unfair")));
  return facts;
}

std::vector<std::string> verify_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits;
  if (std::string const region = region_words(digest); !region.empty())
    limits.push_back(fmt::format("Nothing but the inputs {} was examined.", region));
  if (Json const* const reasons = present(summary, "unknown_by")) {
    for (auto const& [reason, cells] : reasons->items()) {
      char const* const why = reason == "boxes"     ? "their boxes were spent (--boxes)"
                              : reason == "seconds" ? "the seconds were spent (budget.seconds)"
                              : reason == "margin"  ? "they are fair by less than the margin"
                                                    : "an output is no finite number";
      limits.push_back(fmt::format("{} cells are not known: {}.", count_words(cells), why));
    }
  }
  if (whole_at(summary, "counterexamples.float32_only") > 0)
    limits.push_back(
        fmt::format("{} of {} examples hold in float32 alone, not in double "
                    "precision.",
                    count_at(summary, "counterexamples.float32_only"),
                    count_at(summary, "counterexamples.all")));
  if (whole_at(summary, "empty_cells") > 0)
    limits.push_back(
        fmt::format("{} of the fair cells have nobody in them.", count_at(summary, "empty_cells")));
  if (whole_at(summary, "cells.sat") > 0)
    limits.emplace_back(
        "A cell with an example is not unfair throughout: the example says that there is one.");
  return limits;
}

// compare

/// The method with the most profiles on average; null where none found any.
Json const* best_method(Json const& summary) {
  Json const* best = nullptr;
  double most = 0.0;
  for (Json const& method : summary.at("methods")) {
    double const mean = share_at(method, "measures.unique_groups.mean");
    if (mean > most) best = &method;
    most = std::max(most, mean);
  }
  return best;
}

std::string budget_words(Json const& summary) {
  std::vector<std::string> parts;
  if (Json const* const budget = present(summary, "budget")) {
    for (auto const& [name, value] : budget->items())
      parts.push_back(fmt::format("{} {}", count_words(value), plain(name)));
  }
  return listed(parts);
}

ResultVerdict compare_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  Json const* const best = best_method(summary);
  std::string const budget = fmt::format("a budget of {}, over {} seeds", budget_words(summary),
                                         count_at(summary, "repeats"));
  if (best == nullptr)
    return {"No difference found", fmt::format("With {}, no method found anybody.", budget)};
  return {fmt::format("{} finds the most", text_of(*best, "method")),
          fmt::format("With {}, {} finds {} profiles on average for whom the decision changes with "
                      "nothing changed but {}.",
                      budget, text_of(*best, "method"),
                      short_count(share_at(*best, "measures.unique_groups.mean")),
                      protected_words(digest))};
}

Facts compare_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  return {{"methods", std::to_string(summary.at("methods").size())},
          {"budget of each", budget_words(summary)},
          {"seeds", count_at(summary, "repeats")},
          {"held against", text_of(summary, "reference")}};
}

std::vector<std::string> compare_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits = {
      "This compares methods with one another; it says neither how many people are affected nor "
      "whom."};
  if (present(summary, "too_few_repeats") != nullptr)
    limits.push_back(
        fmt::format("So few seeds cannot show a difference at the level of {}: {} are "
                    "needed.",
                    share_at(summary, "too_few_repeats.significance"),
                    count_at(summary, "too_few_repeats.needed")));
  for (Json const& method : summary.at("methods")) {
    if (whole_at(method, "ran_out_of_inputs") > 0)
      limits.push_back(
          fmt::format("{} ran out of inputs before its budget was spent, with {} of "
                      "the seeds.",
                      text_of(method, "method"), count_at(method, "ran_out_of_inputs")));
  }
  return limits;
}

// retrain

bool is_export(Json const& summary) { return summary.contains("exported"); }

ResultVerdict retrain_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  if (is_export(summary))
    return {"Rows to learn from", "They were written for another program; nothing was trained."};
  ShareLine const before = domain_share_line("", summary.at("before").at("fairness").at("joint"));
  if (present(summary, "taken") == nullptr)
    return {"No candidate is better",
            fmt::format("{}, the decision changes for {} of all inputs of the original; none of "
                        "the candidates is fairer and keeps what was asked for.",
                        changes_with(digest), before.share)};
  ShareLine const after = domain_share_line("", summary.at("after").at("fairness").at("joint"));
  return {"A fairer model",
          fmt::format("{}, the decision changed for {} of all inputs before, and for {} after.",
                      changes_with(digest), before.share, after.share)};
}

std::vector<ShareLine> retrain_shares(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<ShareLine> lines;
  for (char const* const side : {"before", "after"}) {
    Json const* const model = present(summary, side);
    if (model == nullptr) continue;
    lines.push_back(domain_share_line(fmt::format("all possible inputs, {}", side),
                                      model->at("fairness").at("joint")));
  }
  return lines;
}

Facts retrain_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  if (is_export(summary))
    return {{"rows of the table", count_at(summary, "exported.rows")},
            {"rows added", count_at(summary, "exported.added_rows")}};
  Facts facts;
  if (std::string const recipe = text_of(summary, "recipe"); !recipe.empty())
    facts.emplace_back("recipe", recipe);
  facts.emplace_back(
      "rows",
      fmt::format("{} learnt from, {} for validation, {} held out", count_at(summary, "rows.train"),
                  count_at(summary, "rows.validation"), count_at(summary, "rows.test")));
  for (Json const& round : list_of(summary, "rounds"))
    facts.emplace_back("inputs found to learn from", count_at(round, "unique_instances"));
  return facts;
}

std::vector<std::string> retrain_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits;
  if (is_export(summary)) return limits;
  if (summary.at("target_reached") == false) limits.emplace_back("The target was not reached.");
  limits.emplace_back(
      "The original may have learnt from the rows that were held out, so that its accuracy there "
      "may be too good.");
  if (present(summary, "after") != nullptr) {
    // What was not aimed at may have become worse.
    Json const& before = list_of(summary.at("before").at("fairness"), "others");
    Json const& after = list_of(summary.at("after").at("fairness"), "others");
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      double const was = share_at(before[i], "share.share");
      double const is = share_at(after[i], "share.share");
      if (is > was)
        limits.push_back(fmt::format(
            "By {} more are affected than before: {} of all inputs, not "
            "{}.",
            listed(texts_of(after[i].at("protected"))), fine_percent(is), fine_percent(was)));
    }
  }
  for (ShareLine const& line : retrain_shares(digest)) {
    if (!line.examined) limits.push_back(fmt::format("The share of {} was not measured.", line.of));
    if (line.low != line.high)
      limits.push_back(fmt::format("The share of {} is an estimate with an interval.", line.of));
  }
  return limits;
}

// sweep

ResultVerdict sweep_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::int64_t affected = 0;
  for (Json const& cell : summary.at("cells")) {
    bool is_any = false;
    for (Json const& row : list_of(cell, "figures"))
      is_any = is_any || share_at(row, "unique_groups") > 0.0 || share_at(row, "cells_sat") > 0.0;
    affected += is_any ? 1 : 0;
  }
  std::string text = fmt::format("{} of {} cells are done", count_at(summary, "counts.done"),
                                 count_at(summary, "counts.cells"));
  if (whole_at(summary, "counts.failed") > 0)
    text += fmt::format(", {} have failed", count_at(summary, "counts.failed"));
  text += fmt::format(
      "; in {} of them a decision changes with nothing changed but what is "
      "protected.",
      with_commas(affected));
  return {affected > 0 ? "Decisions differ" : "No difference found", text};
}

Facts sweep_counts(Json const& digest) {
  Facts facts;
  for (auto const& [name, count] : digest.at("summary").at("counts").items()) {
    if (count != 0) facts.emplace_back(plain(name), count_words(count));
  }
  return facts;
}

std::vector<std::string> sweep_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits = {"Each cell has limits of its own; its directory has them."};
  for (char const* const state : {"failed", "waiting", "running"}) {
    std::string const path = std::string("counts.") + state;
    if (whole_at(summary, path) > 0)
      limits.push_back(
          fmt::format("{} cells are {}, and not in the figures.", count_at(summary, path), state));
  }
  return limits;
}

// audit, beside other results

ResultVerdict audit_verdict(Json const& digest) {
  Json const& audit = digest.at("summary");
  return {verdict_words(audit),
          plain(audit.at("verdict").at("text").get<std::string>(), std::string::npos)};
}

std::vector<ShareLine> audit_shares(Json const& digest) {
  std::vector<ShareLine> lines;
  for (Json const& set : digest.at("summary").at("sets")) {
    for (ShareLine line : share_lines(set)) {
      line.of = fmt::format("{}, by {}", line.of, set_words(set));
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Facts audit_counts(Json const& digest) {
  return {{"people in the table", count_at(digest.at("summary"), "rows")}};
}

std::vector<std::string> audit_limits(Json const& digest) {
  std::vector<std::string> limits = {
      "An audit has a page of its own, which says against whom, where, and who."};
  for (Json const& set : digest.at("summary").at("sets")) {
    for (std::string const& limit : limits_of(set)) limits.push_back(set_words(set) + ": " + limit);
  }
  return limits;
}

}  // namespace

CommandWords const kVerifyWords = {"verify", verify_verdict, verify_shares, verify_counts,
                                   verify_limits};
CommandWords const kCompareWords = {"compare", compare_verdict, no_shares, compare_counts,
                                    compare_limits};
CommandWords const kRetrainWords = {"retrain", retrain_verdict, retrain_shares, retrain_counts,
                                    retrain_limits};
CommandWords const kSweepWords = {"sweep", sweep_verdict, no_shares, sweep_counts, sweep_limits};
CommandWords const kAuditWords = {"audit", audit_verdict, audit_shares, audit_counts, audit_limits};

}  // namespace fairlane::report
