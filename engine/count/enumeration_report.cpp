#include "engine/count/enumeration_report.h"
#include "base/formats/json.h"
#include "base/text.h"
#include "engine/results/summary.h"

#include <fmt/format.h>

#include <map>

namespace fairlane {
namespace {

double ratio(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

/// Counts by name.
class Counts {
 public:
  explicit Counts(EnumerationReport const& report)
      : layout_(report.plan.counters()), counters_(report.counts.counters) {}
  std::uint64_t at(int counter) const { return counters_[static_cast<std::size_t>(counter)]; }
  CountLayout const& layout() const { return layout_; }
  int variants() const { return layout_.variants; }

 private:
  CountLayout layout_;
  std::vector<std::uint64_t> const& counters_;
};

std::string const& name_of(EnumerationReport const& report, int attribute) {
  return report.subject.domain().attributes[static_cast<std::size_t>(attribute)].name;
}

std::string const& selected_name(EnumerationReport const& report, int selected) {
  return name_of(report, report.subject.selected()[static_cast<std::size_t>(selected)]);
}

/// Value of a selected attribute in a variant.
std::int32_t variant_value(EnumerationReport const& report, int variant, int selected) {
  auto const& values = report.subject.values();
  int stride = 1;
  for (std::size_t i = values.size(); i-- > static_cast<std::size_t>(selected) + 1;)
    stride *= static_cast<int>(values[i].size());
  auto const& list = values[static_cast<std::size_t>(selected)];
  return list[static_cast<std::size_t>(variant / stride) % list.size()];
}

bool is_constrained(EnumerationReport const& report) {
  return !report.subject.constraints().empty();
}

Json by_subset(EnumerationReport const& report, Counts const& counts, double inputs) {
  Json json = Json::array();
  auto const& subsets = report.plan.subsets();
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    Json names = Json::array();
    for (int const s : subsets[i]) names.push_back(selected_name(report, s));
    int const at = counts.layout().subset(static_cast<int>(i));
    auto const& subset = report.plan.get().subset[i];
    auto const instances = counts.at(at + 1);
    Json row = {{"protected", names}};
    // Where constraints exclude some, nobody counts those that exist.
    if (!is_constrained(report)) row["groups"] = report.counts.groups * subset.classes;
    row["unique_groups"] = counts.at(at);
    row["unique_instances"] = instances;
    row["rate"] = ratio(static_cast<double>(instances), inputs);
    json.push_back(std::move(row));
  }
  return json;
}

/// Who gets the greater label when one protected attribute changes, the others fixed.
Json by_treatment(EnumerationReport const& report, Counts const& counts) {
  Json json = Json::array();
  int const selected = static_cast<int>(report.subject.selected().size());
  for (int s = 0; s < selected; ++s) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> groups;
    for (int v = 0; v < counts.variants(); ++v) {
      for (int w = 0; w < counts.variants(); ++w) {
        bool others_equal = v != w;
        for (int i = 0; i < selected; ++i) {
          if (i != s)
            others_equal =
                others_equal && variant_value(report, v, i) == variant_value(report, w, i);
        }
        if (!others_equal) continue;
        groups[{variant_value(report, v, s), variant_value(report, w, s)}] +=
            counts.at(counts.layout().pair(v, w));
      }
    }
    for (auto const& [values, count] : groups) {
      json.push_back({{"attribute", selected_name(report, s)},
                      {"greater", values.first},
                      {"lesser", values.second},
                      {"pairs", count}});
    }
  }
  return json;
}

Json by_severity(Counts const& counts) {
  Json json = Json::array();
  for (int bin = 0; bin < kSeverityBins; ++bin) {
    json.push_back({{"from", static_cast<double>(bin) / kSeverityBins},
                    {"groups", counts.at(counts.layout().severity(bin))}});
  }
  return json;
}

/// Share of a variant's members with a defined label that is not 0.
Json positive_rates(EnumerationReport const& report, Counts const& counts,
                    FeasibleCounts const& feasible) {
  Json json = Json::array();
  for (int v = 0; v < counts.variants(); ++v) {
    Json values = Json::object();
    for (int s = 0; s < static_cast<int>(report.subject.selected().size()); ++s)
      values[selected_name(report, s)] = variant_value(report, v, s);
    std::uint64_t const positive = counts.at(counts.layout().positive(v));
    std::uint64_t const undefined = counts.at(counts.layout().undefined(v));
    std::int64_t const members = feasible.members[static_cast<std::size_t>(v)];
    json.push_back({{"values", values},
                    {"positive", positive},
                    {is_constrained(report) ? "infeasible" : "undefined", undefined},
                    {"rate", ratio(static_cast<double>(positive), static_cast<double>(members))}});
  }
  return json;
}

/// Groups, and discriminatory ones, of every value of an attribute.
struct ValueCount {
  std::uint64_t groups = 0;
  std::uint64_t discriminatory = 0;
};

std::map<std::int32_t, ValueCount> count_values(EnumerationReport const& report, std::size_t list,
                                                std::size_t member) {
  ValueList const& values = report.plan.lists()[list];
  auto const share =
      static_cast<std::uint64_t>(report.plan.groups()) / static_cast<std::uint64_t>(values.size());
  std::map<std::int32_t, ValueCount> counts;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    auto const row = static_cast<std::size_t>(i);
    auto& count = counts[values.values[row * values.attributes.size() + member]];
    count.groups += share;
    count.discriminatory += report.counts.list_groups[list][row];
  }
  return counts;
}

}  // namespace

