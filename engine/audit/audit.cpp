#include "engine/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/formats/json.h"
#include "base/number_text.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/audit/audited_set.h"
#include "engine/audit/verdict.h"
#include "engine/count/domain_share.h"
#include "engine/record/output_dir.h"
#include "engine/report/html.h"
#include "engine/report/junit.h"
#include "engine/report/markdown.h"
#include "engine/results/manifest.h"
#include "engine/subject/row_labels.h"

namespace fairlane {
namespace {

constexpr std::int64_t kPlausiblePeople = 10'000;
constexpr double kMostImplausible = 95.0;  // percentile of the table's own rows
constexpr std::int64_t kMostListedValues = 64;
constexpr double kMostCombinations = 1 << 16;  // of a selection's values

/// The class of the favourable decision. Throws Error(kUsage) where the model decides no such.
std::int32_t favourable_class(std::string const& wanted, Domain const& domain,
                              std::int32_t classes) {
  if (wanted.empty()) return classes - 1;
  std::vector<std::string> words;
  for (std::int32_t c = 0; c < classes; ++c) words.push_back(domain.label_word(c));
  // A word may be the number of another class.
  if (auto const word = std::ranges::find(words, wanted); word != words.end())
    return static_cast<std::int32_t>(word - words.begin());
  for (std::int32_t c = 0; c < classes; ++c) {
    if (wanted == std::to_string(c)) return c;
  }
  throw usage_error(fmt::format("--favourable is {}, expected one of {}{}", in_quotes(wanted),
                                fmt::join(words, ", "), did_you_mean(wanted, words)));
}

/// One audit on its way.
class Audit {
 public:
  Audit(RunConfig const& config, AuditOptions const& options)
      : config_(config),
        options_(options),
        subject_(everybody(checked(unlimited(config, "audit"))), options.execution.model),
        out_(config.output.dir, manifest(), options.overwrite) {
    setting_.work_folder = out_.partial("work");
    std::filesystem::create_directories(setting_.work_folder);
    classes_ = std::max(2, subject_.model().outputs());
    setting_.favourable = favourable_class(options.favourable, subject_.domain(), classes_);
    setting_.execution = options.execution;
    if (auto const& scorer = subject_.model().scorer())
      setting_.execution.model.make = [scorer] { return scorer; };
    setting_.config_name = options.config_name;
    setting_.changes = options.changes;
    setting_.out = config.output.dir;
    setting_.stop = options.stop;
    setting_.show = [this](std::string const& what) { show(what); };
  }

  std::string run();

 private:
  /// What an audit cannot be without.
  static RunConfig const& checked(RunConfig const& config) {
    if (!config.data.empty()) return config;
    throw Error(ExitCode::kConfig,
                fmt::format("{}: names no `data`, expected the table whose people are audited",
                            escaped(config.source, config.source.size())));
  }
  /// Whether no value of an attribute under test is left out.
  static bool compares_all(RunConfig const& config) {
    return std::ranges::all_of(config.protected_attributes,
                               [](auto const& one) { return one.values.empty(); });
  }
  /// The configuration with all of the table's rows, also those whose values are not compared: with
  /// whole attributes under test, one of them, so that they are not too many together.
  static RunConfig everybody(RunConfig config) {
    if (compares_all(config)) return config;
    config.protected_attributes.resize(1);
    config.protected_attributes[0].values.clear();
    return config;
  }
  std::string manifest() const;
  void show(std::string const& what) const {
    if (is_asked_to_stop()) throw interrupted();
    if (options_.progress) options_.progress({what, watch_.seconds()});
  }
  bool is_asked_to_stop() const { return options_.stop != nullptr && options_.stop->load(); }
  static Error interrupted() {
    return {ExitCode::kInterrupted,
            "interrupted; nothing was written: the same command begins anew"};
  }
  std::vector<std::vector<ProtectedAttribute>> selections();
  std::vector<std::int32_t> draw_people(PlausibilityModel const& model) const;
  Json attributes_json() const;
  Json decision_json() const;
  Json sets_json(PlausibilityModel const& model);

  Stopwatch const watch_;
  RunConfig const& config_;
  AuditOptions const& options_;
  TestSubject const subject_;
  OutputDir out_;
  std::int32_t classes_ = 2;
  AuditSetting setting_;
  std::vector<std::string> assumed_;
  std::vector<std::string> commands_;
  std::vector<std::string> not_examined_;  // attributes that no set is of
};

std::string Audit::manifest() const {
  Json section = {{"seconds", options_.seconds}, {"favourable", options_.favourable}};
  section["policy"] = nullptr;
  if (options_.policy)
    section["policy"] = {{"share", name_of(options_.policy->share)},
                         {"above", options_.policy->above}};
  std::vector<std::pair<std::string, std::string>> const sections = {{"audit", section.dump()}};
  if (compares_all(config_)) return manifest_json(config_, subject_, Cut{}, sections);
  return manifest_json(config_, TestSubject(config_, options_.execution.model), Cut{}, sections);
}

/// Every protected attribute of the domain or the configuration alone, then the configuration's
/// together.
std::vector<std::vector<ProtectedAttribute>> Audit::selections() {
  std::vector<std::vector<ProtectedAttribute>> selections;
  auto const& joint = config_.protected_attributes;
  auto const& attributes = subject_.domain().attributes;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    Attribute const& attribute = attributes[a];
    auto const selected = std::ranges::find(joint, attribute.name, &ProtectedAttribute::name);
    if (selected != joint.end()) {
      if (joint.size() > 1) selections.push_back({*selected});
      continue;
    }
    if (!attribute.is_protected) continue;
    auto const values = static_cast<double>(attribute.code_count());
    if (values > 1.0 && values <= kMostCombinations) {
      selections.push_back({{attribute.name, {}}});
    } else {
      not_examined_.push_back(
          values > 1.0 ? fmt::format("{}: has {} values, more than are compared with each other",
                                     attribute.name, with_commas(attribute.code_count()))
                       : attribute.name + ": has one value, beside which there is none to compare");
    }
  }
  selections.push_back(joint);
  return selections;
}

std::vector<std::int32_t> Audit::draw_people(PlausibilityModel const& model) const {
  auto const width = static_cast<std::size_t>(subject_.domain().size());
  auto const drawn = model.draw(kPlausiblePeople, config_.seed);
  auto const scores = model.score(drawn);
  std::vector<std::int32_t> people;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    bool const exists = subject_.constraints().allows(&drawn[i * width]);
    if (exists && scores[i].implausibility() <= kMostImplausible)
      people.insert(people.end(), &drawn[i * width], &drawn[i * width] + width);
  }
  return people;
}

