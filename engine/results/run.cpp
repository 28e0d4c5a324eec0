#include "engine/results/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/record/findings.h"
#include "engine/record/output_dir.h"
#include "engine/results/instance_files.h"
#include "engine/results/instances.h"
#include "engine/results/manifest.h"
#include "engine/results/recall.h"
#include "engine/results/results_page.h"
#include "engine/results/shared_findings.h"
#include "engine/results/table_models.h"
#include "engine/results/trace.h"
#include "engine/search/symbolic/path_coverage.h"
#include "engine/search/workload.h"
#include "engine/subject/row_labels.h"

namespace fairlane {
namespace {

/// A folder of a rank that writes no results; removed at the end, and what is empty above it, where
/// ranks share no disk.
class OwnFolder {
 public:
  explicit OwnFolder(std::string path) : path_(std::move(path)) {}
  ~OwnFolder() {
    std::error_code ec;
    if (std::filesystem::remove_all(path_, ec) == 0) return;
    std::filesystem::path above = path_.parent_path();
    for (int levels = 0; levels < 3 && std::filesystem::remove(above, ec); ++levels)
      above = above.parent_path();
  }
  OwnFolder(OwnFolder const&) = delete;
  OwnFolder& operator=(OwnFolder const&) = delete;

 private:
  std::filesystem::path path_;
};

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Summary summarize(RunConfig const& config, TestSubject const& subject, SearchResult const& result,
                  FindingCounts const& found) {
  Summary summary;
  for (std::int32_t const a : subject.selected()) {
    summary.protected_attributes.push_back(
        subject.domain().attributes[static_cast<std::size_t>(a)].name);
  }
  if (subject.model().scorer()) summary.scores = name_of(subject.model().scores());
  summary.variants = subject.variants();
  summary.search = result.counts;
  summary.found = found;
  summary.constrained = !subject.constraints().empty();
  if (subject.limits_findings()) summary.at_least = config.plausibility.at_least;
  if (subject.weighs_surprise()) summary.weight = config.plausibility.weight;
  summary.success_rate = ratio(found.unique_instances, found.unique_generated);
  summary.evaluations_per_instance = ratio(result.counts.model_evaluations, found.unique_instances);
  summary.cut = result.cut.reason;
  summary.search_seconds = result.search_seconds;
  return summary;
}

/// Inputs of the domain that a search could meet.
double domain_inputs(TestSubject const& subject) {
  auto inputs = static_cast<double>(subject.variants());
  auto const& attributes = subject.domain().attributes;
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    auto const& selected = subject.selected();
    if (std::ranges::find(selected, static_cast<std::int32_t>(a)) == selected.end())
      inputs *= static_cast<double>(attributes[a].code_count());
  }
  return inputs;
}

/// The share that an enumeration or a sample knows, at least what the run itself has found.
std::optional<DomainShare> find_domain_share(RunConfig const& config, TestSubject const& subject,
                                             RunOptions const& options,
                                             std::optional<EnumeratedTotals> const& totals,
                                             FindingCounts const& found) {
  if (totals) return totals->share;
  if (!options.domain_share) return std::nullopt;
  DomainShare share = options.domain_share(config, subject);
  if (share.skipped.empty()) {
    double const known = static_cast<double>(found.unique_instances) / domain_inputs(subject);
    share.low = std::max(share.low, known);
    share.share = std::max(share.share, share.low);
    share.high = std::max(share.high, share.share);
  }
  return share;
}

/// Fewer distinct groups than these tell as little as none of what else there is.
constexpr std::int64_t kFewGroups = 10;
/// Nor does a search that finds an IDI among fewer than one in so many tried inputs.
constexpr std::int64_t kRareInputs = 1000;

/// What a run that found little leaves open; none where it found more, or where all is counted.
std::optional<LittleFound> find_little(TestSubject const& subject, Summary const& summary) {
  FindingCounts const& found = summary.found;
  bool const is_little = found.unique_groups < kFewGroups ||
                         found.unique_instances < found.unique_generated / kRareInputs;
  auto const& share = summary.domain_share;
  bool const is_known = share && share->skipped.empty();
  bool const is_counted = is_known && share->source != "sample";
  // An enumeration does not ask how plausible its findings are.
  if (!is_little || is_counted || subject.limits_findings()) return std::nullopt;
  LittleFound little;
  little.inputs = domain_inputs(subject);
  little.groups = little.inputs / static_cast<double>(subject.variants());
  if (is_known) {
    little.share_at_most = share->high;
    little.confidence = share->confidence;
  }
  return little;
}

/// What has failed after the search, with what the same command does about it where a device or a
/// model has: a model's search has saved its end, a device's what it last saved.
Error resumable(Error const& error, std::string const& state) {
  if (is_model_failure(error)) {
    return {ExitCode::kStopped,
            fmt::format("{}; the search is done and its state saved: the same command goes on",
                        error.what())};
  }
  if (error.code() != ExitCode::kStopped) return error;
  return {ExitCode::kStopped,
          fmt::format("{}; {}", error.what(),
                      std::filesystem::exists(state)
                          ? "the search's last state is saved: the same command goes on"
                          : "nothing was saved yet: the same command begins anew")};
}

}  // namespace

