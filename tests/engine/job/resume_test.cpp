// Runs that are stopped or killed, and go on: whenever that happens, they end with the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/results/manifest.h"
#include "kernels/device/device_backend.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// What ends a process at once.
struct Killed {};

/// What happens to a session, by the number of times that it has looked at the clock: once a round.
struct Fate {
  std::int64_t stop_at = std::numeric_limits<std::int64_t>::max();
  std::int64_t kill_at = std::numeric_limits<std::int64_t>::max();
  double save_every = 0.0;               // looks
  std::function<double()> seconds = {};  // of the search, in place of those that pass
};

/// A session that has ended.
struct Session {
  enum class End { kFinished, kStopped, kKilled } end = End::kFinished;
  std::string error;
  std::vector<std::string> notices;
  std::int64_t iterations = 0;
  std::int64_t looks = 0;
};

/// How a session is executed.
struct SessionHow {
  int threads = 1;
  int batch = 5;
  std::uint64_t memory = 0;
  int devices = 0;  // stand-ins; 0: the CPU
  std::optional<std::int64_t> failing_call = {};
  bool overwrite = false;
};

std::unique_ptr<Backend> make_stand_ins(RunConfig const& config, SessionHow const& how,
                                        TestSubject const& subject, VisitSink overflow) {
  DeviceOptions options;
  options.lanes = how.batch;
  options.seed = config.seed;
  options.memory_limit = how.memory;
  options.overflow = std::move(overflow);
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < how.devices; ++i) {
    DeviceFaults faults;
    if (i == 0) faults.failing_call = how.failing_call;
    devices.push_back(std::make_unique<TestDevice>(small_limits(), faults));
  }
  return make_device_backend(subject.view(), std::move(devices), options);
}

Session run_session(RunConfig const& config, SessionHow const& how, Fate const& fate) {
  Session session;
  JobProgress progress;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> looks{0};
  RunOptions options = options_with(how.threads, how.memory);
  options.execution.batch = how.batch;
  options.overwrite = how.overwrite;
  options.execution.checkpoint = fate.save_every;
  options.search.stop = &stop;
  options.search.progress = &progress;
  options.search.passed = fate.seconds;
  options.notice = [&](std::string const& line) { session.notices.push_back(line); };
  options.now = [&] {
    std::int64_t const look = ++looks;
    if (look >= fate.stop_at) stop = true;
    if (look >= fate.kill_at) throw Killed();
    return static_cast<double>(look);
  };
  if (how.devices > 0) {
    options.backend = [&](TestSubject const& subject, VisitSink overflow) {
      return make_stand_ins(config, how, subject, std::move(overflow));
    };
  }
  try {
    run(config, options);
  } catch (Killed const&) {
    session.end = Session::End::kKilled;
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kStopped) << error.what();
    session.end = Session::End::kStopped;
    session.error = error.what();
  }
  session.iterations = progress.iterations;
  session.looks = looks;
  return session;
}

/// A configuration, an uninterrupted run of it, and how many looks that takes when it may save.
class Resume : public ::testing::Test {
 protected:
  void prepare(RunConfig config) {
    config_ = to(std::move(config), folder_.file("interrupted"));
    fs::remove_all(config_.output.dir);
    whole_ = folder_.file("whole");
    fs::remove_all(whole_);
    Session const session = run_session(to(config_, whole_), {}, {.save_every = 1e9});
    ASSERT_EQ(session.end, Session::End::kFinished);
    iterations_ = session.iterations;
  }
  void prepare(char const* method) {
    RunConfig config = small_config(folder_, {});
    config.method = method;
    config.sg.samples = 40;
    config.output.trace = true;
    config.output.plausibility = true;
    config.aequitas.lanes = 4;
    prepare(config);
  }
  std::int64_t looks(SessionHow const& how) const {
    std::string const dir = folder_.file("counted");
    fs::remove_all(dir);
    return run_session(to(config_, dir), how, {.save_every = 1e9}).looks;
  }
  Session go_on(SessionHow const& how, Fate const& fate = {}) const {
    return run_session(config_, how, fate);
  }
  std::string state() const { return config_.output.dir + "/.partial/state"; }
  void expect_whole() const {
    expect_same_output(whole_, config_.output.dir);
    EXPECT_FALSE(fs::exists(config_.output.dir + "/.partial"));
  }
  /// Ends sessions at random moments, some by a stop and some by a kill, until one is finished.
  void interrupt_often(SessionHow const& how, std::uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::int64_t const all = looks(how);
    constexpr int kSessions = 12;
    for (int i = 0; i < kSessions; ++i) {
      Fate fate;
      fate.save_every = 1.0 + static_cast<double>(random() % 20);
      auto const at = 1 + static_cast<std::int64_t>(random()) % std::max<std::int64_t>(1, all / 3);
      (random() % 2 == 0 ? fate.stop_at : fate.kill_at) = at;
      SessionHow now = how;
      if (how.devices == 0) now.threads = 1 + static_cast<int>(random() % 2);
      now.batch = 1 + static_cast<int>(random() % 9);
      if (go_on(now, fate).end == Session::End::kFinished) break;
    }
    EXPECT_EQ(go_on(how).end, Session::End::kFinished);
    expect_whole();
    fs::remove_all(config_.output.dir);
  }

