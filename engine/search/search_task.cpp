#include "engine/search/search_task.h"

#include <algorithm>
#include <cstring>

namespace fairlane {
namespace {

constexpr char const* kVisits = "visits";  // section: uint64 [visits][stride], see Findings
constexpr std::size_t kRecordsAtOnce = std::size_t{1} << 16;

/// A search may take the configured seconds, unless it repeats a run, whose end is known.
JobOptions job_options(RunConfig const& config, SearchOptions const& options) {
  JobOptions job = options;
  if (!options.replay) job.seconds = config.budget.seconds;
  return job;
}

}  // namespace

SearchTask::SearchTask(RunConfig const& config, SeedSource const& seeds, Backend& backend,
                       SearchOptions const& options)
    : config_(config),
      seeds_(seeds),
      backend_(backend),
      options_(options),
      job_(*this, job_options(config, options)) {}

SearchResult SearchTask::run() {
  job_.run();
  count();
  result_.search_seconds = job_.seconds();
  result_.earlier_seconds = job_.earlier_seconds();
  return std::move(result_);
}

void SearchTask::work() {
  search();
  // Instances are described by asking a scorer again, which may fail.
  if (job_.saves() && !backend_.subject().is_network()) job_.save();
}

void SearchTask::write_visits(CheckpointWriter& state) {
  state.section(kVisits);
  Findings& findings = *options_.findings;
  findings.save(backend_, [&](std::uint64_t const* records, std::size_t n) {
    state.write(records, n * findings.stride() * sizeof *records);
  });
}

void SearchTask::read_visits(CheckpointReader const& state) {
  Findings& findings = *options_.findings;
  std::size_t const stride = findings.stride();
  std::vector<std::uint64_t> records;
  state.read(kVisits, kRecordsAtOnce * stride * sizeof(std::uint64_t),
             [&](void const* data, std::size_t bytes) {
               records.resize(bytes / sizeof(std::uint64_t));
               std::memcpy(records.data(), data, bytes);
               findings.restore(records.data(), records.size() / stride);
             });
}

std::optional<std::uint64_t> SearchTask::nth_instance(std::int64_t n) {
  if (backend_.overflowed()) {
    throw Error(
        ExitCode::kMemory,
        "budget.instances: the record of visited inputs is full at " +
            std::to_string(backend_.visited()) +
            " inputs, so distinct instances cannot be counted on the way; use another budget");
  }
  std::vector<std::uint64_t> finders;
  backend_.collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      if ((visits.state[i] & kVisitHit) != 0) finders.push_back(visits.finder[i]);
    }
  });
  if (static_cast<std::int64_t>(finders.size()) < n) return std::nullopt;
  auto const nth = finders.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(finders.begin(), nth, finders.end());
  return *nth;
}

}  // namespace fairlane
