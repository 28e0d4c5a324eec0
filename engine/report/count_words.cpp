#include "engine/report/count_words.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "engine/report/command_words.h"
#include "engine/report/results_words.h"

namespace fairlane::report {
namespace {

// run

ResultVerdict run_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::int64_t const tried = whole_at(summary, "counts.unique_generated");
  if (tried == 0 || whole_at(summary, "undefined") == tried)
    return {"Nothing is known", tried == 0 ? "The search ended before it tried an input."
                                           : "No tried input has a finite output."};
  Json const* const share = present(summary, "domain_share");
  bool const is_known = share != nullptr && present(*share, "share") != nullptr;
  std::string rest;
  if (is_known) {
    ShareLine const line = domain_share_line("", *share);
    rest = fmt::format(" Of all possible inputs {} are affected ({}).", line.share, line.detail);
  }
  if (whole_at(summary, "counts.unique_groups") == 0) {
    return {
        "No difference found",
        fmt::format("{}, no decision changed among the {} inputs that {} tried. That is no "
                    "proof that none does.{}",
                    changes_with(digest), with_commas(tried), text_of(summary, "method"), rest)};
  }
  return {
      "Decisions differ",
      fmt::format("{}, the decision about {} profiles ({} inputs) changes that {} found.{}",
                  changes_with(digest), count_at(summary, "counts.unique_groups"),
                  count_at(summary, "counts.unique_instances"), text_of(summary, "method"), rest)};
}

std::vector<ShareLine> run_shares(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<ShareLine> lines;
  if (Json const* const share = present(summary, "domain_share"))
    lines.push_back(domain_share_line("all possible inputs", *share));
  double const rate = share_at(summary, "success_rate");
  lines.push_back(share_line(
      "inputs that were tried", rate, rate, rate,
      fmt::format("{} of {}, counted; a search goes where findings are: no share of people",
                  count_at(summary, "counts.unique_instances"),
                  count_at(summary, "counts.unique_generated"))));
  if (present(summary, "recall") != nullptr) {
    for (auto const& [name, of] : {std::pair("recall.instances", "all affected inputs"),
                                   std::pair("recall.groups", "all affected profiles")}) {
      double const found = share_at(summary, name);
      lines.push_back(share_line(of, found, found, found, "found, of those that were counted"));
    }
  }
  return lines;
}

Facts run_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  Facts facts = {{"profiles found", count_at(summary, "counts.unique_groups")},
                 {"inputs found", count_at(summary, "counts.unique_instances")},
                 {"inputs tried", count_at(summary, "counts.unique_generated")},
                 {"seeds", fmt::format("{}, {} of them led to a finding",
                                       count_at(summary, "counts.global_seeds"),
                                       count_at(summary, "counts.global_found"))},
                 {"model evaluations", count_at(summary, "counts.model_evaluations")}};
  if (std::string const severity = severity_words(summary); !severity.empty())
    facts.emplace_back("severity", severity);
  if (present(summary, "path_coverage") != nullptr)
    facts.emplace_back("path coverage", fmt::format("{} of {} paths of a reference tree",
                                                    count_at(summary, "path_coverage.covered"),
                                                    count_at(summary, "path_coverage.paths")));
  if (Json const* const agreement = present(summary, "agreement"))
    facts.emplace_back("agreement", fmt::format("the model gives the table's label for {} of its "
                                                "rows",
                                                share_words(*agreement)));
  return facts;
}

std::vector<std::string> run_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits = {
      "A search finds some of what there is: what it did not find may be there all the same."};
  if (Json const* const budget = present(summary, "budget"))
    limits.push_back(fmt::format("The search ended because its budget of {} was spent.",
                                 plain(budget->get<std::string>())));
  if (Json const* const little = present(summary, "little_found")) {
    Json const* const most = present(*little, "share_at_most");
    limits.push_back(
        most == nullptr ? "Little was found, and nothing is known of inputs that were not tried."
                        : fmt::format("Little was found; up to {} of all inputs may be affected "
                                      "all the same, with {:g} % confidence.",
                                      share_words(*most), 100.0 * share_at(*little, "confidence")));
  }
  Json const* const share = present(summary, "domain_share");
  if (share == nullptr) {
    limits.emplace_back("The share of all possible inputs was not measured.");
  } else if (present(*share, "share") == nullptr) {
    limits.push_back("The share of all possible inputs was not measured: " +
                     text_of(*share, "skipped", kSentenceBytes) + ".");
  } else if (share->value("source", "") == "sample") {
    limits.emplace_back(
        "The share of all possible inputs is an estimate with an interval; `fairlane enumerate` "
        "counts it where the domain is small enough.");
  }
  if (share != nullptr && whole_at(*share, "undefined_groups") > 0)
    limits.push_back(fmt::format("Of the profiles behind that share {} may be affected or not.",
                                 count_at(*share, "undefined_groups")));
  add_undefined(summary, limits);
  if (summary.value("scores", "") == "labels")
    limits.emplace_back("The model gives labels only, so that severities are 0 or 1.");
  return limits;
}