  TemporaryFolder const folder_;
  RunConfig config_;
  std::string whole_;
  std::int64_t iterations_ = 0;
};

TEST_F(Resume, GoesOnFromAnyMoment) {
  for (char const* method : {"eidig", "adf", "maft", "margin", "grft", "sg", "expga"}) {
    SCOPED_TRACE(method);
    prepare(method);
    for (int const threads : {1, 2}) {
      SessionHow const how{threads};
      std::int64_t const all = looks(how);
      for (std::int64_t at = 1; at < all - all / 4;
           at += all / 6) {  // threads share looks as they like
        SCOPED_TRACE(at);
        Session const first = go_on(how, {.stop_at = at, .save_every = 1e9});
        ASSERT_EQ(first.end, Session::End::kStopped);
        EXPECT_THAT(first.error, HasSubstr("stopped; state saved in " + config_.output.dir));
        Session const second = go_on(SessionHow{3 - threads, 8});
        ASSERT_EQ(second.end, Session::End::kFinished);
        EXPECT_THAT(second.notices, Contains(HasSubstr("goes on from the saved state")));
        expect_whole();
        // Only lanes that were on their way run again.
        std::int64_t const again = threads * how.batch * config_.local.num;
        EXPECT_GE(first.iterations + second.iterations, iterations_);
        EXPECT_LE(first.iterations + second.iterations, iterations_ + again);
        fs::remove_all(config_.output.dir);
      }
    }
  }
}

TEST_F(Resume, GoesOnAfterManyKillsAndStops) {
  for (char const* method :
       {"eidig", "adf", "maft", "margin", "aequitas-fully", "grft", "sg", "expga"}) {
    SCOPED_TRACE(method);
    prepare(method);
    for (std::uint32_t const seed : {1U, 2U}) interrupt_often({1}, seed);
  }
}

// What was learnt goes on where the last population has ended, and populations that have ended are
// not run again.
TEST_F(Resume, GoesOnWithWhatWasLearnt) {
  RunConfig config = small_config(folder_, {});
  config.method = "aequitas-fully";
  config.global.num = 100;
  config.local.num = 100;
  config.aequitas.lanes = 4;
  prepare(config);
  std::int64_t const all = looks({});
  for (std::int64_t const before_end : {1, 3}) {
    SCOPED_TRACE(before_end);
    Session const first = go_on({}, {.stop_at = all - before_end, .save_every = 1e9});
    ASSERT_EQ(first.end, Session::End::kStopped);
    Session const second = go_on({2, 3});
    ASSERT_EQ(second.end, Session::End::kFinished);
    EXPECT_LE(first.iterations + second.iterations, iterations_ + 4 * config.local.num);
    expect_whole();
    fs::remove_all(config_.output.dir);
  }
}

TEST_F(Resume, WithARecordThatOverflows) {
  constexpr std::uint64_t kLittle = 1 << 12;
  for (char const* kind : {"one output", "wide domain"}) {
    SCOPED_TRACE(kind);
    RunConfig config = overflowing_config(folder_, kind);
    config.global.num = 60;
    config.local.num = 300;
    config.output.trace = true;
    prepare(config);
    interrupt_often({2, 5, kLittle}, 3);
    fs::remove_all(config_.output.dir);
  }
}

