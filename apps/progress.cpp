#include "apps/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "apps/console.h"

namespace fairlane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr char const* kEraseLine = "\r\033[K";

/// One line about a phase that began `seconds` ago.
std::string describe(SearchProgress const& progress, double seconds, double rate) {
  bool const local = progress.phase.load() != 0;
  auto const done = static_cast<double>(progress.done.load());
  auto const total = static_cast<double>(progress.total.load());
  std::string line = fmt::format("{} phase  {} of {} {}", local ? "local" : "global",
                                 with_commas(progress.done.load()),
                                 with_commas(progress.total.load()), local ? "origins" : "seeds");
  line += fmt::format("  {} {}/s", short_count(rate), local ? "steps" : "tests");
  if (done > 0.0 && total > done) {
    line += "  " + seconds_text(seconds * (total - done) / done) + " left";
  }
  return line;
}

}  // namespace

ProgressLine::ProgressLine(SearchProgress const& progress, bool enabled) : progress_(progress) {
  if (enabled) thread_ = std::thread([this] { draw(); });
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
  if (drawn_) std::fputs(kEraseLine, stderr);
  drawn_ = false;
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
    double const seconds = std::chrono::duration<double>(Clock::now() - phase_start).count();
    double const rate = static_cast<double>(iterations - phase_iterations) / seconds;
    std::string const line = kEraseLine + describe(progress_, seconds, rate);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace fairlane
