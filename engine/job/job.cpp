#include "engine/job/job.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace fairlane {
namespace {

constexpr char const* kSeconds = "seconds";  // section: double [1], of all sessions so far
constexpr std::size_t kLongestPath = 4096;

CheckpointClock clock_of(std::optional<StateFile> const& state) {
  return state ? CheckpointClock(state->distance, state->now) : CheckpointClock(0.0);
}

}  // namespace

void JobProgress::begin(int next_phase, std::int64_t todo, std::int64_t done_before) {
  phase = next_phase;
  done = done_before;
  resumed = done_before;
  total = todo;
}

void JobProgress::found(std::int64_t so_far) {
  instances.store(so_far, std::memory_order_relaxed);
  double none = -1.0;
  if (so_far > 0 && first_seconds.load(std::memory_order_relaxed) == none)
    first_seconds.compare_exchange_strong(none, since_made.seconds());
}

std::string JobTask::resumed_text(std::string const& done) const {
  return fmt::format("goes on from the saved state: {} are done", done);
}

std::string JobTask::stopped_text(std::string const& what, std::string const& done,
                                  std::string const& place) const {
  return fmt::format("{}; state saved in {}, {} done: the same command goes on", what, place, done);
}

Job::Job(JobTask& task, JobOptions options)
    : task_(task),
      options_(std::move(options)),
      progress_(options_.progress != nullptr ? options_.progress : &unwatched_),
      clock_(clock_of(options_.state)) {}

void Job::run() {
  if (!saves()) return task_.work();
  try {
    resume();
    since_resumed_ = {};
    task_.work();
  } catch (Error const& error) {
    stop(error);
  }
}

void Job::resume() {
  StateFile const& file = *options_.state;
  auto const state = open_checkpoint(file.path, file.identity, options_.tell);
  if (state == nullptr) return;
  for (double const seconds : state->values<double>(kSeconds)) earlier_seconds_ = seconds;
  task_.read_state(*state);
  resumed_ = true;
  saved_ = task_.done();
  tell(task_.resumed_text(saved_));
}

void Job::save() {
  CheckpointWriter state(options_.state->path, options_.state->identity);
  state.add(kSeconds, std::vector<double>{seconds()});
  task_.write_state(state);
  state.commit();
  saved_ = task_.done();
}

void Job::save_on_the_way() {
  if (stopped()) return;
  clock_.run([this] {
    try {
      save();
    } catch (Error const& error) {
      if (error.code() == ExitCode::kStopped || is_model_failure(error)) throw;
      tell(fmt::format("{}; the state was not saved, the {} goes on", error.what(), task_.name()));
    }
  });
}

void Job::stop(Error const& error) {
  bool const was_asked = error.code() == ExitCode::kInterrupted;
  bool const may_pass = task_.asks_model() && is_model_failure(error);
  bool const can_save = (was_asked || may_pass) && task_.can_save();
  if (!was_asked && !can_save && error.code() != ExitCode::kStopped) throw Error(error);
  std::string what = was_asked ? "stopped" : error.what();
  if (can_save) {
    try {
      save();
    } catch (Error const& problem) {
      if (saved_.empty()) throw;
      what += fmt::format("; {}", problem.what());
    }
  }
  throw Error(ExitCode::kStopped,
              saved_.empty()
                  ? fmt::format("{}; nothing was saved yet: the same command begins anew", what)
                  : task_.stopped_text(what, saved_, escaped(options_.state->place, kLongestPath)));
}

double Job::seconds_left() const {
  std::int64_t const done = progress_->done - progress_->resumed;
  std::int64_t const left = progress_->total - progress_->done;
  return done > 0 ? since_resumed_.seconds() * static_cast<double>(left) / static_cast<double>(done)
                  : 0.0;
}

bool is_model_failure(Error const& error) {
  return error.code() == ExitCode::kUnavailable || error.code() == ExitCode::kData;
}

}  // namespace fairlane
