#include "engine/sweep/sweep.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/sweep/journal.h"
#include "engine/sweep/paper_tables.h"
#include "engine/sweep/sweep_metrics.h"
#include "engine/sweep/sweep_report.h"
#include "tests/engine/sweep/planned.h"

namespace fairlane {
namespace {

/// What command lines do: named cells fail, the others write a result.
struct Office {
  std::set<std::string> failing;   // ids
  std::set<std::string> crashing;  // ids
  ExitCode failure = ExitCode::kData;
  int polls = 0;                   // that a cell takes
  std::vector<std::string> began;  // ids, in order
  std::vector<int> threads;        // of each
  std::atomic<bool> stop{false};
  std::size_t stop_after = 0;  // cells that began, 0: never
};

class FakeWorker final : public SweepWorker {
 public:
  explicit FakeWorker(Office& office) : office_(office) {}

  void start(std::vector<std::string> const& words, int threads) override {
    auto const out = std::find(words.begin(), words.end(), "--out");
    dir_ = *(out + 1);
    id_ = std::filesystem::path(dir_).filename().string();
    office_.began.push_back(id_);
    office_.threads.push_back(threads);
    if (office_.began.size() == office_.stop_after) office_.stop = true;
    polls_ = office_.polls;
    interrupted_ = false;
  }
  std::optional<WorkerReply> poll() override {
    if (interrupted_) return WorkerReply{75, "stopped", machine(), false};
    if (polls_-- > 0) return std::nullopt;
    if (office_.crashing.contains(id_)) return WorkerReply{137, "its process ended", {}, true};
    if (office_.failing.contains(id_))
      return WorkerReply{static_cast<int>(office_.failure), "it is malformed", machine(), false};
    std::filesystem::create_directories(dir_);
    write_file(dir_ + "/summary.json",
               "{\"counts\": {\"unique_groups\": 3, \"unique_instances\": 4, "
               "\"model_evaluations\": 1000}, \"success_rate\": 0.25, \"signature\": \"" +
                   id_ + "\", \"timing\": {\"search_seconds\": 0.5, \"total_seconds\": 1}}");
    return WorkerReply{0, "", machine(), false};
  }
  void interrupt() override { interrupted_ = true; }
  std::string doing() const override { return "works"; }
  int descriptor() const override { return -1; }

 private:
  static CellMachine machine() { return {"host", "cpu", "device", 2, 1, 100.0}; }

  Office& office_;
  std::string dir_;
  std::string id_;
  int polls_ = 0;
  bool interrupted_ = false;
};

class RunSweep : public testing::Test {
 protected:
  void SetUp() override {
    write_small_run();
    plan_ = planned("subjects: [config.yaml]\nmethods: [eidig, adf]\nseeds: [1, 2, 3]\n");
    cells_ = sweep_cells(plan_);
  }
  SweepOutcome run(std::size_t workers = 2, int threads = 2) {
    SweepDir const dir(plan_.out);
    dir.create(plan_, cells_.cells.size());
    SweepOptions options;
    options.part = shard_of(cells_, 1, 1);
    for (std::size_t i = 0; i < workers; ++i)
      options.slots.push_back({"cpu " + std::to_string(i + 1), "cpu"});
    options.threads = threads;
    options.make_worker = [this](WorkerSlot const&) {
      return std::make_unique<FakeWorker>(office_);
    };
    options.stop = &office_.stop;
    options.holder = "a test";
    return run_sweep(plan_, cells_, dir, options);
  }
  std::string csv() const {
    SweepStandings const standings = SweepDir(plan_.out).standings();
    return sweep_csv({plan_, cells_, standings});
  }
  ExitCode code_of_run() {
    try {
      run();
      return ExitCode::kOk;
    } catch (Error const& error) {
      return error.code();
    }
  }

