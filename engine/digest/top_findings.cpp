#include "engine/digest/top_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/threads/ordered_pipeline.h"
#include "engine/digest/best_findings.h"
#include "engine/digest/findings.h"
#include "engine/digest/results_digest.h"
#include "engine/digest/told_domain.h"
#include "engine/plausibility/plausibility_json.h"
#include "engine/plausibility/selection.h"
#include "engine/results/instance_files.h"
#include "engine/results/instances_reader.h"
#include "engine/results/table_plausibility.h"

namespace fairlane {
namespace digest {
namespace {

constexpr std::size_t kLongestAudit = std::size_t{1} << 30;

std::string path_text(std::string const& path) { return escaped(path, path.size()); }

/// The table's model, once it is known to be the table of the results.
PlausibilityModel recorded_plausibility(std::string const& dir, RecordedRun const& recorded,
                                        Domain const& domain, TopQuery const& query) {
  std::string const& table = recorded.config.data;
  if (table.empty()) {
    throw Error(
        ExitCode::kNoInput,
        fmt::format("{}/manifest.json: names no `data`, beside which findings are {}; "
                    "expected results with a table, or --sort severity or file",
                    path_text(dir),
                    query.order == FindingOrder::kPlausibility ? "plausible or not"
                                                               : "plausible and different"));
  }
  std::string const found = sha256_file(table);
  if (found != recorded.data_sha256) {
    throw Error(ExitCode::kData,
                fmt::format("{}: has changed since the results were written: its SHA-256 is {}, "
                            "expected {} as {}/manifest.json has it",
                            path_text(table), found, recorded.data_sha256, path_text(dir)));
  }
  return table_plausibility(recorded.config, domain, query.threads);
}

/// Of the pair that the file has: the severity, over all members of the similar set, only the model
/// could tell.
double gap(KeptFinding const& finding) {
  return std::fabs(static_cast<double>(finding.score) - static_cast<double>(finding.pair_score));
}

/// By what findings are sorted, the most plausible one first. Where a table has equal rows, many
/// people share one percentile of distance: surprise tells them apart.
std::pair<double, double> plausibility_rank(Plausibility const& one) {
  return {one.implausibility(), one.surprise};
}

/// What is known of a finding beside its file.
struct Shown {
  KeptFinding finding;
  std::optional<Plausibility> plausibility;
};

/// The findings of instances.*, from a file to those that are shown.
class TopInstances {
 public:
  TopInstances(std::string const& dir, RecordedRun const& recorded, Domain domain,
               TopQuery const& query);
  Json run();

 private:
  /// What some rows have.
  struct Best {
    BestFindings first;   // by the order's own rank
    BestFindings sample;  // by a hash of their profiles, where different ones are chosen: twice as
                          // many as are needed, since some are among the first
  };
  struct Block {
    InstanceBlock block;
    std::optional<Best> best;
  };

  void read();
  void add(Best& best, std::int64_t number, InstanceRecord const& record) const;
  char const* problem_of(InstanceRecord const& record) const;
  FindingRank rank_of(std::int64_t number, InstanceRecord const& record) const;
  Profile profile_of(std::int32_t const* row) const {
    return digest::profile_of({row, columns_.attributes()}, selected_);
  }
  std::vector<Shown> chosen();
  std::vector<Shown> with_plausibility(std::vector<KeptFinding> findings) const;
  std::vector<Shown> plausible();
  std::vector<Shown> different();
  Json json_of(Shown const& shown) const;

