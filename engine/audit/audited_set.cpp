#include "engine/audit/audited_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/number_text.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/audit/audit_findings.h"
#include "engine/audit/row_audit.h"
#include "engine/audit/rules.h"
#include "engine/count/binomial_interval.h"
#include "engine/count/domain_share.h"
#include "engine/results/run.h"
#include "engine/subject/row_labels.h"

namespace fairlane {
namespace {

constexpr double kConfidence = 0.95;
// Of a selection's seconds; the search has what is left.
constexpr double kShareOfPeople = 0.1;
constexpr double kShareOfCounting = 0.5;
constexpr double kFewPeople = 500.0;     // tell too little
constexpr double kTimedSeconds = 0.05;   // that tell a model's pace
constexpr std::size_t kTimedRows = 256;  // evaluated at first, to tell it
constexpr std::size_t kMostTimed = 16'384;
constexpr double kMostSamples = 1e6;
constexpr double kFewSamples = 1000.0;  // tell too little
constexpr double kMostSearched = 500'000.0;
constexpr std::size_t kShownRates = 64;
constexpr std::size_t kShownPreferences = 20;
constexpr std::size_t kShownValues = 400;

/// A pace at most as great, so that the same is examined again as far as a clock allows it.
double round_figure(double pace) {
  double const power = std::pow(10.0, std::floor(std::log10(pace)));
  for (double const digit : {5.0, 2.0}) {
    if (digit * power <= pace) return digit * power;
  }
  return power;
}

/// One selection on its way.
class SetAudit {
 public:
  SetAudit(RunConfig const& config, TestSubject const& subject, AuditSetting const& setting,
           std::size_t number, std::vector<std::string>& commands)
      : config_(config),
        subject_(subject),
        setting_(setting),
        commands_(commands),
        number_(number) {}

  Json measure();

 private:
  Domain const& domain() const { return subject_.domain(); }
  std::string flags() const;
  double seconds_left() const { return std::max(0.0, setting_.seconds - watch_.seconds()); }
  /// Evaluations that fit into so many seconds.
  double affordable(double seconds) const { return std::floor(pace_ * seconds); }
  void measure_pace(Backend& backend);
  RowAudit audit_people(Backend& backend, std::vector<std::int32_t> const& people,
                        double seconds) const;
  /// Why something was not examined.
  std::string too_slow(std::string const& what) const {
    return what + (seconds_left() > 0.0 ? ": the model answers too slowly for it in the time given"
                                        : ": no time was left");
  }
  std::string const& add_command(std::string const& command, std::string const& more) {
    commands_.push_back(fmt::format("fairlane {} {}{}{}{}{}", command,
                                    shell_word(setting_.config_name), setting_.changes, flags(),
                                    more, runs_code(config_.model) ? " --allow-exec" : ""));
    return commands_.back();
  }
  void skip(std::string what) { not_examined_.push_back(std::move(what)); }
  /// The option that gives what a command writes a directory of its own.
  std::string own_out(char const* part) const {
    return " --out " + shell_word(fmt::format("{}-{}-{}", setting_.out, number_, part));
  }
  std::vector<std::string> words_of(std::vector<std::int32_t> const& values) const;
  Json rows_json(RowAudit const& rows) const;
  Json rates_json(RowAudit const& rows);
  Json preferences_json(RowAudit const& rows);
  Json worst_json(RowAudit const& rows) const;
  Json rules_json(RowAudit const& rows) const;
  Json plausible_json(Backend& backend);
  Json domain_json();
  Json search_json(std::vector<std::int32_t>& found);

