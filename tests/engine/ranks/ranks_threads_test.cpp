// Messages between ranks, with threads for ranks.
#include "engine/ranks/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>

#include "tests/engine/ranks/local_ranks.h"

namespace fairlane {
namespace {

constexpr int kSizes[] = {1, 2, 4, 7};

void expect_all_ok(std::vector<RankEnd> const& ends) {
  for (RankEnd const& end : ends) EXPECT_EQ(end.code, ExitCode::kOk) << end.what;
}

TEST(RanksThreads, GatherBroadcastAndBarrierInTheSameOrderEverywhere) {
  for (int const size : kSizes) {
    expect_all_ok(run_ranks(size, [size](Ranks& ranks) {
      for (int round = 0; round < 20; ++round) {
        std::string const own = std::to_string(ranks.rank()) + " in " + std::to_string(round);
        auto const all = ranks.gather(own);
        auto const everywhere = ranks.gather_on_all(own);
        ASSERT_EQ(everywhere.size(), static_cast<std::size_t>(size));
        for (int r = 0; r < size; ++r) {
          EXPECT_EQ(everywhere[static_cast<std::size_t>(r)],
                    std::to_string(r) + " in " + std::to_string(round));
        }
        if (ranks.is_first()) {
          EXPECT_EQ(all, everywhere);
        } else {
          EXPECT_TRUE(all.empty());
        }
        EXPECT_EQ(ranks.broadcast(own), "0 in " + std::to_string(round));
        ranks.barrier();
      }
    }));
  }
}

TEST(RanksThreads, ARankIsHandedOneThingAfterTheOther) {
  // What a sweep does: rank 0 hands out 100 things to whoever is free.
  constexpr int kThings = 100;
  for (int const size : {2, 4}) {
    std::vector<int> answers(kThings, -1);
    expect_all_ok(run_ranks(size, [&](Ranks& ranks) {
      if (!ranks.is_first()) {
        while (true) {
          std::string const thing = ranks.wait_from(0);
          if (thing.empty()) return;
          ranks.send(0, thing + " " + std::to_string(2 * std::stoi(thing)));
        }
      }
      int next = 0;
      int busy = 0;
      auto const hand_out = [&](int to) {
        ranks.send(to, next < kThings ? std::to_string(next) : std::string());
        busy += next < kThings ? 1 : 0;
        ++next;
      };
      for (int to = 1; to < ranks.size(); ++to) hand_out(to);
      while (busy > 0) {
        RankMessage const message = ranks.wait();
        --busy;
        std::size_t const space = message.bytes.find(' ');
        answers[std::stoul(message.bytes.substr(0, space))] =
            std::stoi(message.bytes.substr(space));
        hand_out(message.from);
      }
      EXPECT_FALSE(ranks.poll());
    }));
    for (int i = 0; i < kThings; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)], 2 * i);
  }
}

TEST(RanksThreads, MessagesOfARankKeepTheirOrderBesideThoseOfOthers) {
  expect_all_ok(run_ranks(3, [](Ranks& ranks) {
    for (int i = 0; i < 50; ++i) ranks.send((ranks.rank() + 1) % 3, std::to_string(i));
    ranks.barrier();
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(ranks.wait_from((ranks.rank() + 2) % 3), std::to_string(i));
  }));
}

TEST(RanksThreads, AnExchangeBringsEveryPartToItsRankInOrder) {
  unsigned const seed = std::random_device()();
  SCOPED_TRACE(seed);
  for (int const size : kSizes) {
    std::mutex lock;
    std::map<std::pair<int, int>, std::string> sent;
    std::map<std::pair<int, int>, std::string> taken;
    expect_all_ok(run_ranks(size, [&](Ranks& ranks) {
      std::mt19937 random(seed + static_cast<unsigned>(ranks.rank()));
      for (int round = 0; round < 5; ++round) {
        ranks.exchange(
            [&](Ranks::SendPart const& send) {
              auto const parts = random() % 100;
              for (std::size_t i = 0; i < parts; ++i) {
                int const to = static_cast<int>(random() % static_cast<unsigned>(size));
                std::string const bytes(random() % 50, static_cast<char>(random()));
                {
                  std::lock_guard const guard(lock);
                  sent[{ranks.rank(), to}] += bytes;
                }
                send(to, bytes);
              }
            },
            [&](int from, std::string const& bytes) {
              std::lock_guard const guard(lock);
              taken[{from, ranks.rank()}] += bytes;
            });
      }
    }));
    EXPECT_EQ(taken, sent);
  }
}

TEST(RanksThreads, AFailureEndsWhatTheOthersWaitFor) {
  auto const ends = run_ranks(4, [](Ranks& ranks) {
    if (ranks.rank() == 2) throw Error(ExitCode::kNoInput, "model.h5: no such file");
    ranks.barrier();
  });
  for (int rank = 0; rank < 4; ++rank) {
    RankEnd const& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.code, ExitCode::kNoInput) << rank;
    EXPECT_EQ(end.echo, rank != 2) << rank;
    EXPECT_THAT(end.what, testing::HasSubstr("model.h5: no such file"));
  }
}

TEST(RanksThreads, WhoeverIsAskedToStopStopsWaiting) {
  LocalRanks all(2);
  auto const link = all.link(0);
  std::atomic<bool> const stop{true};
  Ranks ranks(*link, &stop);
  try {
    ranks.wait();
    FAIL() << "waited for nobody";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kInterrupted);
    EXPECT_FALSE(ranks.echoes());
  }
}

}  // namespace
}  // namespace fairlane
