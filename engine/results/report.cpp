#include "engine/results/report.h"
#include "base/files.h"
#include "base/json.h"

#include <fmt/format.h>

namespace fairlane {
namespace {

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

}  // namespace

std::string csv_cell(std::string const& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
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
  json["severity"] = {{"mean", summary.severity_mean}, {"max", summary.severity_max}};
  json["undefined"] = found.undefined;
  json["undefined_similar"] = found.undefined_similar;
  if (summary.domain_share) json["domain_share"] = domain_share_json(*summary.domain_share);
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
  return json.dump(2) + "\n";
}

void write_trace(RunConfig const& config, TestSubject const& subject, SearchResult const& result,
                 OutputDir& out) {
  FileWriter file(out.partial("global.csv"));
  std::string line = "method,seed,found,iterations";
  for (auto const& attribute : subject.domain().attributes) line += "," + csv_cell(attribute.name);
  line += '\n';
  auto const width = subject.domain().attributes.size();
  for (std::size_t seed = 0; seed < result.global.size(); ++seed) {
    auto const& outcome = result.global[seed];
    line +=
        fmt::format("{},{},{},{}", config.method, seed, outcome.found ? 1 : 0, outcome.iterations);
    for (std::size_t a = 0; a < width; ++a)
      line += fmt::format(",{}", result.last_rows[seed * width + a]);
    line += '\n';
    file.write(line.data(), line.size());
    line.clear();
  }
  file.write(line.data(), line.size());
  file.close();
}

}  // namespace fairlane
