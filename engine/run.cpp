#include "engine/run.h"

#include <chrono>
#include <cstring>

namespace fairlane {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  auto const start = Clock::now();
  auto const tell = [&](std::string const& line) {
    if (options.notice) options.notice(line);
  };
  TestSubject const subject(config);
  MethodSpec const& method = find_method(config.method);
  for (auto const& notice : subject.notices()) tell(notice);
  SeedSource const seeds(config, method, subject);
  // A run that repeats one which the clock ended is the same run.
  Cut const known = options.search.replay.value_or(Cut{});
  OutputDir out(config.output.dir, manifest_json(config, subject, known), options.overwrite);

  std::unique_ptr<Findings> findings;
  auto const backend = make_backend(
      subject, options.execution, config.seed, [&](Visits const& visits) { findings->add(visits); },
      tell);
  findings = std::make_unique<Findings>(backend->subject(), out.partial("spill"),
                                        memory_limit(options.execution) / kRecordShares);
  tell("backend: " + backend->name());

  SearchOptions search_options = options.search;
  search_options.trace = search_options.trace || config.output.trace;
  SearchResult const result = search(config, method, seeds, *backend, search_options);

  auto const write_start = Clock::now();
  findings->collect(*backend, result.cut.finder);
  findings->finish(result.cut.finder);
  Summary summary = summarize(subject, result, findings->counts());
  summary.method = method.name;
  summary.cluster_seconds = seeds.cluster_seconds();
  write_instances(config, subject, *findings, *backend, out, summary);
  if (config.output.trace) write_trace(config, subject, result, out);
  if (!options.search.replay && std::strcmp(result.cut.reason, "seconds") == 0) {
    out.set_manifest(manifest_json(config, subject, result.cut));
  }
  summary.write_seconds = seconds_since(write_start);
  summary.total_seconds = seconds_since(start);
  out.write("summary.json", summary_json(summary));
  findings.reset();
  out.finish();
  return summary;
}

}  // namespace fairlane
