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
    results.hashes.push_back(words[2]);
  }
  return results;
}

TrialOutcome any_outcome(std::uint32_t word) {
  constexpr std::uint32_t kOutcomes = static_cast<std::uint32_t>(TrialOutcome::kFar);
  return static_cast<TrialOutcome>(word % kOutcomes + 1);
}

TrialOutcome far(std::uint32_t) { return TrialOutcome::kFar; }

/// Lets an origin's tests [begin, end) meet something else.
void meet(WaveResults& results, std::size_t origin, std::pair<std::size_t, std::size_t> tests,
          TrialOutcome met) {
  std::size_t const origins = results.words.size() / static_cast<std::size_t>(results.trials);
  for (std::size_t t = tests.first; t < tests.second; ++t) {
    std::uint32_t& word = results.words[t * origins + origin];
    word = (word & ~15U) | static_cast<std::uint32_t>(met);
  }
}

class Frontiers : public ::testing::Test {
 protected:
  Frontiers() {
    for (int i = 0; i < 20; ++i) hits_.push_back(subject_.row());
  }
  Frontier make(int threads) {
    Frontier frontier(
        packed_, kSeed, {1e6, 2.0, 0.0, 4.0, false, 0},
        [this](std::int64_t n, std::int32_t* row) {
          for (std::size_t a = 0; a < width_; ++a) row[a] = static_cast<std::int32_t>(n) % 5;
        },
        pool_);
    for (naive::Row const& row : hits_) frontier.add_hit(row.data());
    frontier.plan(threads);
    return frontier;
  }
  /// The wave that is due has these results.
  static void take(Frontier& frontier, WaveResults results, int threads) {
    auto const lanes = static_cast<std::size_t>(frontier.wave().count());
    std::vector<std::uint32_t> tests;
    frontier.take(results, tests, threads);
    EXPECT_EQ(tests.size(), lanes);
  }
  /// So many waves; before or beside the tests of each it is planned.
  template <class Outcome>
  void advance(Frontier& frontier, int threads, int waves, Outcome const& outcome) const {
    for (int i = 0; i < waves; ++i) {
      auto const results = results_of(frontier.wave(), frontier.step(), width_, outcome);
      frontier.plan(threads);
      take(frontier, results, threads);
    }
    frontier.plan(threads);
  }
  /// Both go the same way from here, by one thread and by several.
  template <class Outcome>
  void expect_equal(Frontier& a, Frontier& b, int waves, Outcome const& outcome) const {
    for (int i = 0; i < waves; ++i) {
      Wave const& wave = a.wave();
      Wave const& same = b.wave();
      ASSERT_EQ(wave.number, same.number);
      ASSERT_EQ(wave.starts, same.starts);
      ASSERT_EQ(wave.kinds, same.kinds);
      ASSERT_EQ(wave.rows, same.rows);
      ASSERT_EQ(wave.effort.trials, same.effort.trials);
      advance(a, 1, 1, outcome);
      advance(b, 3, 1, outcome);
    }
  }

  /// What the frontier has saved.
  static std::unique_ptr<CheckpointReader> state_of(Frontier const& frontier,
                                                    std::string const& path) {
    CheckpointWriter state(path, "frontier");
    frontier.write(state);
    state.commit();
    return open_checkpoint(path, "frontier", [](std::string const&) {});
  }
  /// Of a saved wave, the one that is due or the one behind it: how many origins have a kind.
  static std::int64_t chosen(CheckpointReader const& state, int next, OriginKind kind) {
    auto const kinds = state.values<std::uint8_t>("frontier.wave_kinds" + std::to_string(next));
    return std::ranges::count(kinds, static_cast<std::uint8_t>(kind));
  }
  /// Rows of a kind that wait.
  std::uint64_t waiting(CheckpointReader const& state, OriginKind kind) const {
    auto const queue = "frontier.queue" + std::to_string(static_cast<int>(kind));
    return state.size(queue) / (width_ * sizeof(std::int32_t));
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
    advance(frontier, 2, full ? 200 : 90, outcome);
    auto const state = state_of(frontier, path);
    std::uint64_t const rows = waiting(*state, OriginKind::kHitAll);
    EXPECT_LE(rows, kRoom);
    EXPECT_EQ(rows > kRoom - kLanes, full);
    Frontier again = make(1);
    ASSERT_TRUE(again.read(*state, 1));
    EXPECT_EQ(again.wave().number, frontier.wave().number);
    expect_equal(frontier, again, 20, outcome);
  }
}

TEST_F(Frontiers, TellIdisApartByTheTestsBesideThem) {
  Frontier frontier = make(1);
  Wave const& wave = frontier.wave();
  std::size_t const origins = wave.kinds.size();
  ASSERT_GE(origins, 4U);
  auto results = results_of(wave, frontier.step(), width_, far);
  std::ranges::fill(results.hit, std::uint8_t{0});
  auto const trials = static_cast<std::size_t>(results.trials);
  ASSERT_EQ(trials % 4, 0U);
  std::size_t const most = trials / 4 * 3;
  meet(results, 0, {0, trials}, TrialOutcome::kHit);
  meet(results, 1, {0, most}, TrialOutcome::kHit);
  meet(results, 2, {0, most - 1}, TrialOutcome::kHit);
  meet(results, 3, {0, 1}, TrialOutcome::kHit);
  meet(results, 3, {1, trials}, TrialOutcome::kDeep);
  take(frontier, results, 1);
  frontier.plan(1);
  TemporaryFolder const folder;
  auto const state = state_of(frontier, folder.file("state"));
  auto const come = [&](OriginKind kind) {
    return waiting(*state, kind) + static_cast<std::uint64_t>(chosen(*state, 1, kind));
  };
  EXPECT_EQ(come(OriginKind::kHitAll), trials + 1);
  EXPECT_EQ(come(OriginKind::kDeepAll), trials - 1);
  EXPECT_EQ(come(OriginKind::kHitMost), most);
  EXPECT_EQ(come(OriginKind::kHitSome), most - 1);
  EXPECT_EQ(come(OriginKind::kSecond), origins);
}

TEST_F(Frontiers, KeepFamiliesApartWhileThereAreEnough) {
  auto const deep_of_next = [&](Frontier frontier, int waves) {
    advance(frontier, 1, waves, [](std::uint32_t) { return TrialOutcome::kHit; });
    auto results = results_of(frontier.wave(), frontier.step(), width_, far);
    meet(results, 0, {0, static_cast<std::size_t>(results.trials)}, TrialOutcome::kDeep);
    take(frontier, results, 1);
    frontier.plan(1);
    TemporaryFolder const folder;
    return chosen(*state_of(frontier, folder.file("state")), 1, OriginKind::kDeepAll);
  };
  EXPECT_GT(deep_of_next(make(1), 0), 1);
  EXPECT_EQ(deep_of_next(make(1), 30), 1);
}

}  // namespace
}  // namespace fairlane
