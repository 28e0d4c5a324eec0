// The processes that share one command's work, its ranks, and the messages between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace fairlane {

/// What carries messages between ranks: MPI, or threads in tests. Messages of one rank to another
/// arrive in the order in which they were sent. One thread at a time.
class RankLink {
 public:
  enum class Kind : std::int32_t { kMessage, kCollective, kEnd };
  struct Parcel {
    int from = 0;
    Kind kind = Kind::kMessage;
    std::string bytes;
  };

  virtual ~RankLink() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Name of the machine that this rank runs on.
  virtual std::string host() const = 0;
  /// Begins to send a copy, and returns at once.
  virtual void send(int to, Kind kind, std::string_view bytes) = 0;
  /// Goes on with what is on its way; bytes that are still to be sent.
  virtual std::int64_t unsent() = 0;
  /// Same; what has come, if anything.
  virtual std::optional<Parcel> receive() = 0;
  /// Ends the processes of all ranks at once; may return where they are threads.
  virtual void abort(ExitCode code) = 0;
  /// Waits for the other ranks to close, too. Nothing is sent or received afterwards.
  virtual void close() = 0;
};

/// Bytes that a rank has sent to this one.
struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// How a rank has come to its end, where that was an error.
/// asked  by a signal, as all ranks are
struct RankFailure {
  int rank = 0;
  ExitCode code = ExitCode::kBug;
  bool asked = false;
  std::string what;
};

/// One rank among those that share a command's work. One thread at a time.
///
/// send(), poll(), wait() and wait_from() are for two ranks that know of each other; all ranks call
/// the others, each in the same order. What waits throws Error where another rank has failed, with
/// its code, and Error(kInterrupted) where the user wants this one to stop. All throw
/// Error(kUnavailable) where the link fails.
class Ranks {
 public:
  /// link: outlives this. stop: set by a signal; null: nobody stops what waits
  explicit Ranks(RankLink& link, std::atomic<bool> const* stop = nullptr);
  Ranks(Ranks const&) = delete;
  Ranks& operator=(Ranks const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The one that writes results and speaks to people.
  bool is_first() const { return rank_ == 0; }
  std::string host() const { return link_.host(); }

  /// Begins to send a copy of the bytes, which goes on whenever this rank waits or polls.
  void send(int to, std::string_view bytes) { link_.send(to, RankLink::Kind::kMessage, bytes); }
  /// Waits until what was sent has left.
  void flush();
  /// The next message of any rank, if one has come. Throws the Error of a failed rank.
  std::optional<RankMessage> poll();
  /// The next message of any rank, or of that one.
  RankMessage wait();
  std::string wait_from(int rank);

  /// [ranks] what every rank has given: on rank 0, elsewhere nothing; or on all.
  std::vector<std::string> gather(std::string_view bytes);
  std::vector<std::string> gather_on_all(std::string_view bytes);
  /// What rank 0 has given.
  std::string broadcast(std::string_view bytes);
  /// Returns when all ranks have come here.
  void barrier();

  /// Sends parts to other ranks and this one, while theirs are taken: give(send) calls
  /// send(to, bytes) as often as it likes, and take(from, bytes) gets the parts of each rank in
  /// their order. Parts wait to be sent while many are on their way.
  using SendPart = std::function<void(int to, std::string_view bytes)>;
  using TakePart = std::function<void(int from, std::string const& bytes)>;
  void exchange(std::function<void(SendPart const&)> const& give, TakePart const& take);

  /// Whether this rank or another was asked by a signal to stop, as far as is known.
  bool asked_to_stop() const;
  /// Tells the others that this rank ends with an error.
  void tell_failure(ExitCode code, bool asked, std::string const& what);
  /// Looks at what has come; [ranks] how they have ended, where they have told so. Throws no Error
  /// of another rank.
  std::vector<std::optional<RankFailure>> const& failures();
  /// Whether what this rank throws is but another's failure, of which it has heard.
  bool echoes() const { return echoes_; }

 private:
  /// Takes what has come; whether that was anything.
  bool take_parcels();
  /// Waits, taking what comes, until `ready` says so.
  template <class Ready>
  void wait_until(Ready const& ready);
  /// Throws the Error of a failed rank.
  void check_failures();
  std::string next_part(int from);
  void send_all(std::string_view bytes);

  RankLink& link_;
  std::atomic<bool> const* stop_;
  int rank_;
  int size_;
  std::deque<RankMessage> messages_;
  std::vector<std::deque<std::string>> parts_;  // [ranks] of what all ranks do together
  std::vector<std::optional<RankFailure>> failures_;
  bool echoes_ = false;
};

/// Makes sure that all ranks give the same text. what: it says, "inputs". Throws
/// Error(kIntegrity) on all ranks.
void require_same(Ranks& ranks, std::string const& text, char const* what);

}  // namespace fairlane