// enumerate

bool is_whole(Json const& digest) { return region_words(digest).empty(); }

ResultVerdict enumerate_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::int64_t const inputs = whole_at(summary, "counts.model_evaluations");
  if (inputs > 0 && whole_at(summary, "undefined") == inputs)
    return {"Nothing is known", "No output is a finite number."};
  if (inputs > 0 && whole_at(summary, "infeasible") == inputs)
    return {"Nothing is known", "Constraints exclude every input."};
  std::string const where = is_whole(digest) ? "" : " " + region_words(digest);
  if (whole_at(summary, "counts.unique_groups") > 0) {
    double const low = share_at(summary, "success_rate");
    double const high = share_at(summary, "success_rate_high");
    return {"Decisions differ",
            fmt::format("{}, the decision changes about {} of {} profiles{}: {} of {} inputs, "
                        "counted.",
                        changes_with(digest), count_at(summary, "counts.unique_groups"),
                        count_at(summary, "counts.groups"), where,
                        low == high ? fine_percent(low) : interval_words(low, high, nullptr),
                        where.empty() ? "all possible" : "these")};
  }
  bool const is_certain = whole_at(summary, "counts.undefined_groups") == 0;
  std::string const text =
      fmt::format("{}, no decision changes about any of the {} profiles{}; all were counted.",
                  changes_with(digest), count_at(summary, "counts.groups"), where);
  if (!is_certain) return {"No difference found", text + " Some of them are undefined."};
  return {is_whole(digest) ? "Proven fair" : "No difference found", text};
}

std::vector<ShareLine> enumerate_shares(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<ShareLine> lines;
  auto const add = [&](std::string of, char const* low, char const* high,
                       std::string const& basis) {
    double const least = share_at(summary, low);
    double const most = share_at(summary, high);
    lines.push_back(share_line(std::move(of), least, least, most,
                               least == most ? "exact, " + basis
                                             : interval_words(least, most, nullptr) +
                                                   ", since some outputs are no number; " + basis));
  };
  std::string const all = is_whole(digest) ? "all possible " : "the counted ";
  add(all + "inputs", "success_rate", "success_rate_high",
      fmt::format("{} of {}", count_at(summary, "counts.unique_instances"),
                  count_at(summary, "counts.inputs")));
  add(all + "profiles", "group_rate", "group_rate_high",
      fmt::format("{} of {}", count_at(summary, "counts.unique_groups"),
                  count_at(summary, "counts.groups")));
  for (Json const& subset : list_of(summary, "subsets")) {
    double const rate = share_at(subset, "rate");
    lines.push_back(
        share_line(fmt::format("all inputs, by {} alone", listed(texts_of(subset.at("protected")))),
                   rate, rate, rate, "exact, " + count_at(subset, "unique_instances") + " inputs"));
  }
  return lines;
}

Facts enumerate_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  Facts facts = {{"profiles affected", count_at(summary, "counts.unique_groups")},
                 {"inputs affected", count_at(summary, "counts.unique_instances")},
                 {"inputs evaluated", count_at(summary, "counts.model_evaluations")}};
  if (present(summary, "written") != nullptr)
    facts.emplace_back("inputs written", count_at(summary, "written.unique_instances"));
  return facts;
}

std::vector<std::string> count_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits;
  if (!is_whole(digest))
    limits.push_back(fmt::format("Nothing but the inputs {} was examined.", region_words(digest)));
  if (whole_at(summary, "written.unique_instances") <
      whole_at(summary, "counts.unique_instances")) {
    limits.push_back(
        present(summary, "written") == nullptr && digest.at("command") == "enumerate"
            ? "No inputs were written, so that nobody can be shown; --instances writes them."
            : fmt::format("Of the affected inputs {} were written and are shown here.",
                          count_at(summary, "written.unique_instances")));
  }
  add_undefined(summary, limits);
  return limits;
}