  WorkingFolder folder_;
  SweepPlan plan_;
  SweepCells cells_;
  Office office_;
};

TEST_F(RunSweep, DoesEachCellOnce) {
  SweepOutcome const outcome = run();
  EXPECT_EQ(outcome.done, 6);
  EXPECT_EQ(office_.began.size(), 6U);
  std::string const first = csv();
  EXPECT_EQ(run().ran, 0);
  EXPECT_EQ(office_.began.size(), 6U);
  EXPECT_EQ(csv(), first);
}

TEST_F(RunSweep, AFailureStopsNobody) {
  std::string const wrong = cells_.cells[1].id;
  std::string const crashed = cells_.cells[4].id;
  office_.failing = {wrong};
  office_.crashing = {crashed};
  SweepOutcome outcome = run();
  EXPECT_EQ(outcome.done, 4);
  EXPECT_EQ(outcome.failed, 2);
  EXPECT_TRUE(contains(csv(), "failed,65,it is malformed")) << csv();
  // The next one tries them again.
  office_.failing.clear();
  office_.crashing.clear();
  office_.began.clear();
  EXPECT_EQ(run().done, 6);
  EXPECT_EQ(std::set<std::string>(office_.began.begin(), office_.began.end()),
            (std::set<std::string>{wrong, crashed}));
  EXPECT_FALSE(contains(csv(), "failed"));
}

TEST_F(RunSweep, StopsWithWhatIsDone) {
  office_.polls = 3;
  office_.stop_after = 3;
  EXPECT_EQ(code_of_run(), ExitCode::kStopped);
  std::size_t const began = office_.began.size();
  EXPECT_LT(began, 6U);
  office_.stop = false;
  office_.stop_after = 0;
  SweepStandings const standings = SweepDir(plan_.out).standings();
  std::size_t const done = standings.results.size();
  EXPECT_EQ(run().done, 6);
  EXPECT_EQ(office_.began.size(), began + 6 - done);
}

TEST_F(RunSweep, AFullDiskEndsIt) {
  office_.failing = {cells_.cells[2].id};
  office_.failure = ExitCode::kDisk;
  EXPECT_EQ(code_of_run(), ExitCode::kDisk);
  EXPECT_FALSE(SweepDir(plan_.out).standings().results.contains(cells_.cells[2].id));
}

TEST_F(RunSweep, ThreadsAreSharedOut) {
  run(2, 8);
  ASSERT_EQ(office_.threads.size(), 6U);
  EXPECT_EQ(office_.threads[0], 4);
}

TEST_F(RunSweep, CountsAndMetrics) {
  office_.failing = {cells_.cells[0].id};
  run();
  SweepStandings const standings = SweepDir(plan_.out).standings();
  SweepOverview const overview(plan_, cells_, standings);
  EXPECT_EQ(overview.count(CellStanding::kDone), 5);
  EXPECT_EQ(overview.evaluations(), 5000.0);
  std::string const metrics = sweep_metrics(overview, "a \"b\"", 7.0);
  EXPECT_TRUE(contains(metrics, "fairlane_sweep_cells{sweep=\"a \\\"b\\\"\",state=\"done\"} 5\n"))
      << metrics;
  EXPECT_TRUE(contains(metrics, "fairlane_sweep_left_seconds{sweep=\"a \\\"b\\\"\"} 7\n"));
  EXPECT_TRUE(metrics.ends_with("# EOF\n"));
  // 1000 evaluations in half a second of a machine with 100 GFLOP/s.
  EXPECT_TRUE(contains(timing_csv(overview), ",2000,20\n")) << timing_csv(overview);
}

TEST_F(RunSweep, MayKeepFiguresAlone) {
  plan_.keep = KeptResults::kSummary;
  run();
  EXPECT_FALSE(std::filesystem::exists(SweepDir(plan_.out).cell_dir(cells_.cells[0].id)));
  EXPECT_TRUE(contains(csv(), cells_.cells[0].id + ",config,run"));
  EXPECT_EQ(run().ran, 0);
}

TEST_F(RunSweep, WhatADeadProcessHadBegunDoesNotRun) {
  SweepDir const dir(plan_.out);
  dir.create(plan_, cells_.cells.size());
  Json begun;
  begun["kind"] = "STARTED";
  begun["cell"] = cells_.cells[0].id;
  begun["worker"] = "cpu 9";
  JournalWriter writer(dir.journal("all"), "a process that is killed");
  writer.add(begun);
  writer.commit();
  EXPECT_EQ(dir.standings().running.size(), 1U);
  Json session;
  session["kind"] = "SESSION";
  session["holder"] = "the next one";
  writer.add(session);
  writer.commit();
  EXPECT_EQ(dir.standings().running.size(), 0U);
}

TEST_F(RunSweep, EqualBytesAreOneCellWithAllNames) {
  std::filesystem::create_directory("networks");
  for (char const* name : {"networks/a.safetensors", "networks/b.safetensors"})
    write_safetensors(small_network(), name);
  plan_ = planned("subjects: [{config: config.yaml, models: [networks/*.safetensors]}]");
  cells_ = sweep_cells(plan_);
  EXPECT_EQ(run().ran, 1);
  std::string const table = csv();
  EXPECT_TRUE(contains(table, ",config/a,run,")) << table;
  EXPECT_TRUE(contains(table, ",config/b,run,")) << table;
  SweepStandings const standings = SweepDir(plan_.out).standings();
  SweepOverview const overview(plan_, cells_, standings);
  EXPECT_TRUE(contains(methods_csv(overview), "\nconfig/b,run,sex,,eidig,1,3.0,0.0,"))
      << methods_csv(overview);
}

TEST_F(RunSweep, RefusesAStrangersDirectory) {
  std::filesystem::create_directories("swept");
  write_file("swept/notes.txt", "mine");
  EXPECT_EQ(code_of_run(), ExitCode::kOutput);
  EXPECT_EQ(slurp("swept/notes.txt"), "mine");
}

}  // namespace
}  // namespace fairlane
