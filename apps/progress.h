// What a command that works long shows on a terminal, and how it is stopped.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "apps/console.h"
#include "base/stopwatch.h"
#include "engine/config/run_config.h"
#include "engine/job/job.h"

namespace fairlane {

/// A line on stderr that is drawn over and over and erased at the end; or, for files, a line a
/// second.
class StatusLine {
 public:
  explicit StatusLine(ProgressStyle style) : style_(style) {}
  ~StatusLine() { clear(); }
  StatusLine(StatusLine const&) = delete;
  StatusLine& operator=(StatusLine const&) = delete;
  void show(std::string const& text);
  /// So that a message can be written.
  void clear();

 private:
  ProgressStyle style_;
  bool drawn_ = false;
  std::optional<Stopwatch> since_line_;
};

/// The frame of a command that works long: while it lives, Ctrl-C and SIGTERM ask the work to stop,
/// and its notices and its progress go to the console.
class WorkFrame {
 public:
  explicit WorkFrame(Console const& console) : console_(console), line_(console.progress()) {}
  WorkFrame(WorkFrame const&) = delete;
  WorkFrame& operator=(WorkFrame const&) = delete;

  /// Fills stop and notice of the options of some work, which may not outlive this.
  template <class Options>
  void lead(Options& options) {
    options.stop = &Interrupt::flag();
    options.notice = [this](std::string const& text) {
      line_.clear();
      console_.info(text);
    };
  }
  /// Same with progress, of which progress_text(...) makes a line.
  template <class Options, class ProgressText>
  void lead(Options& options, ProgressText progress_text) {
    lead(options);
    options.progress = [this, progress_text](auto const& progress) {
      line_.show(progress_text(progress));
    };
  }
  /// Erases the line once the work is done.
  void clear() { line_.clear(); }

 private:
  Console const& console_;
  Interrupt const interrupt_;
  StatusLine line_;
};

/// The line of a search, drawn from another thread; erased at the end.
class ProgressLine {
 public:
  /// The configuration says how much there is to do.
  ProgressLine(JobProgress const& progress, RunConfig const& config, ProgressStyle style);
  ~ProgressLine();
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;

  /// Erases the line, so that a message can be written; the next one follows by itself.
  void clear();

 private:
  void draw();

  JobProgress const& progress_;
  StatusLine line_;
  double tests_per_seed_;    // of the global phase, at most
  double steps_per_origin_;  // of the local phase
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace fairlane
