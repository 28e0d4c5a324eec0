// One child of an exec: model and our side of the protocol that it speaks
// (models/adapters/README.md).
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "kernels/core/scorer.h"

namespace fairlane {

/// What a child says of its model in the handshake.
struct ExecModel {
  ScoreKind kind = ScoreKind::kLogits;
  int outputs = 0;  // classes where kind is kLabels

  bool operator==(ExecModel const&) const = default;
};

/// Rows that one message carries, and where their scores go.
/// rows    [count][inputs]
/// scores  [count][outputs]
struct ExecBatch {
  std::uint32_t id = 0;
  std::uint32_t count = 0;
  float const* rows = nullptr;
  float* scores = nullptr;
};

/// What children are started with.
struct ExecSetup {
  std::string source;  // for messages
  std::vector<std::string> words;
  std::string folder;
  int inputs = 0;
  std::uint32_t batch_rows = 0;  // of the largest batch
};

/// A child broke the protocol: the message continues "child 1 of 2 ...".
struct ExecViolation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A child and the batches that it has been given. Nothing here waits: the owner polls.
class ExecChild {
 public:
  using Clock = std::chrono::steady_clock;
  using Polls = std::array<pollfd, 3>;  // input, output, errors; fd -1: nothing to wait for

  /// Starts the child and greets it. Throws as ChildProcess does.
  explicit ExecChild(ExecSetup const& setup);

  /// What it has said of its model; nothing before the handshake is done.
  std::optional<ExecModel> const& model() const { return model_; }
  /// It owes us something.
  bool is_busy() const { return !model_ || !batches_.empty(); }
  /// It can be given one more: it computes one batch while the next one waits in its pipe.
  bool has_room() const { return model_ && batches_.size() < 2; }
  /// Puts a batch last. Its arrays live until it is answered or the child ends.
  void give(ExecBatch const& batch);
  /// What it has been given and not answered.
  std::deque<ExecBatch> const& batches() const { return batches_; }
  /// When it last took or gave anything, or was first owing.
  Clock::time_point progress() const { return progress_; }
  /// What is owed, such as "its answer to batch 7 (12 of 4,096 bytes)".
  std::string owed() const;

  Polls polls() const;
  /// Reads and writes what poll has found. Returns false when the child's output has ended although
  /// it owes something.
  /// Throws ExecViolation.
  bool handle(Polls const& polls);

  /// Asks it to end; end() waits for that.
  void close();
  ChildProcess& process() { return process_; }

 private:
  void write();
  void read();
  void read_handshake();
  void read_header();
  void finish_answer();
  /// Reads up to `size` bytes behind the `got` ones that are there. Returns whether all are.
  bool fill(void* to, std::size_t size, std::size_t& got);
  [[noreturn]] void garbage(std::string const& instead);

  int inputs_;
  std::uint32_t batch_rows_;
  ChildProcess process_;
  std::optional<ExecModel> model_;
  Clock::time_point progress_ = Clock::now();

  std::vector<unsigned char> hello_;  // what is still to be sent of it
  std::deque<ExecBatch> batches_;     // given, not answered
  std::size_t sending_ = 0;           // index of the batch that is being sent
  std::size_t sent_ = 0;              // bytes of it

  std::array<unsigned char, 20> head_{};  // of a handshake or an answer
  std::size_t head_got_ = 0;
  std::size_t body_got_ = 0;
  std::vector<std::int32_t> labels_;  // [count] of the answer that is being read
};

}  // namespace fairlane