Json Audit::attributes_json() const {
  Json attributes = Json::array();
  for (Attribute const& attribute : subject_.domain().attributes) {
    Json values = Json::array();
    std::int64_t const codes = attribute.code_count();
    for (std::int64_t i = 0; codes <= kMostListedValues && i < codes; ++i)
      values.push_back(attribute.word(attribute.code_at(i)));
    attributes.push_back({{"name", attribute.name},
                          {"protected", attribute.is_protected},
                          {"values", std::move(values)},
                          {"codes", codes}});
  }
  return attributes;
}

Json Audit::decision_json() const {
  Domain const& domain = subject_.domain();
  auto const named = [&](std::int32_t label) {
    return Json{{"class", label}, {"word", domain.label_word(label)}};
  };
  Json classes = Json::array();
  for (std::int32_t c = 0; c < classes_; ++c) classes.push_back(named(c));
  return {{"label", domain.label},
          {"favourable", named(setting_.favourable)},
          {"classes", std::move(classes)}};
}

Json Audit::sets_json(PlausibilityModel const& model) {
  auto const all = selections();
  show("plausible people");
  setting_.people = draw_people(model);
  setting_.plausibility = &model;
  Json sets = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    // What earlier ones left over is shared out, too.
    double const left = std::max(0.0, options_.seconds - watch_.seconds());
    setting_.seconds = left / static_cast<double>(all.size() - i);
    RunConfig config = config_;
    config.protected_attributes = all[i];
    TestSubject const subject(config, setting_.execution.model);
    try {
      sets.push_back(audit_set(config, subject, setting_, i + 1, commands_));
    } catch (Error const&) {
      // What a part of it says of its state is gone with that.
      if (is_asked_to_stop()) throw interrupted();
      throw;
    }
    if (is_asked_to_stop()) throw interrupted();
  }
  for (std::string const& what : not_examined_)
    sets[sets.size() - 1]["not_examined"].push_back(what);
  return sets;
}

std::string Audit::run() {
  show("the model and the table");
  assumed_ = options_.assumed;
  if (options_.favourable.empty()) {
    assumed_.push_back(
        fmt::format("{} is the better decision: the greatest class; --favourable names another",
                    in_quotes(subject_.domain().label_word(setting_.favourable))));
  }
  for (std::string const& notice : subject_.notices()) assumed_.push_back(notice);
  show("what the table's people look like");
  // Its rows are all that exist: an audit's subject compares every value.
  PlausibilityModel const model(subject_.domain(), *subject_.data(),
                                thread_count(setting_.execution));
  Json json = {{"command", "audit"},
               {"version", FAIRLANE_VERSION},
               {"seed", config_.seed},
               {"model", config_.model},
               {"table", config_.data},
               {"config", options_.config_name},
               {"domain_file", config_.domain},
               {"rows", subject_.data()->count()},
               {"agreement", nullptr},
               {"majority", nullptr}};
  auto const backend =
      make_backend(subject_, on_cpu(setting_.execution, subject_), config_.seed, {});
  if (auto const agreed = label_agreement(subject_, *backend)) {
    json["agreement"] = agreed->share();
    json["majority"] = agreed->majority_share();
  }
  json["decision"] = decision_json();
  json["attributes"] = attributes_json();
  json["domain_inputs"] = subject_.domain().inputs();
  json["assumed"] = assumed_;
  json["verdict"] = nullptr;  // in its place once it is known
  json["sets"] = sets_json(model);
  json["verdict"] = verdict_json(json);
  json["policy"] = nullptr;
  if (options_.policy)
    json["policy"] = policy_json(json, name_of(options_.policy->share), options_.policy->above);
  std::vector<std::string> reproduce = {options_.command};
  reproduce.insert(reproduce.end(), commands_.begin(), commands_.end());
  json["reproduce"] = reproduce;
  json["timing"] = {{"total_seconds", watch_.seconds()}};
  show("writing the report");
  std::string const text = json.dump(2) + "\n";
  out_.write("audit.json", text);
  if (config_.output.report) out_.write("report.html", report_html(json));
  out_.write("report.md", report_markdown(json));
  out_.write("junit.xml", report_junit(json));
  out_.finish();
  return text;
}

}  // namespace

std::string audit(RunConfig const& config, AuditOptions const& options) {
  return Audit(config, options).run();
}

}  // namespace fairlane