TEST_F(Resume, OnDevices) {
  for (char const* method : {"eidig", "margin", "aequitas-semi", "grft", "sg", "expga"}) {
    SCOPED_TRACE(method);
    prepare(method);
    for (int const devices : {1, 2}) {
      interrupt_often({1, 5, 0, devices}, 4);
      interrupt_often({1, 5, 1, devices}, 5);  // the least record
    }
  }
}

// A state is that of the search, not of what executes it.
TEST_F(Resume, OnAnotherBackend) {
  prepare("eidig");
  std::int64_t const all = looks({});
  SessionHow const device{1, 7, 0, 1};
  EXPECT_EQ(go_on({}, {.stop_at = all / 3, .save_every = 1e9}).end, Session::End::kStopped);
  EXPECT_EQ(go_on(device, {.stop_at = 3, .save_every = 1e9}).end, Session::End::kStopped);
  EXPECT_EQ(go_on({2}).end, Session::End::kFinished);
  expect_whole();
}

// Between two saves a failure costs what was done since; the device is not asked again for what it
// has recorded.
TEST_F(Resume, AfterADeviceHasFailed) {
  prepare("eidig");
  std::mt19937 random(6);
  int saved = 0;
  for (int round = 0; round < 12; ++round) {
    SessionHow how{1, 5, 0, 1 + round % 2};
    constexpr std::int64_t kCalls = 200;
    how.failing_call = static_cast<std::int64_t>(random()) % kCalls;
    SCOPED_TRACE(*how.failing_call);
    Session const first = go_on(how, {.save_every = 2.0});
    if (first.end == Session::End::kFinished) continue;
    EXPECT_THAT(first.error, HasSubstr("the device has failed; "));
    bool const is_saved = fs::exists(state());
    saved += is_saved ? 1 : 0;
    EXPECT_THAT(first.error,
                HasSubstr(is_saved ? "the same command goes on"
                                   : "nothing was saved yet: the same command begins"));
    EXPECT_EQ(go_on({2}).end, Session::End::kFinished);
    expect_whole();
    fs::remove_all(config_.output.dir);
  }
  EXPECT_GT(saved, 3);
}

// The findings are the last thing that a search asks of a device.
TEST_F(Resume, AfterADeviceHasFailedUnderTheFindings) {
  prepare("eidig");
  for (double const save_every : {2.0, 1e9}) {
    auto const fails = [&](std::int64_t call) {
      SessionHow how{1, 5, 0, 1};
      how.failing_call = call;
      fs::remove_all(config_.output.dir);
      Session const session = go_on(how, {.save_every = save_every});
      return session.end == Session::End::kFinished ? "" : session.error;
    };
    std::int64_t last = 0;  // call that a run makes
    std::int64_t after = 1;
    while (!fails(after).empty()) after *= 2;
    while (last + 1 < after) {
      std::int64_t const middle = (last + after) / 2;
      (fails(middle).empty() ? after : last) = middle;
    }
    for (std::int64_t const call : {last, last - 1, last - 2}) {
      SCOPED_TRACE(call);
      EXPECT_THAT(fails(call), HasSubstr(save_every < 3 ? "state is saved: the same command goes on"
                                                        : "nothing was saved yet"));
      EXPECT_EQ(go_on({2}).end, Session::End::kFinished);
      expect_whole();
    }
  }
}

TEST_F(Resume, BeginsAnewWhereTheStateIsDamaged) {
  prepare("eidig");
  std::int64_t const all = looks({});
  for (int const way : {0, 1, 2, 3}) {
    SCOPED_TRACE(way);
    ASSERT_EQ(go_on({}, {.stop_at = all / 2, .save_every = 1e9}).end, Session::End::kStopped);
    std::string bytes = slurp(state());
    if (way == 0) bytes.resize(bytes.size() / 2);
    if (way == 1) bytes[bytes.size() / 2] ^= 1;
    if (way == 2) bytes.clear();
    if (way == 3) bytes += bytes;
    std::ofstream(state(), std::ios::binary) << bytes;
    Session const second = go_on({});
    EXPECT_EQ(second.end, Session::End::kFinished);
    EXPECT_EQ(std::count_if(second.notices.begin(), second.notices.end(),
                            [](auto const& line) { return line.find("state") < line.size(); }),
              1);
    EXPECT_THAT(second.notices, Contains(HasSubstr("begins anew")));
    EXPECT_EQ(second.iterations, iterations_);
    expect_whole();
    fs::remove_all(config_.output.dir);
  }
}

