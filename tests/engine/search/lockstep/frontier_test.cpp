// What a frontier makes of its waves, beside who works on them and where they were interrupted.
#include "engine/search/lockstep/frontier.h"

#include <gtest/gtest.h>

#include "kernels/core/philox.h"
#include "tests/kernels/random_subject.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kRoom = std::size_t{1} << 16;  // rows, the least
constexpr std::uint64_t kLanes = 256;                // of a wave, enough for some threads

/// Results of a wave that anybody can repeat: all tests meet what `outcome` says of a random word.
template <class Outcome>
WaveResults results_of(Wave const& wave, LatticeStep const& step, std::size_t width,
                       Outcome const& outcome) {
  WaveResults results;
  results.trials = step.table.trials;
  results.hit.assign(static_cast<std::size_t>(wave.starts), 1);
  results.rows.resize(results.hit.size() * width);
  auto const count =
      static_cast<std::uint32_t>(step.table.trials) * static_cast<std::uint32_t>(wave.kinds.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    auto const random =
        philox<ScalarPack>(i, static_cast<std::uint32_t>(Phase::kData), wave.number, 0, kSeed);
    auto const& words = random.w;
    int const draw = static_cast<int>(words[0] % static_cast<std::uint32_t>(step.table.count));
    results.words.push_back(TrialWord::pack(draw, 0, kMoveCentres + 3) |
                            static_cast<std::uint32_t>(outcome(words[1])));
    results.hashes.push_back(std::uint64_t{words[2]} << 32 | words[3]);
  }
  return results;
}

TrialOutcome any_outcome(std::uint32_t word) {
  constexpr std::uint32_t kOutcomes = static_cast<std::uint32_t>(TrialOutcome::kFar);
  return static_cast<TrialOutcome>(word % kOutcomes + 1);
}

class Frontiers : public ::testing::Test {
 protected:
  Frontiers() {
    for (int i = 0; i < 20; ++i) hits_.push_back(subject_.row());
  }
  Frontier make(int threads) {
    Frontier frontier(packed_, kSeed, {1e6, 2.0, 0.0, 4.0, false, 0}, pool_, threads);
    for (naive::Row const& row : hits_) frontier.add_hit(row.data());
    return frontier;
  }
  Wave const& next(Frontier& frontier) const {
    return frontier.next([&](std::int64_t n, std::int32_t* row) {
      for (std::size_t a = 0; a < width_; ++a) row[a] = static_cast<std::int32_t>(n) % 5;
    });
  }
  template <class Outcome>
  void advance(Frontier& frontier, int waves, Outcome const& outcome) const {
    for (int i = 0; i < waves; ++i) {
      Wave const& wave = next(frontier);
      std::vector<std::uint32_t> tests;
      frontier.take(results_of(wave, frontier.step(), width_, outcome), tests);
      EXPECT_EQ(tests.size(), static_cast<std::size_t>(wave.count()));
    }
  }
  /// Both go the same way from here.
  template <class Outcome>
  void expect_equal(Frontier& a, Frontier& b, int waves, Outcome const& outcome) const {
    for (int i = 0; i < waves; ++i) {
      Wave const& wave = next(a);
      Wave const& same = next(b);
      ASSERT_EQ(wave.number, same.number);
      ASSERT_EQ(wave.starts, same.starts);
      ASSERT_EQ(wave.kinds, same.kinds);
      ASSERT_EQ(wave.rows, same.rows);
      ASSERT_EQ(wave.effort.trials, same.effort.trials);
      advance(a, 1, outcome);
      advance(b, 1, outcome);
    }
  }

  ThreadPool pool_;
  RandomSubject subject_{{.attributes = 6, .widths = {4, 1}, .counts = {2}}};
  PackedSubject packed_{subject_.view, 8};
  std::vector<naive::Row> hits_;
  std::size_t width_ = static_cast<std::size_t>(packed_.get().columns);
};

TEST_F(Frontiers, GoTheSameWayWithAnyThreads) {
  Frontier one = make(1);
  Frontier many = make(3);
  expect_equal(one, many, 60, any_outcome);
}

TEST_F(Frontiers, GoOnFromTheirState) {
  TemporaryFolder const folder;
  auto const path = folder.file("state");
  // Hits alone fill a queue in a few waves.
  for (bool const full : {false, true}) {
    auto const outcome = [&](std::uint32_t word) {
      return full ? TrialOutcome::kHit : any_outcome(word);
    };
    Frontier frontier = make(2);
    advance(frontier, full ? 120 : 50, outcome);
    {
      CheckpointWriter state(path, "frontier");
      frontier.write(state);
      state.commit();
    }
    auto const state = open_checkpoint(path, "frontier", [](std::string const&) {});
    auto const hits = "frontier.queue" + std::to_string(static_cast<int>(OriginKind::kHit));
    std::uint64_t const rows = state->size(hits) / (width_ * sizeof(std::int32_t));
    EXPECT_LE(rows, kRoom);
    EXPECT_EQ(rows > kRoom - kLanes, full);
    Frontier again = make(1);
    ASSERT_TRUE(again.read(*state));
    expect_equal(frontier, again, 20, outcome);
  }
}

}  // namespace
}  // namespace fairlane
