#include "engine/record/output_dir.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

std::string manifest(std::string const& content) {
  return "{\"fairlane\": \"0\", \"config\": \"" + content + "\"}\n";
}

std::set<std::string> names_in(std::string const& dir) {
  std::set<std::string> names;
  for (auto const& entry : fs::directory_iterator(dir))
    names.insert(entry.path().filename().string());
  return names;
}

void write_results(std::string const& dir, std::string const& content, bool overwrite = false) {
  OutputDir out(dir, manifest(content), overwrite);
  out.write("instances.csv", content + "\n");
  out.write("summary.json", "{}\n");
  out.finish();
}

TEST(OutputDir, AppearsWhole) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("a/b/out");
  {
    OutputDir out(dir + "/", manifest("x"), false);
    out.write("summary.json", "{}\n");
    fs::create_directories(out.partial("spill"));
    EXPECT_EQ(names_in(dir), std::set<std::string>{".partial"});
    out.set_manifest(manifest("y"));
    out.finish();
  }
  EXPECT_EQ(names_in(dir), (std::set<std::string>{"DONE", "manifest.json", "summary.json"}));
  EXPECT_EQ(slurp(dir + "/manifest.json"), manifest("y"));
}

TEST(OutputDir, LeavesNothingBehindWhenTheRunFails) {
  TemporaryFolder const folder;
  { OutputDir const out(folder.file("out"), manifest("x"), false); }
  EXPECT_FALSE(fs::exists(folder.file("out")));
  fs::create_directory(folder.file("empty"));
  { OutputDir const out(folder.file("empty"), manifest("x"), false); }
  EXPECT_TRUE(names_in(folder.file("empty")).empty());
  write_results(folder.file("done"), "x");
  { OutputDir const out(folder.file("done"), manifest("x"), false); }
  EXPECT_EQ(names_in(folder.file("done")).count("DONE"), 1U) << "finished results were touched";
}

TEST(OutputDir, ReplacesTheSameRunAndRefusesAnother) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("out");
  write_results(dir, "x");
  folder.write("out/global.csv", "old\n");
  folder.write("out/instances.parquet", "old\n");
  folder.write("out/instances.words.csv", "old\n");
  folder.write("out/instances.plausibility.csv", "old\n");
  folder.write("out/notes.txt", "mine\n");
  write_results(dir, "x");
  EXPECT_EQ(names_in(dir), (std::set<std::string>{"DONE", "instances.csv", "manifest.json",
                                                  "notes.txt", "summary.json"}))
      << "results that the run does not write must go, other files must stay";
  expect_error(ExitCode::kOutput, {dir, "another run"}, [&] { write_results(dir, "y"); });
  EXPECT_EQ(slurp(dir + "/instances.csv"), "x\n");
  write_results(dir, "y", true);
  EXPECT_EQ(slurp(dir + "/instances.csv"), "y\n");
  // What only the run itself can know does not make it another one.
  folder.write("out/manifest.json",
               "{\"fairlane\": \"0\", \"config\": \"y\", \"cut\": {\"finder\": 7}}\n");
  write_results(dir, "y");
}

TEST(OutputDir, ReplacesWhatAnotherCommandLeftAndNothingElse) {
  std::vector<std::pair<std::string, std::vector<std::string>>> const leaves = {
      {"audit", {"audit.json", "junit.xml", "report.html", "report.md"}},
      {"verify",
       {"against.csv", "cells.csv", "certificate.txt", "counterexamples.csv", "fairify.csv",
        "report.html", "summary.json"}},
      {"retrain", {"added.csv", "model.h5", "report.html", "run.yaml", "test.csv"}},
      {"enumerate", {"counts.json", "instances-00012.npy", "instances.json", "pairs.csv"}}};
  for (auto const& [command, names] : leaves) {
    TemporaryFolder const folder;
    std::string const dir = folder.file("out");
    {
      OutputDir out(dir, R"({"fairlane": "0", ")" + command + R"(": {}})", false);
      for (std::string const& name : names) out.write(name, "old");
      out.finish();
    }
    EXPECT_EQ(names_in(dir).size(), names.size() + 2);
    write_results(dir, "x", true);
    // These are no results of a run, and so somebody's own.
    std::set<std::string> files = {"DONE", "instances.csv", "manifest.json", "summary.json"};
    EXPECT_EQ(names_in(dir), files) << command;
    for (char const* own :
         {"test.csv", "run.yaml", "instances-.csv", "instances-1.txt", "cells.csv"}) {
      folder.write(std::string("out/") + own, "mine");
      files.insert(own);
    }
    write_results(dir, "y", true);
    EXPECT_EQ(names_in(dir), files) << command;
  }
}