  Domain domain_;
  TopQuery const& query_;
  std::vector<int> selected_;
  InstanceColumns columns_;
  InstanceFile file_;
  std::optional<PlausibilityModel> model_;
  std::size_t most_;
  Best best_;
  // Of what was read so far; later rows that are no better are left out before they are copied.
  mutable std::mutex lock_;
  FindingRank first_limit_ = kNoCeiling;
  FindingRank sample_limit_ = kNoCeiling;
};

Domain with_bounds(Domain domain, std::string const& dir) {
  if (std::optional<Domain> const told = told_domain(dir)) take_bounds(domain, *told);
  return domain;
}

TopInstances::TopInstances(std::string const& dir, RecordedRun const& recorded, Domain domain,
                           TopQuery const& query)
    : domain_(with_bounds(std::move(domain), dir)),
      query_(query),
      selected_(selected_of(recorded.config, domain_, dir)),
      columns_(domain_, selected_, recorded.config.output),
      file_(dir, recorded.config.output.format, columns_),
      most_(query.order == FindingOrder::kPlausibility || query.order == FindingOrder::kDiversity
                ? std::max(query.count, query.candidates)
                : query.count),
      best_{BestFindings(most_), BestFindings(2 * most_)} {
  OutputConfig const& output = recorded.config.output;
  if (output.format == OutputFormat::kNone) {
    throw Error(ExitCode::kNoInput,
                fmt::format("{}: has no findings, since output.format is none; expected csv, npy "
                            "or parquet",
                            path_text(dir)));
  }
  bool const by_score =
      query.order == FindingOrder::kSeverity || query.order == FindingOrder::kDiversity;
  if (by_score && !columns_.has_scores()) {
    throw Error(ExitCode::kData,
                fmt::format("{}: has no scores, by which --sort {} goes, since output.columns is "
                            "{}; expected results of output.columns: all",
                            path_text(dir), name_of(query.order), name_of(output.columns)));
  }
  if (query.order == FindingOrder::kPlausibility || query.order == FindingOrder::kDiversity)
    model_.emplace(recorded_plausibility(dir, recorded, domain_, query));
}

/// Why a row is no finding of the domain; null where it is one.
char const* TopInstances::problem_of(InstanceRecord const& record) const {
  for (std::size_t a = 0; a < columns_.attributes(); ++a) {
    if (!domain_.attributes[a].allows(record.row[a])) return "a code lies outside the domain";
  }
  for (std::size_t s = 0; s < columns_.selected(); ++s) {
    if (!domain_.attributes[static_cast<std::size_t>(selected_[s])].allows(record.pair[s]))
      return "a code of the pair lies outside the domain";
  }
  if (!std::isfinite(record.score) || !std::isfinite(record.pair_score))
    return "a score is no finite number";
  return nullptr;
}

FindingRank TopInstances::rank_of(std::int64_t number, InstanceRecord const& record) const {
  switch (query_.order) {
    case FindingOrder::kFile:
      return {0.0, 0.0, number};
    case FindingOrder::kPlausibility:
      return {model_->tree().surprise(record.row), 0.0, number};
    case FindingOrder::kSeverity:
    case FindingOrder::kDiversity:
      break;
  }
  double const score = record.score;
  return {-std::fabs(score - static_cast<double>(record.pair_score)), 0.0, number};
}

void TopInstances::add(Best& best, std::int64_t number, InstanceRecord const& record) const {
  FindingRank const rank = rank_of(number, record);
  if (rank < best.first.limit())
    best.first.add(rank, profile_of(record.row), kept_finding(columns_, number, record));
  if (query_.order != FindingOrder::kDiversity) return;
  constexpr int kSpare = 11;  // bits of a hash that a double does not hold
  std::uint64_t const hash = hash_of_profile({record.row, columns_.attributes()}, selected_);
  FindingRank const by_hash = {static_cast<double>(hash >> kSpare), rank.key, number};
  if (by_hash < best.sample.limit())
    best.sample.add(by_hash, profile_of(record.row), kept_finding(columns_, number, record));
}

void TopInstances::read() {
  auto const fail = [&](std::int64_t number, char const* what) {
    throw data_error(file_.place(number), what);
  };
  auto const work = [&](Block& one) {
    {
      std::lock_guard const guard(lock_);
      one.best = Best{BestFindings(most_, first_limit_), BestFindings(2 * most_, sample_limit_)};
    }
    file_.parse(
        one.block,
        [&](std::int64_t number, InstanceRecord const& record) {
          if (char const* const problem = problem_of(record)) fail(number, problem);
          add(*one.best, number, record);
        },
        fail);
  };
  auto const merge = [&](Block& one) {
    best_.first.add(std::move(one.best->first));
    best_.sample.add(std::move(one.best->sample));
    std::lock_guard const guard(lock_);
    first_limit_ = best_.first.limit();
    sample_limit_ = best_.sample.limit();
  };
  OrderedPipeline<Block> pipeline(query_.threads, work, merge);
  while (query_.order != FindingOrder::kFile || best_.first.size() < most_) {
    Block& one = pipeline.slot();
    if (!file_.next(one.block)) break;
    pipeline.submit();
  }
  pipeline.drain();
  file_.require_listed_rows();
}

std::vector<Shown> TopInstances::with_plausibility(std::vector<KeptFinding> findings) const {
  std::vector<std::int32_t> rows;
  for (KeptFinding const& one : findings) rows.insert(rows.end(), one.row.begin(), one.row.end());
  std::vector<Plausibility> const scores = model_->score(rows);
  std::vector<Shown> shown;
  for (std::size_t i = 0; i < findings.size(); ++i)
    shown.push_back({std::move(findings[i]), scores[i]});
  return shown;
}

/// The most plausible of those of least surprise.
std::vector<Shown> TopInstances::plausible() {
  std::vector<Shown> shown = with_plausibility(best_.first.take());
  std::ranges::sort(shown, {}, [](Shown const& one) {
    return std::pair(plausibility_rank(*one.plausibility), one.finding.number);
  });
  shown.resize(std::min(shown.size(), query_.count));
  return shown;
}

/// Of those with the widest pairs and of as many others.
std::vector<Shown> TopInstances::different() {
  std::vector<KeptFinding> others = best_.sample.take();
  std::erase_if(others,
                [&](auto const& one) { return best_.first.has(profile_of(one.row.data())); });
  others.resize(std::min(most_, others.size()));
  std::vector<KeptFinding> people = best_.first.take();
  std::ranges::move(others, std::back_inserter(people));
  std::vector<Shown> const all = with_plausibility(std::move(people));
  std::vector<std::int32_t> rows;
  std::vector<double> differences;
  std::vector<Plausibility> plausibility;
  for (Shown const& one : all) {
    rows.insert(rows.end(), one.finding.row.begin(), one.finding.row.end());
    differences.push_back(gap(one.finding));
    plausibility.push_back(*one.plausibility);
  }
  std::vector<Shown> shown;
  for (std::size_t const i :
       choose_different(*model_, rows, differences, plausibility, query_.count))
    shown.push_back(all[i]);
  return shown;
}

std::vector<Shown> TopInstances::chosen() {
  if (query_.order == FindingOrder::kPlausibility) return plausible();
  if (query_.order == FindingOrder::kDiversity) return different();
  std::vector<Shown> shown;
  for (KeptFinding& one : best_.first.take()) shown.push_back({std::move(one), std::nullopt});
  return shown;
}

Json TopInstances::json_of(Shown const& shown) const {
  KeptFinding const& one = shown.finding;
  Json json = {{"place", file_.place(one.number)}};
  for (std::size_t a = 0; a < one.row.size(); ++a)
    json["codes"].add_member(domain_.attributes[a].name, one.row[a]);
  if (columns_.has_labels()) {
    Json const pair = finding_json(domain_, columns_, selected_, one);
    for (auto const& [key, value] : pair.items()) json.add_member(key, value);
  } else {
    for (std::size_t a = 0; a < one.row.size(); ++a)
      json["words"].add_member(domain_.attributes[a].name, domain_.attributes[a].word(one.row[a]));
  }
  if (columns_.has_scores()) json["pair_difference"] = gap(one);
  if (shown.plausibility) json["plausibility"] = plausibility_json(*shown.plausibility);
  return json;
}

Json TopInstances::run() {
  read();
  Json json = {{"sort", name_of(query_.order)}, {"count", nullptr}};
  std::int64_t count = 0;
  bool is_known = true;
  for (InstanceFileFacts const& one : file_.files()) {
    is_known = is_known && one.rows >= 0;
    count += one.rows;
  }
  if (is_known) json["count"] = count;
  json["findings"] = Json::array();
  for (Shown const& one : chosen()) json["findings"].push_back(json_of(one));
  return json;
}

/// A finding of an audit, and what it is sorted by.
struct AuditFinding {
  Json json;
  double severity = 0.0;
  Plausibility plausibility;
};

/// Those of all sets, in the file's order.
std::vector<AuditFinding> findings_of(Json const& audit) {
  std::vector<AuditFinding> all;
  for (Json const& set : audit.at("sets")) {
    for (Json const& finding : set.at("findings")) {
      AuditFinding& one = all.emplace_back();
      one.json["set"] = set.at("name").get<std::string>();
      for (auto const& [key, value] : finding.items()) one.json[key] = value;
      one.severity = finding.at("severity").get<double>();
      one.plausibility = plausibility_of(finding.at("plausibility"));
    }
  }
  return all;
}

/// Those that are severe, plausible and different from each other.
std::vector<AuditFinding> different_of(std::vector<AuditFinding> const& all, Domain const& domain,
                                       PlausibilityModel const& model, std::size_t count) {
  std::vector<std::int32_t> rows;
  std::vector<double> severity;
  std::vector<Plausibility> plausibility;
  for (AuditFinding const& one : all) {
    for (Attribute const& attribute : domain.attributes)
      rows.push_back(one.json.at("codes").at(attribute.name).get<std::int32_t>());
    severity.push_back(one.severity);
    plausibility.push_back(one.plausibility);
  }
  std::vector<AuditFinding> chosen;
  for (std::size_t const i : choose_different(model, rows, severity, plausibility, count))
    chosen.push_back(all[i]);
  return chosen;
}

Json top_of_audit(std::string const& dir, RecordedRun const& recorded, Domain const& domain,
                  TopQuery const& query) {
  std::string const path = dir + "/audit.json";
  std::string const text = read_file(path, kLongestAudit);
  try {
    std::vector<AuditFinding> all = findings_of(Json::parse(text));
    Json json = {
        {"sort", name_of(query.order)}, {"count", all.size()}, {"findings", Json::array()}};
    if (query.order == FindingOrder::kSeverity)
      std::ranges::stable_sort(all, std::greater<>(), &AuditFinding::severity);
    if (query.order == FindingOrder::kPlausibility) {
      std::ranges::stable_sort(
          all, {}, [](AuditFinding const& one) { return plausibility_rank(one.plausibility); });
    }
    if (query.order == FindingOrder::kDiversity) {
      all = different_of(all, domain, recorded_plausibility(dir, recorded, domain, query),
                         query.count);
    }
    std::set<std::string> shown;  // several sets may show the same person
    for (AuditFinding& one : all) {
      if (shown.size() == query.count) break;
      if (!shown.insert(one.json.at("codes").dump()).second) continue;
      json["findings"].push_back(std::move(one.json));
    }
    return json;
  } catch (JsonError const& error) {
    throw no_result(path, error);
  }
}

}  // namespace
}  // namespace digest

Json top_findings(std::string const& dir, RecordedRun const& recorded, Domain domain,
                  TopQuery const& query) {
  if (recorded.command == "audit") return digest::top_of_audit(dir, recorded, domain, query);
  if (recorded.lists_instances) require_instance_index(dir);
  return digest::TopInstances(dir, recorded, std::move(domain), query).run();
}

}  // namespace fairlane