std::string enumeration_summary_json(EnumerationReport const& report) {
  Counts const counts(report);
  bool const constrained = is_constrained(report);
  FeasibleCounts const feasible(report.counts, counts.layout(), constrained);
  std::int64_t const evaluations = report.counts.groups * counts.variants();
  auto const groups = static_cast<double>(feasible.groups);
  auto const inputs = static_cast<double>(feasible.inputs);
  auto const instances = counts.at(CountLayout::kInstances);
  auto const discriminatory = counts.at(CountLayout::kGroups);
  auto const unknown = static_cast<std::uint64_t>(feasible.undefined_groups);
  auto const possible = static_cast<double>(discriminatory + unknown);
  Json names = Json::array();
  for (int s = 0; s < static_cast<int>(report.subject.selected().size()); ++s)
    names.push_back(selected_name(report, s));
  Json json;
  json["method"] = kEnumerateMethod;
  if (auto const& model = report.subject.model(); model.scorer())
    json["scores"] = name_of(model.scores());
  json["protected"] = names;
  json["variants"] = counts.variants();
  json["counts"] = {{"groups", feasible.groups},       {"inputs", feasible.inputs},
                    {"unique_groups", discriminatory}, {"undefined_groups", unknown},
                    {"unique_instances", instances},   {"unique_generated", feasible.inputs},
                    {"model_evaluations", evaluations}};
  json["success_rate"] = ratio(static_cast<double>(instances), inputs);
  // Every member of a group that discriminates, or may, can be an IDI; where nothing is undefined,
  // all are known.
  json["success_rate_high"] =
      constrained ? json["success_rate"] : Json(ratio(possible * counts.variants(), inputs));
  json["evaluations_per_instance"] =
      ratio(static_cast<double>(evaluations), static_cast<double>(instances));
  json["group_rate"] = ratio(static_cast<double>(discriminatory), groups);
  json["group_rate_high"] = ratio(possible, groups);
  json["undefined"] = feasible.undefined;
  if (constrained) {
    json["infeasible"] = feasible.infeasible;
    json["infeasible_groups"] = feasible.infeasible_groups;
  }
  if (!report.plan.subsets().empty()) json["subsets"] = by_subset(report, counts, inputs);
  if (report.plan.get().counts_pairs) json["treatment"] = by_treatment(report, counts);
  json["positive"] = positive_rates(report, counts, feasible);
  json["severity_histogram"] = by_severity(counts);
  if (!report.signature.empty()) {
    json["written"] = {{"unique_instances", report.found.unique_instances},
                       {"unique_groups", report.found.unique_groups}};
    json["signature"] = report.signature;
  }
  json["timing"] = {{"search_seconds", report.walk_seconds},
                    {"write_seconds", report.write_seconds},
                    {"total_seconds", report.total_seconds},
                    {"skipped_groups", report.counts.skipped}};
  return json.dump(2) + "\n";
}

std::string values_csv(EnumerationReport const& report) {
  // Of a part, or where constraints exclude some, nobody counts all groups of a value.
  bool const whole = report.complete && !is_constrained(report);
  std::string text = "attribute,value,groups,discriminatory_groups\n";
  std::map<int, std::map<std::int32_t, ValueCount>> attributes;  // in the dataset's order
  for (std::size_t l = 0; l < report.plan.lists().size(); ++l) {
    auto const& list = report.plan.lists()[l];
    for (std::size_t member = 0; member < list.attributes.size(); ++member)
      attributes[list.attributes[member]] = count_values(report, l, member);
  }
  for (auto const& [attribute, values] : attributes) {
    for (auto const& [value, count] : values) {
      text +=
          fmt::format("{},{},{},{}\n", csv_cell(name_of(report, attribute)), value,
                      whole ? std::to_string(count.groups) : std::string(), count.discriminatory);
    }
  }
  return text;
}

std::string pairs_csv(EnumerationReport const& report) {
  Counts const counts(report);
  int const selected = static_cast<int>(report.subject.selected().size());
  std::string text;
  for (char const* side : {"greater", "lesser"}) {
    for (int s = 0; s < selected; ++s)
      text += csv_cell(std::string(side) + "_" + selected_name(report, s)) + ",";
  }
  text += "groups\n";
  for (int v = 0; v < counts.variants(); ++v) {
    for (int w = 0; w < counts.variants(); ++w) {
      if (v == w) continue;
      for (int s = 0; s < selected; ++s) text += fmt::format("{},", variant_value(report, v, s));
      for (int s = 0; s < selected; ++s) text += fmt::format("{},", variant_value(report, w, s));
      text += fmt::format("{}\n", counts.at(counts.layout().pair(v, w)));
    }
  }
  return text;
}

}  // namespace fairlane
