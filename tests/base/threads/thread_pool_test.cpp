// Threads that go from task to task, and the pipeline on them.
#include "base/threads/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>

#include "base/threads/ordered_pipeline.h"

namespace fairlane {
namespace {

using Numbers = std::vector<std::atomic<int>>;

/// Calls of a task that wait for each other: all run at the same time.
class Meeting {
 public:
  explicit Meeting(int count) : count_(count) {}
  void attend() {
    for (++here_; here_ < count_;) std::this_thread::yield();
  }

 private:
  int count_;
  std::atomic<int> here_{0};
};

TEST(ThreadsPool, RunsAllAtTheSameTimeOnTheThreadsThatItHas) {
  ThreadPool pool;
  std::mutex lock;
  std::set<std::thread::id> seen;
  for (int repetition = 0; repetition < 50; ++repetition) {
    for (int const count : {1, 2, 5}) {
      Meeting meeting(count);
      Numbers calls(static_cast<std::size_t>(count));
      pool.run(count, [&](int index) {
        ++calls[static_cast<std::size_t>(index)];
        meeting.attend();
        std::lock_guard const guard(lock);
        seen.insert(std::this_thread::get_id());
      });
      for (auto const& times : calls) EXPECT_EQ(times, 1);
    }
  }
  EXPECT_LE(seen.size(), 5U) << "threads stay";
  EXPECT_TRUE(seen.contains(std::this_thread::get_id())) << "the caller's is one of them";
  EXPECT_EQ(pool.reserve(1), 4);
  EXPECT_EQ(pool.reserve(6), 6);
}

TEST(ThreadsPool, RunsTasksOfSeveralCallersAndOfTasks) {
  ThreadPool pool;
  std::atomic<int> calls{0};
  pool.run(3, [&](int) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      Meeting meeting(3);
      pool.run(3, [&](int) {
        meeting.attend();
        ++calls;
      });
    }
  });
  EXPECT_EQ(calls, 3 * 20 * 3);
}

TEST(ThreadsPool, RethrowsTheFirstExceptionOnceAllHaveEnded) {
  ThreadPool pool;
  for (int const thrower : {0, 2}) {
    std::atomic<int> ended{0};
    std::atomic<bool> thrown{false};
    auto const work = [&](int index) {
      if (index == thrower) {
        thrown = true;
        throw std::runtime_error("first");
      }
      while (!thrown) std::this_thread::yield();
      ++ended;
    };
    try {
      pool.run(4, work);
      ADD_FAILURE();
    } catch (std::runtime_error const& error) {
      EXPECT_STREQ(error.what(), "first");
    }
    EXPECT_EQ(ended, 3);
  }
  int calls = 0;
  pool.run(1, [&](int) { ++calls; });
  EXPECT_EQ(calls, 1) << "and goes on";
}

TEST(ThreadsPool, SplitsIntoPartsOfNearlyTheSameSize) {
  ThreadPool pool;
  for (int const parts : {1, 2, 5}) {
    for (std::int64_t const count : {0, 1, 3, 1023, 5000}) {
      Numbers done(static_cast<std::size_t>(count));
      pool.split(parts, count, [&](int, std::int64_t begin, std::int64_t end) {
        EXPECT_LE(end - begin, count / parts + 1);
        for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
      });
      for (auto const& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadsPool, SharesPiecesOut) {
  ThreadPool pool;
  for (int const threads : {1, 2, 5}) {
    for (std::int64_t const end : {7, 8, 17, 1000}) {
      Numbers done(static_cast<std::size_t>(end));
      pool.share(threads, 7, end, 5, [&](int thread, std::int64_t first, std::int64_t count) {
        EXPECT_LT(thread, threads);
        EXPECT_LE(count, 5);
        for (std::int64_t i = first; i < first + count; ++i) ++done[static_cast<std::size_t>(i)];
      });
      for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i < 7 ? 0 : 1);
    }
  }
}

TEST(ThreadsPool, SharesNoMoreOutWhereOneHasFailed) {
  ThreadPool pool;
  std::atomic<std::int64_t> calls{0};
  auto const work = [&](int, std::int64_t first, std::int64_t) {
    ++calls;
    if (first == 3) throw std::runtime_error("three");
  };
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_THROW(pool.share(3, 0, kMany, 1, work), std::runtime_error);
  EXPECT_LT(calls, kMany);
}

TEST(ThreadsPipeline, ConsumesInOrderWhoeverIsDoneFirst) {
  for (int const threads : {1, 2, 5}) {
    std::vector<int> consumed;
    OrderedPipeline<int> pipeline(
        threads,
        [](int& batch) {
          for (int i = 0; i < batch % 7; ++i) std::this_thread::yield();
          batch = -batch;
        },
        [&](int& batch) { consumed.push_back(batch); });
    for (int i = 0; i < 200; ++i) {
      pipeline.slot() = i;
      pipeline.submit();
    }
    pipeline.drain();
    ASSERT_EQ(consumed.size(), 200U);
    for (int i = 0; i < 200; ++i) EXPECT_EQ(consumed[static_cast<std::size_t>(i)], -i);
  }
}

TEST(ThreadsPipeline, PassesOnWhatTheWorkThrowsAndEndsAtOnce) {
  for (int const threads : {1, 3}) {
    std::vector<int> consumed;
    auto const fill = [&] {
      OrderedPipeline<int> pipeline(
          threads,
          [](int& batch) {
            if (batch == 20) throw std::runtime_error("twenty");
          },
          [&](int& batch) { consumed.push_back(batch); });
      for (int i = 0; i < 100; ++i) {
        pipeline.slot() = i;
        pipeline.submit();
      }
      pipeline.drain();
    };
    EXPECT_THROW(fill(), std::runtime_error);
    EXPECT_EQ(consumed.size(), 20U);
    OrderedPipeline<int> const unused(
        threads, [](int&) {}, [](int&) {});
  }
}

}  // namespace
}  // namespace fairlane
