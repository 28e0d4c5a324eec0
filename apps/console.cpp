#include "apps/console.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/arguments.h"
#include "base/error.h"
#include "base/text.h"

namespace fairlane {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<bool> interrupted{false};
std::atomic<bool> asked{false};  // by a signal that a second one hurries
int watches = 0;                 // of the main thread
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not lock");

// A person's Ctrl-C, a system that shuts down, a terminal or connection that is gone.
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void on_interrupt(int signal) {
  interrupted = true;
  // A terminal that closes may send several SIGHUP, and nobody asks for haste with it.
  if (signal != SIGHUP && signal != SIGUSR1 && asked.exchange(true))
    _exit(static_cast<int>(ExitCode::kInterrupted));
}

/// Whether the process was started to live on without a terminal, as nohup does.
bool ignores_hangup() {
  struct sigaction before = {};
  return sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
}

void handle_signal(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void handle_signals(void (*handler)(int)) {
  for (int const signal : kSignals) {
    if (signal != SIGHUP || !ignores_hangup()) handle_signal(signal, handler);
  }
}

bool is_set(char const* variable) {
  char const* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool is_dumb_terminal() {
  char const* const term = std::getenv("TERM");
  return term != nullptr && std::strcmp(term, "dumb") == 0;
}

spdlog::level::level_enum find_level(std::string const& name) {
  std::vector<std::string> const names = {"trace", "debug", "info", "warn", "error", "off"};
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw usage_error(fmt::format("--log-level is {}, expected one of {}{}", in_quotes(name),
                                  fmt::join(names, ", "), did_you_mean(name, names)));
  }
  return spdlog::level::from_str(name);
}

ProgressStyle find_progress(ConsoleOptions const& options) {
  std::vector<std::string> const names = {"auto", "lines", "none"};
  if (std::find(names.begin(), names.end(), options.progress) == names.end()) {
    throw usage_error(fmt::format("--progress is {}, expected one of {}{}",
                                  in_quotes(options.progress), fmt::join(names, ", "),
                                  did_you_mean(options.progress, names)));
  }
  if (options.progress == "lines") return ProgressStyle::kLines;
  bool const drawn = options.progress == "auto" && !options.quiet && isatty(STDERR_FILENO) == 1 &&
                     !is_dumb_terminal();
  return drawn ? ProgressStyle::kDrawn : ProgressStyle::kNone;
}

[[noreturn]] void fail_stdout(int error) {
  std::clearerr(stdout);
  throw Error(ExitCode::kDisk, fmt::format("standard output: cannot be written: {}",
                                           error != 0 ? std::strerror(error) : "write error"));
}

}  // namespace

void ConsoleOptions::add_to(Arguments& app) {
  app.add_flag("--quiet,-q", quiet, "no messages but errors, no progress");
  app.add_option("--log-level", log_level, "trace, debug, info, warn, error or off")
      ->type_name("LEVEL");
  app.add_option("--progress", progress,
                 "auto (a line on a terminal), lines (one a second, also into a file) or none")
      ->type_name("STYLE");
  app.add_flag("--json", json, "print JSON instead of the table");
}

Console::Console(ConsoleOptions const& options) {
  auto const level = find_level(options.log_level);
  auto const colours =
      is_set("NO_COLOR") ? spdlog::color_mode::never : spdlog::color_mode::automatic;
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
  logger_ = std::make_unique<spdlog::logger>("fairlane", std::move(sink));
  logger_->set_pattern("fairlane: %^%l%$: %v");
  logger_->set_level(options.quiet ? std::max(level, spdlog::level::err) : level);
  logger_->flush_on(spdlog::level::trace);
  progress_ = find_progress(options);
}

Console::~Console() = default;

void Console::debug(std::string const& line) const { logger_->debug(escaped(line, line.size())); }
void Console::info(std::string const& line) const { logger_->info(escaped(line, line.size())); }
void Console::warn(std::string const& line) const { logger_->warn(escaped(line, line.size())); }

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_stdout(errno);
}

std::string results_place(std::string const& dir) {
  return fmt::format("\nResults are in {}\n", escaped(dir, dir.size()));
}

void tell_error(std::string const& what) {
  std::fflush(stdout);
  // Where stderr is gone the exit code still tells; fmt::print would throw.
  std::fputs(fmt::format("fairlane: error: {}\n", escaped(what, what.size())).c_str(), stderr);
}

void flush_stdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  fail_stdout(errno);
}

std::string Facts::text() const {
  std::size_t width = 0;
  for (auto const& [title, value] : rows_) width = std::max(width, title.size());
  std::string out;
  for (auto const& [title, value] : rows_) out += fmt::format("{:<{}}  {}\n", title, width, value);
  return out;
}

std::string aligned(std::vector<std::vector<std::string>> const& rows,
                    std::vector<std::string> const& left) {
  std::vector<std::size_t> widths;
  for (auto const& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      bool const is_left = std::find(left.begin(), left.end(), rows[0][i]) != left.end();
      line += i == 0    ? fmt::format("{:<{}}", row[i], widths[i])
              : is_left ? fmt::format("  {:<{}}", row[i], widths[i])
                        : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::int64_t parse_integer(std::string const& flag, std::string const& text, std::int64_t low,
                           std::int64_t high) {
  std::int64_t value = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw usage_error(
        fmt::format("{} is {}, expected a whole number {}..{}", flag, in_quotes(text), low, high));
  }
  return value;
}

double parse_number(std::string const& flag, std::string const& text, double low, double high) {
  double value = 0.0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const read = ec == std::errc() && end == text.data() + text.size();
  if (!read || !(value >= low && value <= high)) {
    throw usage_error(
        fmt::format("{} is {}, expected a number {}..{}", flag, in_quotes(text), low, high));
  }
  return value;
}

Interrupt::Interrupt(Watch watch) {
  if (watches++ > 0) return;
  interrupted = false;
  asked = false;
  handle_signals(on_interrupt);
  if (watch == Watch::kRanks) handle_signal(SIGUSR1, on_interrupt);
}

Interrupt::~Interrupt() {
  if (--watches == 0) handle_signals(SIG_DFL);
}

std::atomic<bool> const& Interrupt::flag() { return interrupted; }

}  // namespace fairlane
