// What becomes of work that is stopped, fails, or goes on, whatever the work is.
#include "engine/job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Work of ten steps. before: what happens before a step, by its number
class Count : public JobTask {
 public:
  std::vector<std::int64_t> steps;  // those that were done, in this session too
  bool whole = true;
  Job* job = nullptr;
  std::function<void(std::size_t step)> before;

  void work() override {
    while (steps.size() < 10) {
      if (before) before(steps.size());
      job->check_stop();
      if (job->due()) job->save_on_the_way();
      steps.push_back(static_cast<std::int64_t>(steps.size()));
    }
  }
  void write_state(CheckpointWriter& state) override { state.add("steps", steps); }
  void read_state(CheckpointReader const& state) override {
    steps = state.values<std::int64_t>("steps");
  }
  std::string done() const override { return std::to_string(steps.size()) + " of 10 steps"; }
  bool can_save() const override { return whole; }
  char const* name() const override { return "count"; }
};

class JobOfTenSteps : public ::testing::Test {
 protected:
  JobOptions options() {
    JobOptions options;
    options.stop = &stop_;
    options.tell = [this](std::string const& line) { lines_.push_back(line); };
    return options;
  }
  JobOptions saving() {
    JobOptions with_state = options();
    with_state.state =
        StateFile{path_, "ten steps", "the/place", distance_, [this] { return ++now_; }};
    return with_state;
  }
  /// A session that fails at a step; afterwards the count is at hand.
  Count fails(ExitCode code, std::size_t at, JobOptions const& with) {
    return session(with, [this, code, at](std::size_t step) {
      if (step != at) return;
      if (code == ExitCode::kInterrupted) stop_ = true;
      if (code != ExitCode::kInterrupted) throw Error(code, "it is broken");
    });
  }
  Count session(JobOptions const& with, std::function<void(std::size_t)> before = {}) {
    lines_.clear();
    stop_ = false;
    failure_.clear();
    Count count;
    count.whole = whole_;
    count.before = std::move(before);
    Job job(count, with);
    count.job = &job;
    try {
      job.run();
      code_ = ExitCode::kOk;
    } catch (Error const& error) {
      code_ = error.code();
      failure_ = error.what();
    }
    earlier_seconds_ = job.earlier_seconds();
    return count;
  }

  TemporaryFolder const folder_;
  std::string const path_ = folder_.file("state");
  std::atomic<bool> stop_{false};
  std::vector<std::string> lines_;
  double now_ = 0.0;
  double distance_ = 0.0;
  bool whole_ = true;
  ExitCode code_ = ExitCode::kOk;
  std::string failure_;
  double earlier_seconds_ = 0.0;
};

