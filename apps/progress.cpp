#include "apps/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace fairlane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLineSeconds = 1.0;
constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr char const* kEraseLine = "\r\033[K";

/// What one phase has done since it began.
struct Pace {
  double seconds = 0.0;
  double iterations = 0.0;
  double per_seed = 1.0;  // iterations that a seed or an origin needs at most
};

std::string describe(JobProgress const& progress, Pace const& pace) {
  bool const local = progress.phase.load() != 0;
  auto const done = static_cast<double>(progress.done.load());
  auto const total = static_cast<double>(progress.total.load());
  if (local && done >= total) return "writing the results";
  std::string line = fmt::format("{} phase  {} of {} {}", local ? "local" : "global",
                                 with_commas(progress.done.load()),
                                 with_commas(progress.total.load()), local ? "origins" : "seeds");
  if (pace.iterations <= 0.0) return line;
  line += fmt::format("  {} {}/s", short_count(pace.iterations / pace.seconds),
                      local ? "steps" : "tests");
  line += fmt::format("  {} IDIs", with_commas(progress.instances.load()));
  // Lanes advance together and finish together, so iterations tell more than finished seeds do.
  auto const resumed = static_cast<double>(progress.resumed.load());
  double const todo = total - resumed;
  double const share = std::max((done - resumed) / todo, pace.iterations / (todo * pace.per_seed));
  if (share > 0.0 && share < 1.0) {
    line += "  " + seconds_text(pace.seconds * (1.0 - share) / share) + " left";
  }
  return line;
}

}  // namespace

void StatusLine::show(std::string const& text) {
  if (style_ == ProgressStyle::kNone) return;
  if (style_ == ProgressStyle::kLines) {
    if (since_line_ && since_line_->seconds() < kLineSeconds) return;
    since_line_ = Stopwatch();
    std::fputs((text + "\n").c_str(), stderr);
    std::fflush(stderr);
    return;
  }
  std::fputs((kEraseLine + text).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void StatusLine::clear() {
  if (drawn_) std::fputs(kEraseLine, stderr);
  drawn_ = false;
}

ProgressLine::ProgressLine(JobProgress const& progress, RunConfig const& config,
                           ProgressStyle style)
    : progress_(progress),
      line_(style),
      tests_per_seed_(static_cast<double>(std::max(1, config.global.max_iter))),
      steps_per_origin_(static_cast<double>(std::max<std::int64_t>(1, config.local.num))) {
  if (style != ProgressStyle::kNone) thread_ = std::thread([this] { draw(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
  clear();
}

void ProgressLine::clear() {
  std::lock_guard const lock(mutex_);
  line_.clear();
}

void ProgressLine::draw() {
  int phase = -1;
  auto phase_start = Clock::now();
  std::int64_t phase_iterations = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return ended_; })) {
    if (progress_.total.load() == 0) continue;  // still loading
    std::int64_t const iterations = progress_.iterations.load();
    if (phase != progress_.phase.load()) {
      phase = progress_.phase.load();
      phase_start = Clock::now() - kInterval;
      phase_iterations = phase == 0 ? 0 : iterations;
    }
    Pace pace;
    pace.seconds = std::chrono::duration<double>(Clock::now() - phase_start).count();
    pace.iterations = static_cast<double>(iterations - phase_iterations);
    pace.per_seed = phase == 0 ? tests_per_seed_ : steps_per_origin_;
    line_.show(describe(progress_, pace));
  }
}

}  // namespace fairlane
