#include "apps/text/summary_text.h"

#include <fmt/format.h>

#include <vector>

#include "apps/console.h"
#include "apps/text/count_text.h"
#include "apps/text/verify_text.h"
#include "base/error.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/results/summary.h"
#include "engine/verify/verify_report.h"
#include "models/model.h"

namespace fairlane {
namespace {

/// Members of summary.json, at the top or in one of its sections.
class Members {
 public:
  explicit Members(Json const& json) : json_(json) {}

  Json const* find(char const* name) const {
    if (Json const* const member = json_.find(name)) return member;
    for (auto const& [key, section] : json_.items()) {
      if (!section.is_object()) continue;
      if (Json const* const member = section.find(name)) return member;
    }
    return nullptr;
  }
  std::int64_t count(char const* name) const {
    Json const* const value = find(name);
    return value != nullptr && value->is_number() ? value->get<std::int64_t>() : 0;
  }
  double number(char const* name) const {
    Json const* const value = find(name);
    return value != nullptr && value->is_number() ? value->get<double>() : 0.0;
  }
  std::string text(char const* name) const {
    Json const* const value = find(name);
    return value != nullptr && value->is_string() ? escaped(value->get<std::string>())
                                                  : std::string();
  }
  std::string list(char const* name) const {
    Json const* const value = find(name);
    std::vector<std::string> words;
    if (value != nullptr && value->is_array()) {
      for (auto const& item : *value) {
        if (item.is_string()) words.push_back(escaped(item.get<std::string>()));
      }
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

 private:
  Json const& json_;
};

/// What is undefined, and what follows; empty where nothing is.
std::string undefined_text(Members const& summary) {
  std::int64_t const undefined = summary.count("undefined");
  std::int64_t const similar = summary.count("undefined_similar");
  std::int64_t const tried = summary.count("unique_generated");
  if (undefined == 0 && similar == 0) return {};
  if (undefined == tried) {
    return fmt::format(
        "all {} tried inputs: their output is not a finite number, so that nothing "
        "was tested",
        with_commas(tried));
  }
  std::string text = fmt::format("{} of {} tried inputs, whose output is not a finite number",
                                 with_commas(undefined), with_commas(tried));
  if (similar > 0)
    text += fmt::format("; of {} more it is unknown whether they are IDIs", with_commas(similar));
  return text;
}

/// How plausible findings had to be, or steps preferred to be.
void add_plausibility(Facts& facts, Json const& plausibility) {
  if (Json const* const at_least = plausibility.find("at_least")) {
    facts.add("plausible",
              fmt::format("findings than which at least {} % of the table's rows are stranger",
                          at_least->get<double>()));
    facts.add("left out",
              fmt::format("{} tried inputs: less plausible than that, or excluded by the domain's "
                          "constraints, if it has any",
                          with_commas(plausibility.at("left_out").get<std::int64_t>())));
  }
  if (Json const* const weight = plausibility.find("weight"))
    facts.add("weight", fmt::format("{} a nat of surprise, by which local steps prefer plausible "
                                    "inputs",
                                    weight->get<double>()));
}

/// A count that may exceed every integer.
std::string domain_count(double count) {
  constexpr double kMostShown = 1e15;
  return count < kMostShown ? with_commas(static_cast<std::int64_t>(count))
                            : fmt::format("{:.1e}", count);
}

/// What a search that found little leaves open.
std::string little_found_text(Members const& little) {
  if (little.number("confidence") == 0.0)
    return "no proof: nothing is known of inputs that were not tried; --samples N bounds their "
           "share";
  return fmt::format("no proof: up to {} of all inputs ({}) may be IDIs, with {:.0f} % confidence",
                     fine_percent(little.number("share_at_most")),
                     domain_count(little.number("instances_at_most")),
                     100.0 * little.number("confidence"));
}

/// What it takes to count all.
std::string enumeration_cost_text(Members const& little, Members const& summary) {
  double const evaluations = little.number("model_evaluations");
  if (evaluations == 0.0)
    return "the domain is too large for `fairlane enumerate`; `fairlane estimate` narrows the "
           "bound";
  std::string text = fmt::format("`fairlane enumerate` takes {} model evaluations at most",
                                 domain_count(evaluations));
  if (double const seconds = summary.number("enumeration_seconds_at_most"); seconds > 0.0)
    text += fmt::format(", about {} on this CPU", seconds_text(seconds));
  return text;
}

}  // namespace

std::string domain_share_text(Json const& json) {
  Members const share(json);
  if (std::string const skipped = share.text("skipped"); !skipped.empty())
    return "not measured: " + skipped;
  double const low = share.number("low");
  double const high = share.number("high");
  std::string text = fine_percent(share.number("share"));
  if (low != high) text += fmt::format("  ({} to {})", fine_percent(low), fine_percent(high));
  text += share.text("source") == "sample"
              ? fmt::format("  of all inputs are IDIs, by a sample of {}",
                            with_commas(share.count("groups")))
              : fmt::format("  of all inputs are IDIs, in {} groups",
                            with_commas(share.count("groups")));
  if (std::int64_t const undefined = share.count("undefined_groups"); undefined > 0)
    text += fmt::format("; {} groups are undefined and may be either", with_commas(undefined));
  return text;
}

std::string summary_text(std::string const& json, std::string const& source, Domain const* domain) {
  Json document;
  try {
    document = Json::parse(json);
    if (document.at("method").get<std::string>() == kVerifyMethod) return verify_text(json);
    document.at("counts").items();
  } catch (JsonError const& e) {
    throw Error(ExitCode::kData, fmt::format("{}: is no summary of this program: {}",
                                             escaped(source), escaped(e.what())));
  }
  Members const summary(document);
  if (summary.text("method") == kEnumerateMethod) {
    try {
      return enumeration_text(json, domain);
    } catch (JsonError const& e) {
      throw Error(ExitCode::kData, fmt::format("{}: is no enumeration's summary: {}",
                                               escaped(source), escaped(e.what())));
    }
  }
  Facts facts;
  if (std::string const undefined = undefined_text(summary); !undefined.empty())
    facts.add("undefined", undefined);
  if (std::int64_t const excluded = summary.count("infeasible"); excluded > 0) {
    facts.add("excluded",
              fmt::format("{} tried inputs violate a constraint of the domain and do not count",
                          with_commas(excluded)));
  }
  facts.add("method", summary.text("method"));
  if (Json const* const plausibility = document.find("plausibility"))
    add_plausibility(facts, *plausibility);
  if (std::string const scores = summary.text("scores"); !scores.empty()) {
    facts.add("scores", scores == name_of(ScoreKind::kLabels)
                            ? "the model gives labels only; one-hot vectors stand for probabilities"
                            : scores);
  }
  std::string tested = summary.list("protected");
  if (std::int64_t const variants = summary.count("variants"); variants > 0) {
    tested += fmt::format("  ({} combinations)", with_commas(variants));
  }
  facts.add("protected", tested);
  facts.add("seeds", fmt::format("{}, {} of them led to a finding",
                                 with_commas(summary.count("global_seeds")),
                                 with_commas(summary.count("global_found"))));
  facts.add("profiles found",
            fmt::format("{}  (people whose decision depends on the protected attributes)",
                        with_commas(summary.count("unique_groups"))));
  facts.add("inputs found", fmt::format("{}  (unique IDIs: a profile with its protected values)",
                                        with_commas(summary.count("unique_instances"))));
  if (Json const* const recall = summary.find("recall"); recall != nullptr && recall->is_object()) {
    Members const members(*recall);
    facts.add("recall",
              fmt::format("{} of all IDIs, {} of all profiles",
                          percent(members.number("instances")), percent(members.number("groups"))));
  }
  if (Json const* const coverage = summary.find("path_coverage");
      coverage != nullptr && coverage->is_object()) {
    Members const members(*coverage);
    facts.add("path coverage", fmt::format("{} of {} paths of a reference tree",
                                           with_commas(members.count("covered")),
                                           with_commas(members.count("paths"))));
  }
  if (document.contains("domain_share") && document["domain_share"].is_object())
    facts.add("share of the domain", domain_share_text(document["domain_share"]));
  if (document.contains("little_found") && document["little_found"].is_object()) {
    Members const little(document["little_found"]);
    facts.add(summary.count("unique_groups") == 0 ? "nothing found" : "little found",
              little_found_text(little));
    facts.add("to be sure", enumeration_cost_text(little, summary));
  }
  facts.add("share of tried inputs",
            fmt::format("{} of {} different inputs  (the search goes where IDIs are: no share of "
                        "people)",
                        percent(summary.number("success_rate")),
                        with_commas(summary.count("unique_generated"))));
  if (summary.find("agreement") != nullptr) {
    facts.add("agreement", fmt::format("the model gives the table's label for {} of its rows",
                                       percent(summary.number("agreement"))));
  }
  Json const* const severity = summary.find("severity");
  if (summary.count("unique_instances") > 0 && severity != nullptr && severity->is_object()) {
    Members const members(*severity);
    facts.add("severity", fmt::format("{:.3f} on average, {:.3f} at most  (difference in output)",
                                      members.number("mean"), members.number("max")));
  }
  facts.add("work", fmt::format("{} tests and steps, {} model evaluations",
                                with_commas(summary.count("iterations")),
                                with_commas(summary.count("model_evaluations"))));
  if (summary.find("total_seconds") != nullptr) {
    facts.add("time", fmt::format("{}  (clustering {}, search {}, writing {})",
                                  seconds_text(summary.number("total_seconds")),
                                  seconds_text(summary.number("cluster_seconds")),
                                  seconds_text(summary.number("search_seconds")),
                                  seconds_text(summary.number("write_seconds"))));
  }
  if (std::string const budget = summary.text("budget"); !budget.empty()) {
    facts.add("stopped by", "budget." + budget);
  }
  if (std::string const signature = summary.text("signature"); !signature.empty()) {
    facts.add("signature", signature);
    if (std::string const note = summary.text("signature_note"); !note.empty()) facts.add("", note);
  }
  return facts.text();
}

}  // namespace fairlane