// estimate

std::string estimated_of(Json const& digest) {
  std::string const of = digest.at("summary").value("of", "domain");
  return of == "rows" ? "the table's inputs" : of == "region" ? "the inputs there" : "all inputs";
}

ResultVerdict estimate_verdict(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::int64_t const inputs = whole_at(summary, "counts.model_evaluations");
  if (inputs > 0 && whole_at(summary, "undefined") == inputs)
    return {"Nothing is known", "No output is a finite number."};
  ShareLine const line = shares_of(digest).front();
  bool const is_any = whole_at(summary, "counts.unique_groups") > 0;
  return {is_any ? "Decisions differ" : "No difference found",
          fmt::format("{}, the decision changes for {} of {} ({}).", changes_with(digest),
                      line.share, estimated_of(digest), line.detail)};
}

std::vector<ShareLine> estimate_shares(Json const& digest) {
  Json const& summary = digest.at("summary");
  Json const* const confidence = present(summary, "confidence");
  bool const is_rows = summary.value("of", "") == "rows";
  std::string const basis = is_rows
                                ? fmt::format("{} rows", count_at(summary, "counts.samples"))
                                : fmt::format("by {} samples", count_at(summary, "counts.samples"));
  std::vector<ShareLine> lines = {
      share_line(estimated_of(digest), summary.at("success_rate"), confidence, basis),
      share_line("profiles", summary.at("causal_score"), confidence, basis),
      share_line("largest gap between two values' rates", summary.at("group_score"), confidence,
                 basis)};
  if (Json const* const sets = present(summary, "sets")) {
    for (Json const& set : list_of(*sets, "found"))
      lines.push_back(share_line("profiles, by " + listed(texts_of(set.at("protected"))), set,
                                 confidence,
                                 fmt::format("by {} samples", count_at(set, "samples"))));
  }
  return lines;
}

Facts estimate_counts(Json const& digest) {
  Json const& summary = digest.at("summary");
  Facts facts = {{"samples", count_at(summary, "counts.samples")},
                 {"profiles affected among them", count_at(summary, "counts.unique_groups")},
                 {"model evaluations", count_at(summary, "counts.model_evaluations")}};
  if (present(summary, "trials") != nullptr)
    facts.emplace_back("trials", fmt::format("{} ± {}: mean of {} trials of {} samples",
                                             fine_percent(share_at(summary, "trials.mean")),
                                             fine_percent(share_at(summary, "trials.half_width")),
                                             count_at(summary, "trials.trials"),
                                             count_at(summary, "trials.samples")));
  return facts;
}

std::vector<std::string> estimate_limits(Json const& digest) {
  Json const& summary = digest.at("summary");
  std::vector<std::string> limits = {
      "An estimate says how many, not whom: `fairlane run` finds people, `fairlane enumerate` "
      "says which values are better off."};
  Json const* const confidence = present(summary, "confidence");
  if (confidence != nullptr && confidence->get<double>() < 1.0)
    limits.push_back(
        fmt::format("Shares are estimates; each lies in its interval with {:g} % "
                    "confidence.",
                    100.0 * confidence->get<double>()));
  if (present(summary, "budget") != nullptr)
    limits.emplace_back("Sampling ended because its budget of seconds was spent.");
  if (Json const* const sets = present(summary, "sets")) {
    limits.push_back(fmt::format(
        "Of the sets of attributes {} are undecided, {} were too large to be examined{}.",
        list_of(*sets, "undecided").size(), count_at(*sets, "too_large"),
        present(*sets, "not_examined") == nullptr
            ? ""
            : fmt::format(" and {} were not examined in the time",
                          count_at(*sets, "not_examined"))));
  }
  std::vector<std::string> const more = count_limits(digest);
  limits.insert(limits.end(), more.begin(), more.end());
  return limits;
}

}  // namespace

CommandWords const kRunWords = {"run", run_verdict, run_shares, run_counts, run_limits};
CommandWords const kEnumerateWords = {"enumerate", enumerate_verdict, enumerate_shares,
                                      enumerate_counts, count_limits};
CommandWords const kEstimateWords = {"estimate", estimate_verdict, estimate_shares, estimate_counts,
                                     estimate_limits};

}  // namespace fairlane::report