TEST_F(Resume, BeginsAnewWhereTheStateIsAnotherRuns) {
  prepare("eidig");
  RunConfig const mine = config_;
  config_.seed = 43;
  ASSERT_EQ(go_on({}, {.stop_at = 20, .save_every = 1e9}).end, Session::End::kStopped);
  config_ = mine;
  std::string const before = slurp(state());
  expect_error(ExitCode::kOutput, {config_.output.dir, "seed is 43, here 42", "--overwrite"},
               [&] { run(config_, options_with(1)); });
  EXPECT_TRUE(slurp(state()) == before);
  Session const second = go_on({.overwrite = true});
  EXPECT_EQ(second.end, Session::End::kFinished);
  EXPECT_THAT(second.notices, Contains(HasSubstr("belongs to another run")));
  expect_whole();
}

// Where distinct inputs are counted on the way, the record must be whole.
TEST_F(Resume, NotWhereDistinctInputsAreCounted) {
  for (char const* method : {"themis", "eidig"}) {
    SCOPED_TRACE(method);
    RunConfig config = small_config(folder_, {});
    config.method = method;
    if (std::string(method) == "eidig") config.budget.instances = 500;
    std::atomic<bool> const stop{true};
    RunOptions options = options_with(1);
    options.search.stop = &stop;
    expect_error(ExitCode::kInterrupted, {"interrupted; nothing was written"},
                 [&] { run(config, options); });
    EXPECT_FALSE(fs::exists(config.output.dir));
  }
}

TEST_F(Resume, SavesOnTheWayOnlyWhenItIsTime) {
  prepare("eidig");
  std::int64_t const all = looks({});
  EXPECT_EQ(go_on({}, {.kill_at = all - 1, .save_every = 1e9}).end, Session::End::kKilled);
  EXPECT_FALSE(fs::exists(state()));
  EXPECT_EQ(go_on({}, {.kill_at = all - 1}).end, Session::End::kFinished) << "0: no look at all";
  fs::remove_all(config_.output.dir);
  EXPECT_EQ(go_on({}, {.kill_at = all - 1, .save_every = 30.0}).end, Session::End::kKilled);
  EXPECT_TRUE(fs::exists(state()));
}

// A disk that is full ends no search; only its state is not saved.
TEST_F(Resume, GoesOnWhereAStateCannotBeWritten) {
  prepare("eidig");
  std::atomic<int> looks{0};
  RunOptions options = options_with(1);
  options.execution.batch = 5;
  options.execution.checkpoint = 30.0;
  std::vector<std::string> notices;
  options.notice = [&](std::string const& line) { notices.push_back(line); };
  options.now = [&] {
    if (++looks == 10) fs::create_directory(state() + ".new");  // in the way
    return static_cast<double>(looks);
  };
  run(config_, options);
  EXPECT_THAT(notices, Contains(HasSubstr("the state was not saved, the search goes on")));
  expect_whole();
}

// The budget of seconds is that of all sessions, and what it ends can be repeated.
TEST_F(Resume, TheClockCountsEarlierSessions) {
  RunConfig config = small_config(folder_, {});
  config.output.trace = true;
  config.budget.seconds = 1e6;
  prepare(config);
  ASSERT_EQ(go_on({}, {.stop_at = looks({}) / 2, .save_every = 1e9}).end, Session::End::kStopped);
  std::string const manifest = slurp(whole_ + "/manifest.json");
  {
    auto const saved = open_checkpoint(state(), manifest, {});
    ASSERT_NE(saved, nullptr);
    CheckpointWriter later(state(), manifest);
    later.add("seconds", std::vector<double>{1e6});
    for (char const* name : {"seed.tests", "seed.begun", "seed.last_row", "hit.seed", "hit.row",
                             "origin.done", "origin.steps", "origin.renewals", "visits"}) {
      later.add(name, saved->values<std::uint8_t>(name));
    }
    later.commit();
  }
  Session const second = go_on({});
  EXPECT_EQ(second.end, Session::End::kFinished);
  EXPECT_EQ(second.iterations, 0);
  RecordedRun const recorded = read_manifest(config_.output.dir);
  EXPECT_STREQ(recorded.cut.reason, "seconds");
  RunOptions replay = options_with(2);
  replay.search.replay = recorded.cut;
  run(to(recorded.config, folder_.file("again")), replay);
  expect_same_output(config_.output.dir, folder_.file("again"));
}