TEST(OutputDir, WritesNothingThatItWouldNotRemove) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("out");
  write_results(dir, "x");
  {
    OutputDir out(dir, manifest("y"), true);
    out.write("audit.json", "{}");
    EXPECT_THROW(out.finish(), std::logic_error);
  }
  EXPECT_EQ(names_in(dir),
            (std::set<std::string>{"DONE", "instances.csv", "manifest.json", "summary.json"}));
  EXPECT_EQ(slurp(dir + "/instances.csv"), "x\n");
}

TEST(OutputDir, RefusesWhatIsNotItsOwn) {
  TemporaryFolder const folder;
  folder.write("file", "text");
  expect_error(ExitCode::kOutput, {"file", "is a file"},
               [&] { write_results(folder.file("file"), "x"); });
  expect_error(ExitCode::kOutput, {"file/below/out", "expected a directory"},
               [&] { write_results(folder.file("file/below/out"), "x"); });
  fs::create_directory(folder.file("foreign"));
  folder.write("foreign/data.csv", "text");
  expect_error(ExitCode::kOutput, {"foreign", "data.csv"},
               [&] { write_results(folder.file("foreign"), "x", true); });
  folder.write("foreign/manifest.json", "{\"name\": \"web app\"}");
  expect_error(ExitCode::kOutput, {"foreign", "manifest"},
               [&] { write_results(folder.file("foreign"), "x", true); });
  folder.write("foreign/manifest.json", "no json");
  expect_error(ExitCode::kOutput, {"foreign", "manifest"},
               [&] { write_results(folder.file("foreign"), "x", true); });
  EXPECT_EQ(names_in(folder.file("foreign")), (std::set<std::string>{"data.csv", "manifest.json"}));
  fs::create_directories(folder.file("odd/.partial"));
  folder.write("odd/.partial/theirs", "text");
  expect_error(ExitCode::kOutput, {".partial"}, [&] { write_results(folder.file("odd"), "x"); });
  expect_error(ExitCode::kOutput, {"/proc/fairlane"},
               [&] { write_results("/proc/fairlane", "x"); });
  expect_error(ExitCode::kConfig, {"output.dir"}, [&] { write_results("", "x"); });
}

TEST(OutputDir, RefusesASecondWriter) {
  TemporaryFolder const folder;
  OutputDir out(folder.file("out"), manifest("x"), false);
  expect_error(ExitCode::kOutput, {"another run"}, [&] { write_results(folder.file("out"), "x"); });
  out.finish();
  EXPECT_EQ(names_in(folder.file("out")), (std::set<std::string>{"DONE", "manifest.json"}));
}

TEST(OutputDir, RemovesLeftovers) {
  TemporaryFolder const folder;
  fs::create_directories(folder.file("out/.partial/spill"));
  folder.write("out/.partial/lock", "");
  folder.write("out/.partial/global.csv", "half");
  folder.write("out/.partial/spill/instances.0", "half");
  write_results(folder.file("out"), "x");
  EXPECT_EQ(names_in(folder.file("out")),
            (std::set<std::string>{"DONE", "instances.csv", "manifest.json", "summary.json"}));
}

