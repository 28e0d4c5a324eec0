// Threads that rest together, and numbers that they share out.
#include "base/threads/workers.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace fairlane {
namespace {

TEST(ThreadsWorkers, LookAtWhatAllHaveDone) {
  constexpr int kRounds = 200;
  for (int const count : {1, 2, 5}) {
    Workers workers;
    std::vector<int> done(static_cast<std::size_t>(count));  // plain memory: whoever looks is alone
    int looks = 0;
    int seen = 0;
    workers.run(count, [&](int worker) {
      for (int round = 0; round < kRounds * (worker + 1); ++round) {  // some end early
        ++done[static_cast<std::size_t>(worker)];
        if (worker == 0 && round % 10 == 0) workers.call_for_rest();
        if (!workers.rest_called()) continue;
        workers.rest([&] {
          ++looks;
          int const sum = std::accumulate(done.begin(), done.end(), 0);
          EXPECT_GE(sum, seen);
          seen = sum;
        });
      }
    });
    EXPECT_GT(looks, 0);
    EXPECT_LE(looks, kRounds / 10);
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), kRounds * count * (count + 1) / 2);
  }
}

// However late a thread starts.
TEST(ThreadsWorkers, AllTakePartInTheFirstRest) {
  constexpr int kWorkers = 4;
  for (int repetition = 0; repetition < 100; ++repetition) {
    Workers workers;
    int looks = 0;
    std::atomic<int> begun{0};
    workers.run(kWorkers, [&](int) {
      ++begun;
      workers.rest([&] {
        ++looks;
        EXPECT_EQ(begun, kWorkers);
      });
    });
    EXPECT_EQ(looks, 1);
  }
}

TEST(ThreadsWorkers, DoNotLookWhereOneHasFailed) {
  for (int const count : {2, 4}) {
    Workers workers;
    int looks = 0;
    auto const work = [&](int worker) {
      if (worker == 0) throw std::runtime_error("worker 0");
      while (!workers.failed()) std::this_thread::yield();
      workers.rest([&] { ++looks; });
    };
    EXPECT_THROW(workers.run(count, work), std::runtime_error);
    EXPECT_EQ(looks, 0);
  }
}

// The others are waiting when the last one ends, one way or the other.
TEST(ThreadsWorkers, GoOnWithoutTheOneThatHasEnded) {
  for (bool const fails : {false, true}) {
    Workers workers;
    int looks = 0;
    std::atomic<int> begun{0};
    std::atomic<int> arrived{0};
    auto const work = [&](int worker) {
      ++begun;
      while (begun < 3) std::this_thread::yield();
      if (worker != 0) {
        ++arrived;
        workers.rest([&] { ++looks; });
        return;
      }
      while (arrived < 2) std::this_thread::yield();
      if (fails) throw std::runtime_error("worker 0");
    };
    if (fails) {
      EXPECT_THROW(workers.run(3, work), std::runtime_error);
    } else {
      workers.run(3, work);
    }
    EXPECT_EQ(looks, fails ? 0 : 1);
  }
}

TEST(ThreadsWorkers, PassOnWhatLookingThrows) {
  Workers workers;
  EXPECT_THROW(workers.run(3, [&](int) { workers.rest([] { throw std::runtime_error("look"); }); }),
               std::runtime_error);
  EXPECT_TRUE(workers.failed());
}

TEST(ThreadsWorkers, TakeWhatIsNotDoneInRuns) {
  std::vector<std::uint8_t> const done = {1, 0, 0, 0, 1, 1, 0, 1, 0, 0};
  WorkList list(done, 0, 9);
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (auto range = list.take(2); range.count > 0; range = list.take(2))
    taken.emplace_back(range.first, range.count);
  EXPECT_EQ(taken,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {3, 1}, {6, 1}, {8, 1}}));
  EXPECT_EQ(list.take(5).count, 0);
}

}  // namespace
}  // namespace fairlane
