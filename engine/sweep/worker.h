// Whoever carries out the cells of a sweep, one at a time each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "engine/sweep/sweep_dir.h"

namespace fairlane {

/// A place where cells are worked on.
/// name     "cpu 1", "gpu 0", "rank 3"
/// backend  for --backend; of a worker with a GPU, which sees no other, "cuda:0"
/// threads  of its own; 0: those that the machine's slots share
/// memory   bytes for the record of visited inputs; 0: the command's own choice
/// gpu      number of the machine's GPU that the worker gets; -1: none
struct WorkerSlot {
  std::string name;
  std::string backend;
  int threads = 0;
  std::uint64_t memory = 0;
  int gpu = -1;
};

/// How a command line ended.
/// exit     its exit code
/// error    its one line; empty where it has none
/// crashed  the process that worked is gone
struct WorkerReply {
  int exit = 0;
  std::string error;
  CellMachine machine;
  bool crashed = false;
};

/// What a sweep asks of a worker.
class SweepWorker {
 public:
  virtual ~SweepWorker() = default;
  /// Begins a command line; the one before has ended. Throws Error(kUnavailable).
  virtual void start(std::vector<std::string> const& words, int threads) = 0;
  /// The end of the command line, once. Never waits.
  virtual std::optional<WorkerReply> poll() = 0;
  /// Asks it to stop with its state saved.
  virtual void interrupt() = 0;
  /// The last line of its progress; empty where it has said nothing.
  virtual std::string doing() const = 0;
  /// A descriptor that becomes readable when poll() has something to say; -1: none.
  virtual int descriptor() const = 0;
};

/// A process of this program beside ours, `fairlane sweep work`, which goes on from cell to cell:
/// a GPU's context and the model libraries are set up once.
///
/// It reads a JSON line {"words": [...], "threads": N} for each command line, and writes one
/// {"exit": N, "error": TEXT, "machine": {...}} at its end. Progress goes to its standard error.
class ChildWorker final : public SweepWorker {
 public:
  /// words   of the process
  /// folder  in which it works
  ChildWorker(std::string name, std::vector<std::string> words, std::string folder);

  void start(std::vector<std::string> const& words, int threads) override;
  std::optional<WorkerReply> poll() override;
  void interrupt() override;
  std::string doing() const override;
  int descriptor() const override;

 private:
  void send_request();
  WorkerReply lost();

  std::string name_;
  std::vector<std::string> words_;
  std::string folder_;
  std::unique_ptr<ChildProcess> child_;
  std::string unsent_;  // of the request: a pipe takes so much at a time
  std::string received_;
  bool busy_ = false;
};

/// The reply in a line of a worker. Throws JsonError.
WorkerReply worker_reply(std::string_view line);
std::string worker_reply_line(WorkerReply const& reply);
std::string worker_request_line(std::vector<std::string> const& words, int threads);

}  // namespace fairlane
