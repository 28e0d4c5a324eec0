// Where a command talks to people: results on stdout, everything else on stderr.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number_text.h"  // what is said is full of them

namespace spdlog {
class logger;
}

namespace fairlane {

class Arguments;

/// How progress is shown: not at all, as one line drawn over and over, or as lines that stay.
enum class ProgressStyle { kNone, kDrawn, kLines };

/// Flags of every command that speaks while it works.
struct ConsoleOptions {
  bool quiet = false;
  bool json = false;
  std::string log_level = "info";
  std::string progress = "auto";

  /// Adds --quiet, --log-level, --progress and --json.
  void add_to(Arguments& app);
};

/// Messages on stderr, filtered by level. Colours only on a terminal and without NO_COLOR.
class Console {
 public:
  /// Throws Error(kUsage) for an unknown level or style.
  explicit Console(ConsoleOptions const& options);
  ~Console();
  Console(Console const&) = delete;
  Console& operator=(Console const&) = delete;

  void debug(std::string const& line) const;
  void info(std::string const& line) const;
  void warn(std::string const& line) const;
  /// As one of the two.
  void tell(std::string const& line, bool is_warning) const {
    is_warning ? warn(line) : info(line);
  }
  /// Unless asked for otherwise, drawn where stderr is a terminal and nobody wants quiet.
  ProgressStyle progress() const { return progress_; }

 private:
  std::unique_ptr<spdlog::logger> logger_;
  ProgressStyle progress_ = ProgressStyle::kNone;
};

/// Writes a result to stdout. Throws Error(kDisk).
void print(std::string_view text);
/// "Results are in out", behind an empty line.
std::string results_place(std::string const& dir);
/// Says in one line on stderr what has ended the command.
void tell_error(std::string const& what);
/// Makes sure that everything printed has arrived. Throws Error(kDisk).
void flush_stdout();

/// Rows of "title  value", the values aligned.
class Facts {
 public:
  void add(std::string title, std::string value) {
    rows_.emplace_back(std::move(title), std::move(value));
  }
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

/// Rows of cells, the first row with their heads; each column as wide as its widest cell: the first
/// and those with the heads in `left` to the left, the others to the right.
std::string aligned(std::vector<std::vector<std::string>> const& rows,
                    std::vector<std::string> const& left = {});

/// Parses a whole number of the command line. Throws Error(kUsage) naming the flag.
std::int64_t parse_integer(std::string const& flag, std::string const& text, std::int64_t low,
                           std::int64_t high);
/// Same for a finite number. Throws Error(kUsage).
double parse_number(std::string const& flag, std::string const& text, double low, double high);

/// Watches for Ctrl-C, SIGTERM and SIGHUP while it lives: the first sets flag(), a second Ctrl-C or
/// SIGTERM ends the process with 130. SIGHUP stays ignored where it was, as nohup asks for. One
/// that is made while another lives changes nothing.
class Interrupt {
 public:
  /// kRanks  also for SIGUSR1, which mpirun passes on, and waits for what its ranks then do
  enum class Watch { kProcess, kRanks };
  explicit Interrupt(Watch watch = Watch::kProcess);
  ~Interrupt();
  Interrupt(Interrupt const&) = delete;
  Interrupt& operator=(Interrupt const&) = delete;

  static std::atomic<bool> const& flag();
};

}  // namespace fairlane
