// A program that runs beside ours and is spoken to through pipes.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fairlane {

/// The words of a command line: blanks separate them; '...' is taken as it stands; in "..." a
/// backslash may precede " and \; elsewhere it may precede anything. Nothing else has a meaning: no
/// shell looks at them.
/// Throws Error(kConfig) naming `source` where a quote is not closed or no word is found.
std::vector<std::string> command_words(std::string const& source, std::string const& command);

/// The path of the running program.
std::string running_program();

/// A running program with pipes to its standard input, output and error. It is the leader of a
/// process group, so that Ctrl-C in a terminal does not end it before us; the whole group ends with
/// this object, and with our process.
class ChildProcess {
 public:
  /// Starts words[0], looked for on PATH where it has no slash.
  /// source  for messages
  /// folder  the working directory; empty: ours
  /// Throws Error(kUnavailable) where it does not start.
  ChildProcess(std::string const& source, std::vector<std::string> const& words,
               std::string const& folder);
  ~ChildProcess();  // kills
  ChildProcess(ChildProcess const&) = delete;
  ChildProcess& operator=(ChildProcess const&) = delete;

  /// Our ends of the pipes, for poll; none blocks, -1 where it is closed.
  int input() const { return input_; }
  int output() const { return output_; }
  int errors() const { return errors_; }

  /// Writes what the pipe takes now and returns its bytes; 0 when it is full. Closes the pipe when
  /// nobody reads it.
  std::size_t send(std::span<iovec const> parts);
  void close_input();
  /// Reads at most `size` bytes that are there and returns how many; closes the pipe at its end.
  std::size_t receive(void* to, std::size_t size);
  /// Reads until the pipe ends, `most` bytes are there or that long has passed, and keeps the end
  /// of standard error meanwhile.
  std::string receive_all(std::chrono::milliseconds patience, std::size_t most);
  /// Reads what there is of standard error and keeps the end of it.
  void keep_errors();

  /// The last line of standard error that was kept and is whole; empty: there is none.
  std::string last_line() const;
  /// Sends a signal to the program, but not to what it started.
  void signal(int number) const;

  /// Closes the pipes to it, waits that long for its end, then kills the group. Returns how it
  /// ended, such as "exited with status 1"; nothing when it had to be killed.
  std::optional<std::string> end(std::chrono::milliseconds grace);
  /// "; its stderr ends with '...'", or that there was none. Complete after end().
  std::string last_errors() const;

 private:
  pid_t pid_ = -1;  // until its end has been waited for
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::string kept_;  // the last bytes of standard error
};

}  // namespace fairlane