TEST_F(JobOfTenSteps, GoesOnWhereItWasStopped) {
  EXPECT_EQ(fails(ExitCode::kInterrupted, 4, saving()).steps.size(), 4U);
  EXPECT_EQ(code_, ExitCode::kStopped);
  EXPECT_EQ(failure_,
            "stopped; state saved in the/place, 4 of 10 steps done: the same command goes on");
  std::vector<std::size_t> steps;
  session(saving(), [&](std::size_t step) { steps.push_back(step); });
  EXPECT_EQ(code_, ExitCode::kOk);
  EXPECT_THAT(lines_, ElementsAre("goes on from the saved state: 4 of 10 steps are done"));
  EXPECT_THAT(steps, ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_GT(earlier_seconds_, 0.0);
}

TEST_F(JobOfTenSteps, IsLeftAloneWhereNothingIsSaved) {
  fails(ExitCode::kInterrupted, 4, options());
  EXPECT_EQ(code_, ExitCode::kInterrupted);
  EXPECT_EQ(failure_, "interrupted; nothing was written");
  fails(ExitCode::kUnavailable, 4, options());
  EXPECT_EQ(code_, ExitCode::kUnavailable);
  EXPECT_EQ(failure_, "it is broken");
}

TEST_F(JobOfTenSteps, OfAnotherIdentityBeginsAnew) {
  fails(ExitCode::kInterrupted, 4, saving());
  JobOptions other = saving();
  other.state->identity = "ten other steps";
  std::vector<std::size_t> steps;
  session(other, [&](std::size_t step) { steps.push_back(step); });
  EXPECT_EQ(steps.size(), 10U);
  EXPECT_THAT(
      lines_,
      ElementsAre(HasSubstr("belongs to another run; it was removed, and the work begins anew")));
}

TEST_F(JobOfTenSteps, SavesWhereAModelFails) {
  for (ExitCode const code : {ExitCode::kUnavailable, ExitCode::kData}) {
    fs::remove(path_);
    fails(code, 3, saving());
    EXPECT_EQ(code_, ExitCode::kStopped);
    EXPECT_EQ(
        failure_,
        "it is broken; state saved in the/place, 3 of 10 steps done: the same command goes on");
    EXPECT_TRUE(fs::exists(path_));
  }
}

// What is done is not whole, or not worth saving.
TEST_F(JobOfTenSteps, SavesNothingWhereTheWorkSaysSo) {
  whole_ = false;
  fails(ExitCode::kUnavailable, 3, saving());
  EXPECT_EQ(code_, ExitCode::kUnavailable);
  EXPECT_EQ(failure_, "it is broken");
  fails(ExitCode::kInterrupted, 0, saving());
  EXPECT_EQ(code_, ExitCode::kStopped);
  EXPECT_EQ(failure_, "stopped; nothing was saved yet: the same command begins anew");
  EXPECT_FALSE(fs::exists(path_));
}

// Only what was saved before counts: a device's own record is lost.
TEST_F(JobOfTenSteps, NamesTheEarlierStateWhereADeviceFails) {
  fails(ExitCode::kStopped, 3, saving());
  EXPECT_EQ(failure_, "it is broken; nothing was saved yet: the same command begins anew");
  EXPECT_FALSE(fs::exists(path_));
  fails(ExitCode::kInterrupted, 4, saving());
  fails(ExitCode::kStopped, 8, saving());
  EXPECT_EQ(code_, ExitCode::kStopped);
  EXPECT_EQ(failure_,
            "it is broken; state saved in the/place, 4 of 10 steps done: the same command goes on");
}

TEST_F(JobOfTenSteps, PassesOnAllOtherErrors) {
  fails(ExitCode::kMemory, 4, saving());
  EXPECT_EQ(code_, ExitCode::kMemory);
  EXPECT_EQ(failure_, "it is broken");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(JobOfTenSteps, SavesOnTheWay) {
  distance_ = 3.0;  // the clock ticks whenever it is looked at
  fails(ExitCode::kMemory, 9, saving());
  ASSERT_TRUE(fs::exists(path_));
  Count const count = session(saving());
  EXPECT_THAT(lines_, Contains(HasSubstr("goes on from the saved state")));
  EXPECT_EQ(count.steps.size(), 10U);
}

TEST_F(JobOfTenSteps, GoesOnWhereTheDiskIsFull) {
  distance_ = 3.0;
  fs::create_directory(path_ + ".new");  // in the way
  EXPECT_EQ(session(saving()).steps.size(), 10U);
  EXPECT_EQ(code_, ExitCode::kOk);
  EXPECT_THAT(lines_, Contains(HasSubstr("the state was not saved, the count goes on")));
  distance_ = 0.0;
  fails(ExitCode::kInterrupted, 5, saving());
  EXPECT_EQ(code_, ExitCode::kDisk) << "nothing was saved before";
  fs::remove(path_ + ".new");
  fails(ExitCode::kInterrupted, 5, saving());
  fs::create_directory(path_ + ".new");
  fails(ExitCode::kInterrupted, 7, saving());
  EXPECT_EQ(code_, ExitCode::kStopped);
  EXPECT_THAT(failure_, HasSubstr("state.new"));
  EXPECT_THAT(failure_, HasSubstr("; state saved in the/place, 5 of 10 steps done"));
}

TEST_F(JobOfTenSteps, CountsTheSecondsOfAllSessions) {
  fails(ExitCode::kInterrupted, 4, saving());
  CheckpointWriter later(path_, "ten steps");
  later.add("seconds", std::vector<double>{1e6});
  later.add("steps", std::vector<std::int64_t>{0, 1, 2, 3});
  later.commit();
  Count count;
  JobOptions late = saving();
  late.seconds = 1e6;
  stop_ = false;
  Job job(count, late);
  count.job = &job;
  EXPECT_FALSE(job.late());
  job.run();
  EXPECT_TRUE(job.resumed());
  EXPECT_TRUE(job.late());
  EXPECT_GE(job.seconds(), 1e6);
}

TEST_F(JobOfTenSteps, TellsWhatIsLeftByThisSessionsPace) {
  Count count;
  Job job(count, options());
  job.progress().begin(0, 100, 40);
  EXPECT_EQ(job.seconds_left(), 0.0) << "not known yet";
  job.progress().done += 20;
  double const left = job.seconds_left();
  EXPECT_GT(left, 0.0);
  EXPECT_LE(left, job.seconds() * 2.0) << "20 are done, 40 are left";
}

}  // namespace
}  // namespace fairlane