// A session that the clock ends before its lanes have come as far as those of an earlier one: what
// the earlier one has visited counts, too.
TEST_F(Resume, TheClockMayEndWhatAnEarlierSessionHadBegun) {
  for (char const* method : {"eidig", "adf", "maft", "margin", "aequitas-fully", "grft"}) {
    RunConfig config = small_config(folder_, {});
    config.method = method;
    config.output.trace = true;
    config.aequitas.lanes = 4;
    config.local.num = 60;
    config.budget.seconds = 1e6;
    config_ = to(config, folder_.file("interrupted"));
    int ended_by_clock = 0;
    for (std::int64_t const stop_at : {3, 8, 15, 30, 60, 100}) {
      for (bool const killed : {false, true}) {
        SCOPED_TRACE(std::string(method) + ", " + std::to_string(stop_at) +
                     (killed ? ", killed" : ", stopped"));
        fs::remove_all(config_.output.dir);
        fs::remove_all(folder_.file("again"));
        Fate fate{.save_every = killed ? 4.0 : 1e9};
        (killed ? fate.kill_at : fate.stop_at) = stop_at;
        Session const first = go_on({2, 6}, fate);
        if (first.end == Session::End::kFinished) continue;
        auto const looks = std::make_shared<std::atomic<int>>(0);
        Fate const late{.save_every = 1e9, .seconds = [looks] {
                          constexpr int kLate = 5;  // looks
                          return ++*looks > kLate ? 2e6 : 0.0;
                        }};
        ASSERT_EQ(go_on({1, 9}, late).end, Session::End::kFinished);
        RecordedRun const recorded = read_manifest(config_.output.dir);
        if (std::string(recorded.cut.reason).empty()) continue;
        ++ended_by_clock;
        RunOptions replay = options_with(3);
        replay.search.replay = recorded.cut;
        run(to(recorded.config, folder_.file("again")), replay);
        expect_same_output(config_.output.dir, folder_.file("again"));
      }
    }
    EXPECT_GT(ended_by_clock, 3) << method;
  }
}

// What the clock has ended is repeated even by a repetition that is interrupted itself.
TEST_F(Resume, ARepetitionGoesOn) {
  for (char const* method : {"eidig", "margin", "aequitas-semi", "grft"}) {
    SCOPED_TRACE(method);
    // One that steps whole populations looks once for each; the others finish no origin in less.
    std::int64_t const looks_of_a_session = std::string(method) == "aequitas-semi" ? 6 : 70;
    RunConfig config = small_config(folder_, {});
    config.method = method;
    config.output.trace = true;
    config.aequitas.lanes = 4;
    config.local.num = 60;
    for (double const seconds : {4.0, 60.0, 150.0}) {
      config.budget.seconds = seconds;
      config_ = to(config, folder_.file("timed"));
      fs::remove_all(config_.output.dir);
      auto const looks = std::make_shared<std::atomic<int>>(0);
      ASSERT_EQ(go_on({2, 6}, {.seconds = [looks] { return static_cast<double>(++*looks); }}).end,
                Session::End::kFinished);
      RecordedRun const recorded = read_manifest(config_.output.dir);
      ASSERT_STREQ(recorded.cut.reason, "seconds") << seconds;
      fs::remove_all(folder_.file("again"));
      RunConfig const again = to(recorded.config, folder_.file("again"));
      int stops = 0;
      for (int session = 0;; ++session) {
        ASSERT_LT(session, 100);
        std::atomic<bool> stop{false};
        std::atomic<std::int64_t> look{0};
        RunOptions options = options_with(1 + session % 2);
        options.execution.batch = 5;
        options.execution.checkpoint = 1e9;
        options.search.stop = &stop;
        options.search.replay = recorded.cut;
        options.now = [&] {
          if (++look > looks_of_a_session) stop = true;
          return 0.0;
        };
        try {
          run(again, options);
          break;
        } catch (Error const& error) {
          ASSERT_EQ(error.code(), ExitCode::kStopped) << error.what();
          ++stops;
        }
      }
      if (seconds > 100.0) {
        EXPECT_GT(stops, 0);
      }
      expect_same_output(config_.output.dir, folder_.file("again"));
    }
  }
}

}  // namespace
}  // namespace fairlane
