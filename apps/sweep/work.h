// The process of a sweep's worker.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/sweep/worker.h"

namespace fairlane {

/// Carries out a command line; throws Error.
using RunWords = std::function<ExitCode(std::vector<std::string> const& words)>;

/// How a command line ends, with what the machine reaches beside it. What it prints goes nowhere.
/// backend: of the worker
class WordsRunner {
 public:
  WordsRunner(RunWords run, std::string const& backend);
  ~WordsRunner();
  WordsRunner(WordsRunner const&) = delete;
  WordsRunner& operator=(WordsRunner const&) = delete;

  WorkerReply run(std::vector<std::string> const& words, int threads);

 private:
  struct State;
  RunWords run_;
  std::unique_ptr<State> state_;
};

/// Reads command lines from the standard input until it ends, and answers each on the standard
/// output. Throws Error(kDisk) where nobody reads the answers.
void work_for_sweep(RunWords run, std::string const& backend);

}  // namespace fairlane
