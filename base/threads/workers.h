// Threads that share one task.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "base/threads/thread_pool.h"

namespace fairlane {

/// Threads that work on one task, and now and then rest at the same time, so that one can look at
/// what all have done.
class Workers {
 public:
  /// Runs work(0) .. work(count - 1), each on its own thread, one of them the caller's, and
  /// rethrows the first exception after all have ended. One task at a time. A worker counts as
  /// running from the beginning on, so that the first rest is everybody's.
  template <class Work>
  void run(int count, Work const& work) {
    running_ = std::max(count, 1);
    pool_.run(running_, [&](int worker) {
      try {
        work(worker);
      } catch (...) {
        fail();
      }
      leave();
    });
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

  /// Their threads, for other work between tasks.
  ThreadPool& pool() { return pool_; }

  /// Whether one has thrown, so that the others can end early.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  /// Asks all workers to rest soon; whether somebody has asked.
  void call_for_rest() { called_.store(true, std::memory_order_relaxed); }
  bool rest_called() const { return called_.load(std::memory_order_relaxed); }
  /// Waits until every worker that still runs is here; then one of them calls look(), unless a
  /// worker has failed, and all go on.
  template <class Look>
  void rest(Look const& look) {
    std::unique_lock guard(lock_);
    std::uint64_t const turn = turn_;
    ++resting_;
    wake_.wait(guard, [&] { return turn_ != turn || resting_ == running_; });
    if (turn_ != turn) return;
    resting_ = 0;
    ++turn_;
    called_.store(false, std::memory_order_relaxed);
    wake_.notify_all();  // they wait for the lock
    if (!failed()) look();
  }

 private:
  /// Keeps the exception that is being handled, if it is the first: before others can see that one
  /// has failed, and fail for it.
  void fail() {
    std::lock_guard const guard(lock_);
    if (!first_) first_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
  void leave() {
    {
      std::lock_guard const guard(lock_);
      --running_;
    }
    wake_.notify_all();
  }

  ThreadPool pool_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::exception_ptr first_;
  int running_ = 0;
  int resting_ = 0;
  std::uint64_t turn_ = 0;  // rests so far
  std::atomic<bool> failed_{false};
  std::atomic<bool> called_{false};
};

/// Numbers first .. end - 1 that are not yet done, handed out in ascending order. Any thread.
class WorkList {
 public:
  struct Range {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  /// done [end]: 1 where there is nothing to do; entries that were handed out may change meanwhile.
  WorkList(std::vector<std::uint8_t> const& done, std::int64_t first, std::int64_t end)
      : done_(done), next_(first), end_(end) {}

  /// Up to `most` neighbours; none when all are handed out.
  Range take(std::int64_t most) {
    std::lock_guard const guard(lock_);
    while (next_ < end_ && is_done(next_)) ++next_;
    Range range{next_, 0};
    while (range.count < most && next_ < end_ && !is_done(next_)) {
      ++range.count;
      ++next_;
    }
    return range;
  }

 private:
  bool is_done(std::int64_t number) const { return done_[static_cast<std::size_t>(number)] != 0; }

  std::vector<std::uint8_t> const& done_;
  std::mutex lock_;
  std::int64_t next_;
  std::int64_t end_;
};

}  // namespace fairlane
