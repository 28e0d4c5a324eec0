#include "apps/sweep/work.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "apps/console.h"
#include "apps/sweep/machine.h"
#include "base/formats/json.h"
#include "base/text.h"

namespace fairlane {

namespace {

std::string backend_of(std::vector<std::string> const& words) {
  auto const at = std::find(words.begin(), words.end(), "--backend");
  return at == words.end() || at + 1 == words.end() ? "" : *(at + 1);
}

WorkerReply reply_to(RunWords const& run, std::vector<std::string> const& words) {
  WorkerReply reply;
  try {
    reply.exit = static_cast<int>(run(words));
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

}  // namespace

void work_for_sweep(RunWords const& run) {
  // Answers go where the output went; what commands print goes nowhere.
  int const answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (answers < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
    throw Error(ExitCode::kDisk, "sweep worker: its output cannot be moved");
  close(nowhere);
  MachineProbe probe;
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
    CellMachine const machine = probe.machine(backend_of(words), threads);
    WorkerReply answer = reply_to(run, words);
    answer.machine = machine;
    std::string const reply = worker_reply_line(answer);
    for (std::size_t done = 0; done < reply.size();) {
      ssize_t const written = write(answers, reply.data() + done, reply.size() - done);
      if (written <= 0) throw Error(ExitCode::kDisk, "sweep worker: nobody reads its answers");
      done += static_cast<std::size_t>(written);
    }
  }
  close(answers);
}

}  // namespace fairlane
