// Threads that share one task.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fairlane {

/// Runs work(0) .. work(count - 1), each on its own thread (the caller's when count is 1), and rethrows the first
/// exception after all have ended. `failed` is set as soon as one has thrown, so that the others can end early.
template <class Work>
void run_workers(int count, std::atomic<bool>& failed, Work&& work) {
  if (count <= 1) {
    work(0);
    return;
  }
  std::exception_ptr first;
  std::mutex lock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          std::lock_guard const guard(lock);
          if (!first) first = std::current_exception();
          failed.store(true, std::memory_order_relaxed);
        }
      });
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace fairlane