TEST(OutputDir, KeepsAStateUntilTheRunIsFinished) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("out");
  std::string state;
  {
    OutputDir const out(dir, manifest("x"), false);
    state = out.state_path();
    folder.write("out/.partial/state", "half way");
    folder.write("out/.partial/state.new", "half");
  }
  EXPECT_EQ(names_in(dir + "/.partial"), (std::set<std::string>{"lock", "manifest.json", "state"}));
  folder.write("out/.partial/state.new", "half");
  folder.write("out/.partial/global.csv", "half");
  {
    OutputDir const out(dir, manifest("x"), false);
    EXPECT_EQ(slurp(state), "half way");
    EXPECT_EQ(names_in(dir + "/.partial"),
              (std::set<std::string>{"lock", "manifest.json", "state"}));
  }
  EXPECT_EQ(slurp(state), "half way") << "whoever reads it decides whether it is of use";
  write_results(dir, "x");
  EXPECT_EQ(names_in(dir),
            (std::set<std::string>{"DONE", "instances.csv", "manifest.json", "summary.json"}));
}

TEST(OutputDir, RefusesToReplaceAnotherRunsState) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("out");
  auto const job = [](int seed, char const* command) {
    return "{\"fairlane\": \"0\", \"config\": {\"seed\": " + std::to_string(seed) + "}" + command +
           "}";
  };
  std::string const state = dir + "/.partial/state";
  {
    OutputDir const out(dir, job(42, ""), false);
    folder.write("out/.partial/state", "half way");
  }
  auto const begin = [&](std::string const& manifest, bool overwrite) {
    OutputDir const out(dir, manifest, overwrite);
  };
  expect_error(ExitCode::kOutput,
               {dir, "saved state of another run", "seed is 42, here 43", "--overwrite"},
               [&] { begin(job(43, ""), false); });
  expect_error(ExitCode::kOutput, {dir, "of `fairlane run`, not of `fairlane enumerate`"},
               [&] { begin(job(42, ", \"enumerate\": {\"shard\": 1}"), false); });
  EXPECT_EQ(slurp(state), "half way");
  begin(job(42, ""), false);
  EXPECT_EQ(slurp(state), "half way");
  begin(job(43, ""), true);
  expect_error(ExitCode::kOutput, {"seed is 43, here 42"}, [&] { begin(job(42, ""), false); });
  // Beside finished results, too.
  fs::remove_all(dir);
  write_results(dir, "x");
  fs::create_directory(dir + "/.partial");
  folder.write("out/.partial/lock", "");
  folder.write("out/.partial/state", "half way");
  folder.write("out/.partial/manifest.json", manifest("y"));
  expect_error(ExitCode::kOutput, {"saved state of another run", "config is \"y\", here \"x\""},
               [&] { write_results(dir, "x"); });
  EXPECT_TRUE(fs::exists(dir + "/DONE"));
}

TEST(OutputDir, SurvivesKillAtAnyMoment) {
  TemporaryFolder const folder;
  std::string const dir = folder.file("out");
  std::string const large(1 << 18, 'x');
  auto const write_once = [&](std::string const& name) {
    OutputDir out(dir, manifest(name), true);
    for (char const* file : {"instances.csv", "global.csv", "summary.json"})
      out.write(file, name + large);
    out.finish();
  };
  std::mt19937 random(3);
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    std::string const name = round % 2 == 0 ? "even" : "odd";
    pid_t const child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        while (true) write_once(name);
      } catch (std::exception const& e) {
        fprintf(stderr, "%s\n", e.what());
        _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(random() % 8000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the run after a kill failed";
    ++killed;
    if (!fs::exists(dir)) continue;
    for (auto const& file : names_in(dir)) {
      if (file == ".partial" || file == "DONE" || file == "manifest.json") continue;
      std::string const text = slurp(dir + "/" + file);
      EXPECT_TRUE(text == "even" + large || text == "odd" + large) << file << " is partial";
    }
    if (fs::exists(dir + "/DONE")) {
      std::string const content =
          slurp(dir + "/manifest.json") == manifest("even") ? "even" : "odd";
      EXPECT_EQ(slurp(dir + "/manifest.json"), manifest(content));
      for (char const* file : {"instances.csv", "global.csv", "summary.json"}) {
        EXPECT_EQ(slurp(dir + "/" + file), content + large);
      }
    }
  }
  EXPECT_GT(killed, 0);
  write_once("even");
  EXPECT_EQ(names_in(dir).count(".partial"), 0U);
}

}  // namespace
}  // namespace fairlane
