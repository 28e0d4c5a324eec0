// Enumerations that ranks share, with threads for ranks: the same bytes as those of one process.
#include <gtest/gtest.h>

#include <mutex>

#include "engine/count/enumerate.h"
#include "tests/engine/count/enumeration_output.h"
#include "tests/engine/ranks/local_ranks.h"
#include "tests/engine/search/run_search.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

class EnumerateRanks : public ::testing::TestWithParam<char const*> {
 protected:
  EnumerateRanks() : config_(small_config(folder_, shape())) {
    config_.output.words = true;
    config_.output.plausibility = true;
  }
  static SmallShape shape() {  // half a million inputs, so that there is something to deal
    SmallShape shape = shape_of(GetParam());
    shape.ranges = {4, 9, 8, 9, 3, 11, 6};
    return shape;
  }

  EnumerateOptions options() const {
    EnumerateOptions options;
    options.execution.backend = "cpu";
    options.execution.threads = 1;
    return options;
  }
  /// By so many ranks, to a directory.
  std::vector<RankEnd> enumerate_by(int ranks, EnumerateOptions const& shared,
                                    std::string const& dir) const {
    return run_ranks(ranks, [&](Ranks& rank) {
      EnumerateOptions own = shared;
      own.ranks = &rank;
      own.dealt_at_once = 100;
      std::string const summary = enumerate(to(config_, dir), own);
      EXPECT_EQ(summary.empty(), !rank.is_first());
    });
  }

  TemporaryFolder const folder_;
  RunConfig config_;
};

TEST_P(EnumerateRanks, ManyWriteWhatOneDoes) {
  for (WantedInstances const wanted : {WantedInstances{}, {true, 0}, {false, 7}}) {
    for (Skipping const skipping : {Skipping::kNever, Skipping::kAlways}) {
      EnumerateOptions shared = options();
      shared.instances = wanted;
      shared.skipping = skipping;
      shared.overwrite = true;
      std::string const one = folder_.file("one");
      enumerate(to(config_, one), shared);
      for (int const ranks : {1, 2, 4}) {
        std::string const many = folder_.file("many");
        for (RankEnd const& end : enumerate_by(ranks, shared, many)) {
          EXPECT_EQ(end.code, ExitCode::kOk) << end.what;
          EXPECT_EQ(end.sent > 0, ranks > 1);
        }
        expect_same_output(one, many);
      }
    }
  }
}

TEST_P(EnumerateRanks, ShardsOfManyAddUpToTheWhole) {
  EnumerateOptions whole = options();
  whole.instances.all = true;
  std::string const one = folder_.file("one");
  enumerate(to(config_, one), whole);
  EnumerateOptions merged = whole;
  for (std::int64_t k = 1; k <= 3; ++k) {
    EnumerateOptions shard = whole;
    shard.shard = {k, 3};
    merged.merge.push_back(folder_.file("shard" + std::to_string(k)));
    enumerate_by(2, shard, merged.merge.back());
  }
  std::string const added = folder_.file("added");
  enumerate(to(config_, added), merged);
  expect_same_output(one, added);
}

// A state is of the whole, so that any number of ranks goes on.
TEST_P(EnumerateRanks, AStoppedWalkGoesOnWithAnotherNumberOfRanks) {
  EnumerateOptions shared = options();
  shared.instances.all = true;
  std::string const one = folder_.file("one");
  enumerate(to(config_, one), shared);
  std::string const many = folder_.file("many");
  int stops = 0;
  for (int const ranks : {4, 2, 1}) {
    std::atomic<bool> stop{false};
    EnumerateOptions stopped = shared;
    stopped.stop = &stop;
    stopped.progress = [&](WalkProgress const&) { stop = true; };
    for (RankEnd const& end : enumerate_by(ranks, stopped, many)) {
      if (end.code == ExitCode::kStopped) ++stops;
    }
    if (std::filesystem::exists(many + "/DONE")) break;
  }
  EXPECT_GT(stops, 0);
  enumerate(to(config_, many), shared);
  expect_same_output(one, many);
}

TEST_P(EnumerateRanks, RanksThatCountOtherThingsAreRefused) {
  std::string const dir = folder_.file("out");
  auto const ends = run_ranks(3, [&](Ranks& rank) {
    EnumerateOptions own = options();
    own.ranks = &rank;
    RunConfig config = to(config_, dir);
    if (rank.rank() == 2) config.seed += 1;
    enumerate(config, own);
  });
  for (RankEnd const& end : ends) {
    EXPECT_EQ(end.code, ExitCode::kIntegrity);
    EXPECT_NE(end.what.find("rank 2"), std::string::npos) << end.what;
  }
  EXPECT_FALSE(std::filesystem::exists(dir));
}

INSTANTIATE_TEST_SUITE_P(Subjects, EnumerateRanks,
                         ::testing::Values("one output", "several outputs", "undefined members",
                                           "constrained"),
                         name_of_kind);

}  // namespace
}  // namespace fairlane
