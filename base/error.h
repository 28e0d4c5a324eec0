// The one exception type of the project and the exit codes of the `fairlane` command.
#pragma once

#include <stdexcept>
#include <string>

namespace fairlane {

/// Exit codes of the command line, one per kind of failure (sysexits where one fits).
enum class ExitCode : int {
  kOk = 0,
  kPolicy = 1,         // --fail-above was met
  kPartly = 3,         // done, but not everything
  kUsage = 64,         // wrong command line
  kData = 65,          // a model or a table is malformed
  kNoInput = 66,       // an input file is missing or unreadable
  kUnavailable = 69,   // a device or a feature of another build
  kBug = 70,           // an internal check failed
  kMemory = 71,        // out of memory
  kOutput = 73,        // the output directory cannot be used
  kDisk = 74,          // writing failed
  kStopped = 75,       // stopped with the state saved
  kIntegrity = 76,     // results do not hold
  kConfig = 78,        // the configuration is wrong
  kInterrupted = 130,  // second Ctrl-C
};

/// Ends a command. The message is one line: what, where (file:line:column or a path inside a file),
/// the value, what was expected, a hint.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string const& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// What is wrong with a file that was read: "where: what".
inline Error data_error(std::string const& where, std::string const& what) {
  return {ExitCode::kData, where + ": " + what};
}

/// What is wrong with a command line.
inline Error usage_error(std::string const& what) { return {ExitCode::kUsage, what}; }

}  // namespace fairlane
