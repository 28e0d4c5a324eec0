// Work that takes long: it can be stopped, and goes on in another process from what was saved of
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"
#include "engine/job/checkpoint.h"

namespace fairlane {

/// What a watcher may show while a job runs, such as a search.
struct JobProgress {
  std::atomic<int> phase{0};             // 0 global, 1 local
  std::atomic<std::int64_t> done{0};     // seeds, origins, trials, groups finished in this phase
  std::atomic<std::int64_t> resumed{0};  // of these, in earlier sessions
  std::atomic<std::int64_t> total{0};
  std::atomic<std::int64_t> iterations{0};  // tests and steps of all phases
  std::atomic<std::int64_t> instances{0};   // distinct IDIs so far
  std::atomic<double> first_seconds{
      -1.0};  // from when this was made to the first of them; -1: none
  Stopwatch since_made;

  /// done_before: in earlier sessions
  void begin(int next_phase, std::int64_t todo, std::int64_t done_before);
  /// So many IDIs so far. Any thread.
  void found(std::int64_t so_far);
};

/// Where a job's state is kept from one session to the next.
struct StateFile {
  std::string path;
  std::string identity;           // what the state belongs to: the manifest
  std::string place;              // for people: the output directory
  double distance = 0.0;          // seconds between two saves, 0: only when the job is stopped
  CheckpointClock::Now now = {};  // empty: the time that passes
};

/// What a job is given by whoever starts it.
/// stop      set by a signal: the job ends with Error(kInterrupted), or kStopped where its state is
///           saved
/// progress  null: nobody watches
/// tell      takes lines for people
/// seconds   budget of all sessions together; none: no end
/// passed    seconds since the job began; empty: those that pass; tests bring their own
/// state     none: nothing is saved
struct JobOptions {
  std::atomic<bool> const* stop = nullptr;
  JobProgress* progress = nullptr;
  std::function<void(std::string const&)> tell;
  std::optional<double> seconds;
  std::function<double()> passed;
  std::optional<StateFile> state;
};

/// A command's part in its job. One call at a time.
class JobTask {
 public:
  virtual ~JobTask() = default;
  /// Does what read_state() has left, and looks at the job again and again. Throws Error.
  virtual void work() = 0;
  /// Adds what is done, section by section. Nothing is worked on meanwhile. Throws Error.
  virtual void write_state(CheckpointWriter& state) = 0;
  /// Takes what an earlier session has done. Throws Error.
  virtual void read_state(CheckpointReader const& state) = 0;
  /// How much is done: "300 of 812 origins".
  virtual std::string done() const = 0;
  /// Whether what is done is whole, and worth saving.
  virtual bool can_save() const { return true; }
  /// Whether it asks a model, whose failure the same command may not meet again.
  virtual bool asks_model() const { return true; }

  /// Words for people. done: of the state on disk
  virtual char const* name() const { return "search"; }
  virtual std::string resumed_text(std::string const& done) const;
  virtual std::string stopped_text(std::string const& what, std::string const& done,
                                   std::string const& place) const;
};

/// Stops, saves and resumes a task. Its clock runs from when it is made. Unless told otherwise, one
/// thread at a time.
class Job {
 public:
  Job(JobTask& task, JobOptions options);
  Job(Job const&) = delete;
  Job& operator=(Job const&) = delete;

  /// Does the task's work, from the saved state on where there is one. Throws what the work throws;
  /// where a state is kept, what was asked to stop, a model that has failed, and Error(kStopped) of
  /// a device end with Error(kStopped), which says whether and where the state is saved.
  void run();

  /// Whether the user wants the work to end. Any thread.
  bool stopped() const {
    return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  }
  /// Throws Error(kInterrupted) where the user wants that. Any thread.
  void check_stop() const {
    if (stopped()) throw Error(ExitCode::kInterrupted, "interrupted; nothing was written");
  }
  /// Seconds of all sessions. Any thread.
  double seconds() const {
    return (options_.passed ? options_.passed() : since_start_.seconds()) + earlier_seconds_;
  }
  double earlier_seconds() const { return earlier_seconds_; }
  /// The budget of seconds is spent. Any thread.
  bool late() const { return options_.seconds && seconds() >= *options_.seconds; }
  /// By a quarter and a second, so that what has begun is not to be finished. Any thread.
  bool overdue() const { return options_.seconds && seconds() >= 1.0 + 1.25 * *options_.seconds; }

  /// Whether a state is kept.
  bool saves() const { return options_.state.has_value(); }
  /// Whether it is time to save. Any thread.
  bool due() const { return clock_.due(); }
  /// Saves what is done. Throws Error.
  void save();
  /// Same, unless the user has stopped the job, which saves anyhow. Where the state cannot be
  /// written, that is told, the earlier one stays, and the work goes on. Throws Error where a
  /// device or a model has failed.
  void save_on_the_way();
  /// Whether run() went on from a saved state.
  bool resumed() const { return resumed_; }

  JobProgress& progress() const { return *progress_; }
  /// Seconds that the rest of the phase takes, at this session's pace.
  double seconds_left() const;

 private:
  void resume();
  [[noreturn]] void stop(Error const& error);
  void tell(std::string const& line) const {
    if (options_.tell) options_.tell(line);
  }

  JobTask& task_;
  JobOptions options_;
  JobProgress unwatched_;
  JobProgress* progress_;
  CheckpointClock clock_;
  Stopwatch since_start_;
  Stopwatch since_resumed_;
  double earlier_seconds_ = 0.0;
  bool resumed_ = false;
  std::string saved_;  // done() of the state on disk, empty: there is none
};

/// Whether a model has failed, which nothing else in a job fails with: all that is done can be
/// saved, unlike where a device has failed.
bool is_model_failure(Error const& error);

}  // namespace fairlane
