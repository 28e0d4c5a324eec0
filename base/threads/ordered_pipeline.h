// Batches that are prepared by several threads and consumed in the order in which they were filled.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/threads/thread_pool.h"

namespace fairlane {

/// One thread fills batches (slot, submit) and consumes them, `threads` others work on them in
/// between; with one thread all happens on the caller's. Exceptions of the work come out of slot()
/// or drain().
template <class Batch>
class OrderedPipeline {
 public:
  /// work: pure function of one batch, any thread. sink: called in the order of submit().
  OrderedPipeline(int threads, std::function<void(Batch&)> work, std::function<void(Batch&)> sink)
      : work_(std::move(work)), sink_(std::move(sink)) {
    constexpr std::size_t kSlotsPerThread = 2;
    slots_ =
        std::vector<Slot>(threads > 1 ? static_cast<std::size_t>(threads) * kSlotsPerThread : 1);
    if (threads > 1) servers_.emplace(pool_, 0, threads, serve_);
  }
  ~OrderedPipeline() {
    {
      std::lock_guard const guard(lock_);
      stop_ = true;
    }
    filled_.notify_all();
  }
  OrderedPipeline(OrderedPipeline const&) = delete;
  OrderedPipeline& operator=(OrderedPipeline const&) = delete;

  /// The batch to fill next; its earlier contents have been consumed.
  Batch& slot() {
    if (next_ - consumed_ == slots_.size()) consume();
    return slots_[next_ % slots_.size()].batch;
  }
  void submit() {
    Slot& slot = slots_[next_ % slots_.size()];
    if (!servers_) {
      work_(slot.batch);
      sink_(slot.batch);
      ++next_;
      ++consumed_;
      return;
    }
    {
      std::lock_guard const guard(lock_);
      slot.done = false;
      ++next_;
    }
    filled_.notify_one();
  }
  /// Consumes everything that was submitted.
  void drain() {
    while (consumed_ != next_) consume();
  }

 private:
  struct Slot {
    Batch batch;
    bool done = false;
    std::exception_ptr error;
  };

  void consume() {
    Slot& slot = slots_[consumed_ % slots_.size()];
    {
      std::unique_lock guard(lock_);
      finished_.wait(guard, [&] { return slot.done; });
    }
    ++consumed_;
    if (slot.error) std::rethrow_exception(slot.error);
    sink_(slot.batch);
  }

  void serve() {
    std::unique_lock guard(lock_);
    while (true) {
      filled_.wait(guard, [&] { return stop_ || taken_ != next_; });
      if (stop_) return;
      Slot& slot = slots_[taken_++ % slots_.size()];
      guard.unlock();
      try {
        work_(slot.batch);
      } catch (...) {
        slot.error = std::current_exception();
      }
      guard.lock();
      slot.done = true;
      finished_.notify_one();
    }
  }

  std::function<void(Batch&)> work_;
  std::function<void(Batch&)> sink_;
  std::vector<Slot> slots_;
  std::mutex lock_;
  std::condition_variable filled_;
  std::condition_variable finished_;
  std::size_t next_ = 0;      // submitted so far; written by the filling thread, under the lock
  std::size_t taken_ = 0;     // under the lock
  std::size_t consumed_ = 0;  // filling thread only
  bool stop_ = false;
  ThreadPool pool_;
  std::function<void(int)> const serve_ = [this](int) { serve(); };
  std::optional<ThreadPool::Task> servers_;  // last: ends before the rest; none with one thread
};

}  // namespace fairlane
