#include "engine/run.h"

#include <cstring>
#include <optional>

#include "engine/path_coverage.h"
#include "engine/recall.h"
#include "engine/stopwatch.h"
#include "kernels/core/error.h"

namespace fairlane {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

Summary summarize(TestSubject const& subject, SearchResult const& result,
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
  summary.success_rate = ratio(found.unique_instances, found.unique_generated);
  summary.evaluations_per_instance = ratio(result.counts.model_evaluations, found.unique_instances);
  summary.cut = result.cut.reason;
  summary.search_seconds = result.search_seconds;
  return summary;
}

}  // namespace

Summary run(RunConfig const& config, RunOptions const& options) {
  Stopwatch const start;
  auto const tell = [&](std::string const& line) {
    if (options.notice) options.notice(line);
  };
  TestSubject const subject(config, options.execution.model);
  MethodSpec const& method = find_method(config.method);
  require_usable(method, subject);
  for (auto const& notice : subject.notices()) tell(notice);
  std::optional<EnumeratedTotals> totals;
  if (!options.against.empty()) totals = read_totals(options.against, config, subject);
  // A run that repeats one which the clock ended is the same run.
  Cut const known = options.search.replay.value_or(Cut{});
  std::string const manifest = manifest_json(config, subject, known);
  OutputDir out(config.output.dir, manifest, options.overwrite);

  std::unique_ptr<Findings> findings;
  VisitSink const overflow = [&](Visits const& visits) { findings->add(visits); };
  auto const backend = options.backend ? options.backend(subject, overflow)
                                       : make_backend(subject, options.execution, config.seed,
                                                      overflow, tell, config.arithmetic);
  findings = std::make_unique<Findings>(backend->subject(), out.partial("spill"),
                                        memory_limit(options.execution) / kRecordShares);
  SeedSource const seeds(config, method, subject, backend.get());
  tell("backend: " + backend->name());

  SearchOptions search_options = options.search;
  search_options.trace = search_options.trace || config.output.trace;
  search_options.threads = thread_count(options.execution);
  Saving saving{out.state_path(),
                manifest,
                out.path(),
                findings.get(),
                CheckpointClock(options.execution.checkpoint, options.now),
                open_checkpoint(out.state_path(), manifest, tell),
                tell};
  if (can_resume(config, method)) search_options.saving = &saving;
  SearchResult const result = search(config, method, seeds, *backend, search_options);

  Stopwatch const write_start;
  std::optional<PathCoverage> coverage;
  if (config.output.path_coverage || method.kind == SearchKind::kSymbolic)
    coverage = path_coverage(subject, config.seed, *backend, *findings, result.cut.finder);
  findings->collect(*backend, result.cut.finder);
  findings->finish(result.cut.finder);
  Summary summary = summarize(subject, result, findings->counts());
  summary.method = method.name;
  summary.arithmetic = backend->arithmetic();
  summary.path_coverage = coverage;
  if (totals) {
    summary.all_instances = totals->instances;
    summary.all_groups = totals->groups;
  }
  summary.cluster_seconds = seeds.cluster_seconds();
  try {
    write_instances(config, subject, *findings, *backend, out, summary);
  } catch (Error const& error) {
    if (search_options.saving == nullptr || !is_model_failure(error)) throw;
    throw Error(ExitCode::kStopped,
                std::string(error.what()) +
                    "; the search is done and its state saved: the same command goes on");
  }
  if (config.output.trace) write_trace(config, subject, result, out);
  if (!options.search.replay && std::strcmp(result.cut.reason, "seconds") == 0) {
    out.set_manifest(manifest_json(config, subject, result.cut));
  }
  summary.write_seconds = write_start.seconds();
  summary.total_seconds = start.seconds() + result.earlier_seconds;
  out.write("summary.json", summary_json(summary));
  findings.reset();
  out.finish();
  return summary;
}

}  // namespace fairlane
