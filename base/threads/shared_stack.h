// Work that splits into parts on its way, shared by several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace fairlane {

/// What is left to do. Each thread works on a stack of its own, from the top, and hands its lowest
/// item over when another thread has none; what it leaves behind comes back here.
template <class Item>
class SharedStack {
 public:
  explicit SharedStack(std::vector<Item> items) : items_(std::move(items)) {}

  /// Of all threads together, once they have ended.
  std::vector<Item>& items() { return items_; }

  /// One thread: calls step(item, own), which may push what becomes of the item onto `own`, until
  /// nothing is left anywhere or over() is true. over() has to become true when another thread's
  /// step has thrown.
  template <class Step, class Over>
  void work(Step&& step, Over&& over) {
    Hand hand{*this};
    while (!over()) {
      if (hand.own.empty() && !take(hand, over)) return;
      Item const item = hand.own.back();
      hand.own.pop_back();
      step(item, hand.own);
      if (hand.own.size() > 1 && waiting_.load(std::memory_order_relaxed) > 0) {
        std::lock_guard const guard(lock_);
        items_.push_back(hand.own.front());
        hand.own.erase(hand.own.begin());
        changed_.notify_one();
      }
    }
  }

 private:
  /// A thread's own items; brings them back however it ends.
  struct Hand {
    SharedStack& shared;
    std::vector<Item> own = {};
    bool busy = false;  // may still push items
    ~Hand() {
      std::lock_guard const guard(shared.lock_);
      rest();
      shared.items_.insert(shared.items_.end(), own.begin(), own.end());
    }
    void rest() {
      if (std::exchange(busy, false) && --shared.busy_ == 0) shared.changed_.notify_all();
    }
  };

  /// Waits for an item. Returns false when there will be none.
  template <class Over>
  bool take(Hand& hand, Over&& over) {
    constexpr std::chrono::milliseconds kLook(1);  // how often a waiting thread asks over()
    std::unique_lock guard(lock_);
    hand.rest();
    while (items_.empty()) {
      if (busy_ == 0 || over()) return false;
      waiting_.fetch_add(1, std::memory_order_relaxed);
      changed_.wait_for(guard, kLook);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    hand.own.push_back(items_.back());
    items_.pop_back();
    hand.busy = true;
    ++busy_;
    return true;
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};
  int busy_ = 0;
  std::vector<Item> items_;
};

}  // namespace fairlane