Summary run(RunConfig const& config, RunOptions const& options) {
  Stopwatch const start;
  auto const tell = [&](std::string const& line) {
    if (options.notice) options.notice(line);
  };
  require_format(config);
  TestSubject const subject(config, options.execution.model);
  MethodSpec const& method = find_method(config.method);
  require_usable(method, subject);
  Ranks* const ranks = options.search.ranks;
  if (ranks != nullptr) require_sharable(config, method, options.search.replay.has_value());
  for (auto const& notice : subject.notices()) tell(notice);
  std::optional<EnumeratedTotals> totals;
  if (!options.against.empty()) totals = read_totals(options.against, config, subject);
  // A run that repeats one which the clock ended is the same run.
  Cut const known = options.search.replay.value_or(Cut{});
  std::string const manifest = manifest_json(config, subject, known);
  if (ranks != nullptr) require_same(*ranks, manifest, "inputs");
  std::optional<OutputDir> own_out;  // of rank 0, before the others write temporary files there
  if (ranks == nullptr || ranks->is_first())
    own_out.emplace(config.output.dir, manifest, options.overwrite);
  TableModels models;  // of the table as the manifest has it
  if (own_out)
    models = table_models(config, subject, thread_count(options.execution), options.search.stop);
  std::string spill = own_out ? own_out->partial("spill") : "";
  std::optional<OwnFolder> own_spill;
  if (ranks != nullptr) {
    spill = fmt::format("{}/rank{}", ranks->broadcast(spill), ranks->rank());
    if (!own_out) own_spill.emplace(spill);
  }

  std::unique_ptr<Findings> findings;
  VisitSink const overflow = [&](Visits const& visits) { findings->add(visits); };
  Execution const execution = options.backend ? options.execution
                                              : weighed(options.execution, subject,
                                                        search_workload(config, method, subject));
  auto const backend = options.backend ? options.backend(subject, overflow)
                                       : make_backend(subject, execution, config.seed, overflow,
                                                      tell, config.arithmetic);
  Findings::Options const keeping = {spill, memory_limit(options.execution) / kRecordShares,
                                     thread_count(options.execution),
                                     config.output.columns != OutputColumns::kAll};
  findings = std::make_unique<Findings>(backend->subject(), keeping);
  SeedSource const seeds(config, method, subject, backend.get());
  tell(backend_line(*backend, execution));

  SearchOptions search_options = options.search;
  search_options.trace = search_options.trace || config.output.trace;
  search_options.threads = thread_count(options.execution);
  search_options.tell = tell;
  search_options.findings = findings.get();
  bool const saves = ranks == nullptr && can_resume(config, method);
  if (saves) {
    search_options.state = StateFile{own_out->state_path(), manifest, own_out->path(),
                                     options.execution.checkpoint, options.now};
  } else if (own_out) {
    open_checkpoint(own_out->state_path(), manifest, tell);  // another run's is removed
  }
  SearchResult const result = search(config, method, seeds, *backend, search_options);
  if (ranks != nullptr) {
    findings = gather_findings(*ranks, backend->subject(), *findings, *backend, result.cut.finder,
                               keeping);
    if (!own_out) return {};
  }
  OutputDir& out = *own_out;

  Stopwatch const write_start;
  Summary summary;
  try {
    std::optional<PathCoverage> coverage;
    if (config.output.path_coverage || method.kind == SearchKind::kSymbolic)
      coverage = path_coverage(subject, config.seed, *backend, *findings, result.cut.finder);
    if (ranks == nullptr) {
      findings->collect(*backend, result.cut.finder);
      findings->finish(result.cut.finder);
    }
    summary = summarize(config, subject, result, findings->counts());
    summary.method = method.name;
    summary.arithmetic = backend->arithmetic();
    summary.path_coverage = coverage;
    if (totals) {
      summary.all_instances = totals->instances;
      summary.all_groups = totals->groups;
    }
    summary.cluster_seconds = seeds.cluster_seconds();
    Stopwatch const sample_start;
    summary.domain_share = find_domain_share(config, subject, options, totals, findings->counts());
    summary.little_found = find_little(subject, summary);
    if (summary.little_found && options.walk_seconds)
      summary.little_found->seconds = options.walk_seconds(config, subject);
    if (options.agreement) {
      if (auto const agreed = label_agreement(subject, *backend))
        summary.agreement = agreed->share();
    }
    summary.sample_seconds = sample_start.seconds();
    InstanceTotals const written =
        write_instances(config, subject, *findings, *backend, models, out);
    summary.signature = written.signature;
    summary.severity_mean = written.severity_mean;
    summary.severity_max = written.severity_max;
  } catch (Error const& error) {
    if (!saves) throw;
    throw resumable(error, out.state_path());
  }
  if (config.output.trace) write_trace(config, subject, result, out);
  if (!options.search.replay && std::strcmp(result.cut.reason, "seconds") == 0) {
    out.set_manifest(manifest_json(config, subject, result.cut));
  }
  summary.write_seconds = write_start.seconds();
  summary.total_seconds = start.seconds() + result.earlier_seconds;
  out.write("summary.json", summary_json(summary));
  findings.reset();
  write_results_page(config, options.execution, out);
  out.finish();
  return summary;
}

}  // namespace fairlane
