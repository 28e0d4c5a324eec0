#include "apps/summary_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "apps/console.h"
#include "apps/walk_text.h"
#include "engine/report.h"
#include "kernels/core/error.h"
#include "models/model.h"
#include "models/text.h"

namespace fairlane {
namespace {

using Json = nlohmann::json;

/// Members of summary.json, at the top or in one of its sections.
class Members {
 public:
  explicit Members(Json const& json) : json_(json) {}

  Json const* find(char const* name) const {
    if (json_.contains(name)) return &json_[name];
    for (auto const& section : json_) {
      if (section.is_object() && section.contains(name)) return &section[name];
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

}  // namespace

std::string summary_text(std::string const& json, std::string const& source) {
  Json const document = Json::parse(json, nullptr, false);
  if (!document.is_object()) {
    throw Error(ExitCode::kIntegrity,
                fmt::format("{}: is no JSON object, expected a run's summary", escaped(source)));
  }
  Members const summary(document);
  if (summary.text("method") == kWalkMethod) {
    try {
      return walk_summary_text(json);
    } catch (Json::exception const& e) {
      throw Error(ExitCode::kIntegrity, fmt::format("{}: is no enumeration's summary: {}",
                                                    escaped(source), escaped(e.what())));
    }
  }
  Facts facts;
  facts.add("method", summary.text("method"));
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
  facts.add("success rate", fmt::format("{} of {} different inputs that were tried",
                                        percent(summary.number("success_rate")),
                                        with_commas(summary.count("unique_generated"))));
  if (std::int64_t const undefined = summary.count("undefined"); undefined > 0) {
    facts.add("undefined",
              fmt::format("{} inputs whose output is not a finite number", with_commas(undefined)));
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