  RunConfig const& config_;
  TestSubject const& subject_;
  AuditSetting const& setting_;
  std::vector<std::string>& commands_;
  std::size_t number_;  // of the selection, from 1
  Stopwatch const watch_;
  double pace_ = 0.0;  // evaluations a second
  Json not_examined_ = Json::array();
};

std::string SetAudit::flags() const {
  std::string names;
  for (ProtectedAttribute const& attribute : config_.protected_attributes) {
    if (!names.empty()) names += ", ";
    std::string codes;
    for (std::int32_t const code : attribute.values)
      codes += fmt::format("{}{}", codes.empty() ? "" : ", ", code);
    names += attribute.values.empty()
                 ? yaml_text(attribute.name)
                 : fmt::format("{{{}: [{}]}}", yaml_text(attribute.name), codes);
  }
  std::string flags = " --set " + shell_word("protected=[" + names + "]");
  BudgetConfig const& budget = config_.budget;
  for (auto const& [key, is_set] : {std::pair("seeds", budget.seeds.has_value()),
                                    std::pair("iterations", budget.iterations.has_value()),
                                    std::pair("evaluations", budget.evaluations.has_value()),
                                    std::pair("instances", budget.instances.has_value()),
                                    std::pair("seconds", budget.seconds.has_value())}) {
    if (is_set) flags += fmt::format(" --set budget.{}=null", key);
  }
  return flags;
}

void SetAudit::measure_pace(Backend& backend) {
  auto const width = static_cast<std::size_t>(domain().size());
  auto const& rows = subject_.data()->rows;
  std::vector<std::int32_t> people;
  for (std::size_t count = kTimedRows; count <= kMostTimed; count *= 4) {
    while (people.size() < count * width) {
      std::size_t const missing = count * width - people.size();
      people.insert(people.end(), rows.begin(),
                    rows.begin() + static_cast<std::ptrdiff_t>(std::min(missing, rows.size())));
    }
    Stopwatch const watch;
    label_rows(subject_, backend, people);
    double const seconds = std::max(watch.seconds(), 1e-6);
    pace_ = round_figure(static_cast<double>(count) / seconds);
    if (seconds > kTimedSeconds) break;
  }
}

std::vector<std::string> SetAudit::words_of(std::vector<std::int32_t> const& values) const {
  std::vector<std::string> words;
  for (std::size_t s = 0; s < values.size(); ++s) {
    auto const a = static_cast<std::size_t>(subject_.selected()[s]);
    words.push_back(domain().attributes[a].word(values[s]));
  }
  return words;
}

Json SetAudit::rows_json(RowAudit const& rows) const {
  return {{"count", rows.rows},
          {"affected", rows.affected},
          {"share", share_of(rows.affected, rows.rows)},
          {"undefined", rows.undefined}};
}

Json SetAudit::rates_json(RowAudit const& rows) {
  Json rates = Json::array();
  if (rows.variants.size() > kShownRates) {
    skip(fmt::format("rates of each of {} combinations of protected values",
                     with_commas(static_cast<std::int64_t>(rows.variants.size()))));
    return rates;
  }
  for (VariantRate const& rate : rows.variants)
    rates.push_back({{"values", words_of(rate.values)},
                     {"rows", rate.rows},
                     {"favourable", rate.favourable},
                     {"share", rate.share}});
  return rates;
}

Json SetAudit::preferences_json(RowAudit const& rows) {
  if (rows.variants.size() > static_cast<std::size_t>(kMostPreferenceVariants)) {
    skip(fmt::format("who is preferred to whom among {} combinations of protected values",
                     with_commas(static_cast<std::int64_t>(rows.variants.size()))));
  } else if (rows.preferences.size() > kShownPreferences) {
    skip(fmt::format("pairs of protected values beyond the {} that matter most, of {}",
                     kShownPreferences,
                     with_commas(static_cast<std::int64_t>(rows.preferences.size()))));
  }
  Json preferences = Json::array();
  for (Preference const& one : rows.preferences) {
    if (preferences.size() == kShownPreferences) break;
    auto const words = [&](std::int32_t variant) {
      return words_of(rows.variants[static_cast<std::size_t>(variant)].values);
    };
    preferences.push_back({{"better", words(one.better)},
                           {"worse", words(one.worse)},
                           {"rows", one.rows},
                           {"reverse_rows", one.reverse_rows}});
  }
  return preferences;
}

Json SetAudit::worst_json(RowAudit const& rows) const {
  Json worst = Json::array();
  for (ValueShare const& one : rows.worst) {
    if (worst.size() == kShownValues) break;
    Attribute const& attribute = domain().attributes[static_cast<std::size_t>(one.attribute)];
    worst.push_back({{"attribute", attribute.name},
                     {"value", attribute.word(one.code)},
                     {"rows", one.rows},
                     {"affected", one.affected},
                     {"share", one.share}});
  }
  return worst;
}

Json SetAudit::rules_json(RowAudit const& rows) const {
  Json rules = Json::array();
  for (Rule const& rule :
       find_rules(domain(), subject_.data()->rows, rows.is_affected, subject_.selected())) {
    Json conditions = Json::array();
    for (Condition const& condition : rule.conditions) {
      conditions.push_back(
          {{"attribute", domain().attributes[static_cast<std::size_t>(condition.attribute)].name},
           {"words", condition_text(domain(), condition)}});
    }
    rules.push_back({{"text", rule_text(domain(), rule)},
                     {"conditions", std::move(conditions)},
                     {"rows", rule.rows},
                     {"affected", rule.affected},
                     {"precision", rule.precision},
                     {"coverage", rule.coverage}});
  }
  return rules;
}

/// Of the first people, each time four times as many, as long as that is likely to end in time.
RowAudit SetAudit::audit_people(Backend& backend, std::vector<std::int32_t> const& people,
                                double seconds) const {
  constexpr std::size_t kGrowth = 4;
  auto const width = static_cast<std::size_t>(domain().size());
  std::size_t const all = people.size() / width;
  Stopwatch const watch;
  for (std::size_t count = std::min(all, static_cast<std::size_t>(kFewPeople));;) {
    double const begin = watch.seconds();
    RowAudit audit = audit_rows(subject_, backend, std::span(people).first(count * width),
                                setting_.favourable, setting_.stop);
    std::size_t const next = std::min(all, kGrowth * count);
    double const each = (watch.seconds() - begin) / static_cast<double>(count);
    bool const fits = watch.seconds() + each * static_cast<double>(next) <= seconds;
    if (count == all || !fits) return audit;
    count = next;
  }
}

Json SetAudit::plausible_json(Backend& backend) {
  auto const width = static_cast<std::size_t>(domain().size());
  double const seconds = kShareOfPeople * setting_.seconds;
  double const most = affordable(seconds) / static_cast<double>(subject_.variants());
  if (most < kFewPeople) {
    skip(too_slow("plausible people"));
    return nullptr;
  }
  std::vector<std::int32_t> people;
  auto const& all = setting_.people;
  for (std::size_t i = 0; i < all.size(); i += width) {
    if (static_cast<double>(people.size()) >= most * static_cast<double>(width)) break;
    bool is_compared = true;
    for (std::size_t s = 0; s < subject_.selected().size(); ++s) {
      auto const& values = subject_.values()[s];
      std::int32_t const code = all[i + static_cast<std::size_t>(subject_.selected()[s])];
      is_compared = is_compared && std::ranges::find(values, code) != values.end();
    }
    if (is_compared) people.insert(people.end(), &all[i], &all[i] + width);
  }
  if (people.empty()) {
    skip("plausible people: none of those that were drawn has values that are compared");
    return nullptr;
  }
  RowAudit const audit = audit_people(backend, people, seconds);
  ShareInterval const interval =
      interval_of({audit.affected, audit.affected + audit.undefined}, audit.rows, kConfidence);
  return {{"people", audit.rows},
          {"affected", audit.affected},
          {"share", share_of(audit.affected, audit.rows)},
          {"low", interval.low},
          {"high", interval.high},
          {"confidence", kConfidence}};
}

Json SetAudit::domain_json() {
  DomainShare share;
  double const seconds = kShareOfCounting * setting_.seconds;
  auto const walk = walk_seconds(config_, subject_, setting_.execution);
  if (walk && *walk <= seconds) {
    share = enumerated_share(
        count_domain(config_, setting_.execution, setting_.work_folder + "/count", setting_.stop));
    add_command("enumerate", own_out("count"));
  } else {
    double const samples =
        affordable(std::min(seconds, seconds_left())) / static_cast<double>(subject_.variants());
    if (samples < kFewSamples) {
      skip(too_slow("the whole domain"));
      return nullptr;
    }
    DomainShareOptions options;
    options.execution = setting_.execution;
    options.samples = static_cast<std::int64_t>(std::min(samples, kMostSamples));
    options.seconds = std::min(seconds, seconds_left());
    options.stop = setting_.stop;
    share = measure_domain_share(config_, subject_, options);
    if (!share.skipped.empty()) {
      skip("the whole domain: " + share.skipped);
      return nullptr;
    }
    if (share.source == "sample") {
      skip(fmt::format(
          "the whole domain was not counted: its share is estimated from {} random inputs",
          with_commas(share.drawn)));
      add_command("estimate", fmt::format(" --samples {}", share.drawn));
    } else {
      add_command("enumerate", own_out("count"));
    }
  }
  Json json = domain_share_json(share);
  if (share.source != "sample") json["confidence"] = nullptr;
  return json;
}

Json SetAudit::search_json(std::vector<std::int32_t>& found) {
  if (!subject_.can_move()) {
    skip("people beyond the rows: no attribute that is not under test may be changed");
    return nullptr;
  }
  double const seconds = seconds_left();
  if (affordable(seconds) < kFewSamples) {
    skip(too_slow("people beyond the rows"));
    return nullptr;
  }
  RunConfig searching = in_folder(config_, setting_.work_folder + "/search");
  searching.method = "margin";
  searching.budget.evaluations =
      static_cast<std::int64_t>(std::min(affordable(seconds), kMostSearched));
  searching.budget.seconds = seconds;
  searching.output.format = OutputFormat::kNpy;
  searching.output.columns = OutputColumns::kInputs;
  searching.output.words = false;
  searching.output.plausibility = false;
  RunOptions options;
  options.execution = setting_.execution;
  options.execution.checkpoint = 0.0;
  options.overwrite = true;
  options.search.stop = setting_.stop;
  Summary const summary = run(searching, options);
  bool const is_cut = summary.cut == "seconds";
  if (is_cut) {
    skip(fmt::format("the search for people beyond the rows was ended by time after {} evaluations",
                     with_commas(summary.search.model_evaluations)));
  }
  if (summary.found.unique_instances > 0)
    found = found_people(searching.output.dir, searching, subject_);
  std::string const& command = add_command(
      "run", fmt::format(" --set method=margin --set budget.evaluations={}{}",
                         is_cut ? summary.search.model_evaluations : *searching.budget.evaluations,
                         own_out("search")));
  return {{"method", searching.method},
          {"evaluations", summary.search.model_evaluations},
          {"instances", summary.found.unique_instances},
          {"groups", summary.found.unique_groups},
          {"command", command}};
}

Json SetAudit::measure() {
  std::string const name = selection_name(subject_);
  Json set = {{"name", name}, {"protected", Json::array()}};
  for (std::int32_t const a : subject_.selected())
    set["protected"].push_back(domain().attributes[static_cast<std::size_t>(a)].name);
  // A table is soon evaluated.
  auto const backend =
      make_backend(subject_, on_cpu(setting_.execution, subject_), config_.seed, {});
  setting_.show(name + ": the table's rows");
  measure_pace(*backend);
  RowAudit const rows = audit_rows(subject_, *backend, setting_.favourable, setting_.stop);
  add_command("estimate", " --rows");
  set["rows"] = rows_json(rows);
  setting_.show(name + ": plausible people");
  set["plausible"] = plausible_json(*backend);
  setting_.show(name + ": the whole domain");
  set["domain"] = domain_json();
  set["severity"] = nullptr;
  if (rows.affected > 0)
    set["severity"] = {{"mean", rows.severity_mean}, {"max", rows.severity_max}};
  set["rates"] = rates_json(rows);
  set["preferences"] = preferences_json(rows);
  set["worst"] = worst_json(rows);
  setting_.show(name + ": rules");
  set["rules"] = rules_json(rows);
  setting_.show(name + ": people beyond the rows");
  std::vector<std::int32_t> found;
  set["search"] = search_json(found);
  set["findings"] = shown_findings(subject_, *backend, setting_.favourable, *setting_.plausibility,
                                   rows, found, setting_.stop);
  set["not_examined"] = not_examined_;
  return set;
}

}  // namespace

std::string selection_name(TestSubject const& subject) {
  std::string name;
  for (std::int32_t const a : subject.selected())
    name +=
        (name.empty() ? "" : "+") + subject.domain().attributes[static_cast<std::size_t>(a)].name;
  return name;
}

Json audit_set(RunConfig const& config, TestSubject const& subject, AuditSetting const& setting,
               std::size_t number, std::vector<std::string>& commands) {
  return SetAudit(config, subject, setting, number, commands).measure();
}

}  // namespace fairlane
