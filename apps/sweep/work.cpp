#include "apps/sweep/work.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "apps/console.h"
#include "apps/sweep/machine.h"
#include "base/json.h"
#include "base/text.h"

namespace fairlane {

struct WordsRunner::State {
  explicit State(std::string const& backend) : probe(backend) {}
  MachineProbe probe;
};

WordsRunner::WordsRunner(RunWords run, std::string const& backend)
    : run_(std::move(run)), state_(std::make_unique<State>(backend)) {}
WordsRunner::~WordsRunner() = default;

WorkerReply WordsRunner::run(std::vector<std::string> const& words, int threads) {
  WorkerReply reply;
  reply.machine = state_->probe.machine(threads);
  try {
    reply.exit = static_cast<int>(run_(words));
    flush_stdout();
  } catch (Error const& error) {
    reply.exit = static_cast<int>(error.code());
    reply.error = escaped(error.what(), std::string(error.what()).size());
  } catch (std::bad_alloc const&) {
    reply.exit = static_cast<int>(ExitCode::kMemory);
    reply.error = "out of memory";
  } catch (std::exception const& error) {
    reply.exit = static_cast<int>(ExitCode::kBug);
    reply.error = std::string("this is a bug, please report it: ") + escaped(error.what());
  }
  return reply;
}

void work_for_sweep(RunWords run, std::string const& backend) {
  // Answers go where the output went; what commands print goes nowhere.
  int const answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (answers < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
    throw Error(ExitCode::kDisk, "sweep worker: its output cannot be moved");
  close(nowhere);
  WordsRunner runner(std::move(run), backend);
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> words;
    int threads = 1;
    try {
      Json const request = Json::parse(line);
      words = request.at("words").get<std::vector<std::string>>();
      threads = request.at("threads").get<int>();
    } catch (JsonError const& error) {
      throw usage_error(std::string("sweep worker: no command line: ") + error.what());
    }
    std::string const reply = worker_reply_line(runner.run(words, threads));
    for (std::size_t done = 0; done < reply.size();) {
      ssize_t const written = write(answers, reply.data() + done, reply.size() - done);
      if (written <= 0) throw Error(ExitCode::kDisk, "sweep worker: nobody reads its answers");
      done += static_cast<std::size_t>(written);
    }
  }
  close(answers);
}

}  // namespace fairlane
