#include "engine/results/summary.h"

#include <cmath>

#include "base/formats/json.h"

namespace fairlane {
namespace {

/// Counts of a domain may exceed every integer.
Json whole_or_double(double count) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (count <= kMostExact) return static_cast<std::int64_t>(count);
  return count;
}

Json little_found_json(LittleFound const& little) {
  Json json = {{"share_at_most", little.share_at_most}};
  if (little.share_at_most) {
    json["instances_at_most"] = whole_or_double(std::floor(*little.share_at_most * little.inputs));
    json["confidence"] = little.confidence;
  }
  json["enumeration"] = nullptr;
  if (little.inputs <= kMostEnumerated) {
    json["enumeration"] = {{"groups", whole_or_double(little.groups)},
                           {"model_evaluations", whole_or_double(little.inputs)}};
  }
  return json;
}

}  // namespace

Json domain_share_json(DomainShare const& found) {
  if (!found.skipped.empty()) return {{"share", nullptr}, {"skipped", found.skipped}};
  return {{"share", found.share},
          {"low", found.low},
          {"high", found.high},
          {"confidence", found.confidence},
          {"source", found.source},
          {"groups", found.groups},
          {"undefined_groups", found.undefined_groups}};
}

std::string summary_json(Summary const& summary) {
  auto const& search = summary.search;
  auto const& found = summary.found;
  Json json;
  json["method"] = summary.method;
  json["arithmetic"] = name_of(summary.arithmetic);
  if (!summary.scores.empty()) json["scores"] = summary.scores;
  json["protected"] = summary.protected_attributes;
  json["variants"] = summary.variants;
  json["counts"] = {
      {"global_seeds", search.global_seeds},   {"global_found", search.global_found},
      {"global_unique", search.global_unique}, {"unique_instances", found.unique_instances},
      {"unique_groups", found.unique_groups},  {"unique_generated", found.unique_generated},
      {"iterations", search.iterations},       {"model_evaluations", search.model_evaluations}};
  json["success_rate"] = summary.success_rate;
  json["evaluations_per_instance"] = summary.evaluations_per_instance;
  if (summary.severity_mean)
    json["severity"] = {{"mean", *summary.severity_mean}, {"max", *summary.severity_max}};
  json["undefined"] = found.undefined;
  json["undefined_similar"] = found.undefined_similar;
  if (summary.at_least) {
    json["plausibility"] = {{"at_least", *summary.at_least}, {"left_out", found.infeasible}};
  } else if (summary.constrained) {
    json["infeasible"] = found.infeasible;
  }
  if (summary.weight) json["plausibility"]["weight"] = *summary.weight;
  if (summary.domain_share) json["domain_share"] = domain_share_json(*summary.domain_share);
  if (summary.little_found) json["little_found"] = little_found_json(*summary.little_found);
  if (summary.agreement) json["agreement"] = *summary.agreement;
  if (summary.all_instances >= 0) {
    auto const share = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    double const recall = share(found.unique_instances, summary.all_instances);
    double const millions = static_cast<double>(search.model_evaluations) * 1e-6;
    json["recall"] = {
        {"instances", recall},
        {"groups", share(found.unique_groups, summary.all_groups)},
        {"instances_per_million_evaluations", millions > 0.0 ? recall / millions : 0.0}};
  }
  if (summary.path_coverage) {
    json["path_coverage"] = {{"covered", summary.path_coverage->covered},
                             {"paths", summary.path_coverage->paths}};
  }
  if (!summary.cut.empty()) json["budget"] = summary.cut;
  json["signature"] = summary.signature;
  if (summary.arithmetic == Arithmetic::kFast) {
    json["signature_note"] = "fast arithmetic: depends on the device and its library";
  }
  json["timing"] = {{"cluster_seconds", summary.cluster_seconds},
                    {"search_seconds", summary.search_seconds},
                    {"sample_seconds", summary.sample_seconds},
                    {"write_seconds", summary.write_seconds},
                    {"total_seconds", summary.total_seconds}};
  if (summary.little_found && summary.little_found->seconds)
    json["timing"]["enumeration_seconds_at_most"] = *summary.little_found->seconds;
  return json.dump(2) + "\n";
}

}  // namespace fairlane
