// Threads that stay, and go from task to task.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlane {

/// As many threads as the machine runs at once, at least 1.
inline int machine_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Threads that wait between tasks. A task has its threads to itself, all at the same time; more
/// are started where too few wait. Tasks begin on any thread, several at once, also within a task.
class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(ThreadPool const&) = delete;
  ThreadPool& operator=(ThreadPool const&) = delete;
  /// After all tasks.
  ~ThreadPool() {
    {
      std::lock_guard const guard(lock_);
      ends_ = true;
      for (auto const& member : members_) member->wake.notify_one();
    }
    for (auto const& member : members_) member->thread.join();
  }

  /// Has so many threads, if the machine gives them; returns how many there are.
  int reserve(int threads) {
    std::lock_guard const guard(lock_);
    try {
      while (static_cast<int>(members_.size()) < threads) start();
    } catch (std::system_error const&) {
      // Those that there are have to do.
    }
    return static_cast<int>(members_.size());
  }

  /// Calls that go on beside the one who made it.
  class Task {
   public:
    /// Begins work(first) .. work(first + count - 1), each on a thread of its own. `work` outlives
    /// the task. Throws std::system_error, before any call, where the machine gives too few
    /// threads.
    template <class Work>
    Task(ThreadPool& pool, int first, int count, Work const& work)
        : pool_(pool),
          work_(&work),
          call_([](void const* made, int index) { (*static_cast<Work const*>(made))(index); }) {
      if (count > 0) pool.begin(*this, first, count);
    }
    /// Waits for all calls.
    ~Task() { wait_for_all(); }
    Task(Task const&) = delete;
    Task& operator=(Task const&) = delete;

    /// One more call, here and now.
    void attend(int index) noexcept {
      try {
        call_(work_, index);
      } catch (...) {
        std::lock_guard const guard(pool_.lock_);
        if (!first_) first_ = std::current_exception();
      }
    }
    /// Waits for all calls, and rethrows the first exception of any.
    void finish() {
      wait_for_all();
      if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
    }

   private:
    friend class ThreadPool;
    void wait_for_all() {
      pool_.stay_awake([this] { return left_.load(std::memory_order_relaxed) == 0; });
      std::unique_lock guard(pool_.lock_);
      ended_.wait(guard, [this] { return left_ == 0; });
    }

    ThreadPool& pool_;
    void const* work_;
    void (*call_)(void const* work, int index);
    // Under the pool's lock:
    std::condition_variable ended_;
    std::atomic<int> left_{0};  // calls on the pool's threads; read without the lock, too
    std::exception_ptr first_;
  };

  /// Calls work(0) on the caller's thread and work(1) .. work(count - 1) on others at the same
  /// time. Returns when all have ended, or rethrows the first exception.
  template <class Work>
  void run(int count, Work const& work) {
    if (count <= 1) return work(0);
    Task task(*this, 1, count - 1, work);
    task.attend(0);
    task.finish();
  }

  /// Calls work(part, begin, end) for so many parts of [0, count), neighbours of nearly the same
  /// size, one on each thread. Returns or rethrows as run() does.
  template <class Work>
  void split(int parts, std::int64_t count, Work const& work) {
    run(parts, [&](int part) { work(part, count * part / parts, count * (part + 1) / parts); });
  }

  /// Calls work(thread, first, count) for pieces of [begin, end) on at most so many threads,
  /// whichever is free takes the next one. An exception ends it early. Returns or rethrows as run()
  /// does.
  template <class Work>
  void share(int threads, std::int64_t begin, std::int64_t end, std::int64_t piece,
             Work const& work) {
    if (begin >= end) return;
    std::atomic<std::int64_t> next{begin};
    auto const pieces = (end - begin + piece - 1) / piece;
    run(static_cast<int>(std::min<std::int64_t>(threads, pieces)), [&](int thread) {
      try {
        for (std::int64_t at = next.fetch_add(piece); at < end; at = next.fetch_add(piece))
          work(thread, at, std::min(piece, end - at));
      } catch (...) {
        next = end;
        throw;
      }
    });
  }

 private:
  struct Member {
    std::condition_variable wake;
    std::atomic<Task*> task{nullptr};  // null: it waits; read without the lock, too
    int index = 0;
    std::thread thread;
  };

  /// Under the lock. Throws std::system_error.
  void start() {
    waiting_.reserve(members_.size() + 1);
    auto& member = *members_.emplace_back(std::make_unique<Member>());
    try {
      member.thread = std::thread([this, &member] { serve(member); });
    } catch (...) {
      members_.pop_back();
      throw;
    }
    waiting_.push_back(&member);
    crowded_ = static_cast<int>(members_.size()) >= machine_threads();
  }
  void begin(Task& task, int first, int count) {
    std::lock_guard const guard(lock_);
    while (static_cast<int>(waiting_.size()) < count) start();
    task.left_ = count;
    for (int i = 0; i < count; ++i) {
      Member& member = *waiting_.back();
      waiting_.pop_back();
      member.task = &task;
      member.index = first + i;
      member.wake.notify_one();
    }
  }
  /// Returns when come() holds, or after a while: work often comes in rapid succession, and threads
  /// that sleep take long to wake. Only where each thread has a processor to itself.
  template <class Come>
  void stay_awake(Come const& come) const {
    constexpr std::chrono::microseconds kAwake{200};
    if (crowded_.load(std::memory_order_relaxed)) return;
    auto const until = std::chrono::steady_clock::now() + kAwake;
    while (!come() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }
  void serve(Member& member) {
    std::unique_lock guard(lock_);
    while (true) {
      guard.unlock();
      stay_awake([&] { return member.task.load(std::memory_order_relaxed) != nullptr; });
      guard.lock();
      member.wake.wait(guard, [&] { return ends_ || member.task != nullptr; });
      if (member.task == nullptr) return;
      Task& task = *member.task;
      guard.unlock();
      task.attend(member.index);
      guard.lock();
      member.task = nullptr;
      waiting_.push_back(&member);
      if (--task.left_ == 0) task.ended_.notify_all();  // under the lock: then it may be gone
    }
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Member*> waiting_;
  bool ends_ = false;
  std::atomic<bool> crowded_{false};  // the caller and all members are more than the machine runs
};

}  // namespace fairlane
