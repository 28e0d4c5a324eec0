#include "models/exec/scorer.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/child_process.h"
#include "tests/checkout.h"
#include "tests/models/exec/exec_test.h"

namespace fairlane {
namespace {

constexpr double kSoon = 0.1;  // seconds, for children that never answer

/// tests/models/exec/child.py in one of its modes.
std::string child(std::string const& mode, std::string const& file = "") {
  return test_python() + " -I -S " + source_file("tests/models/exec/child.py") + " " + mode + " '" +
         file + "'";
}

TEST_F(ExecScorerTest, EqualsAPlainComputationWhateverTheChildrenAndBatches) {
  auto const rows = some_rows(100'000);
  auto const expected = first_inputs(rows);
  for (int const children : {1, 2, 3}) {
    for (std::size_t const batch_rows : {1'000U, 8'192U, 200'000U}) {
      auto const scorer = make_exec_scorer(child("echo"), kInputs, options(children, batch_rows));
      EXPECT_EQ(scorer->outputs(), 1);
      EXPECT_EQ(scorer->kind(), ScoreKind::kLogits);
      EXPECT_TRUE(scores_of(*scorer, rows) == expected) << children << " x " << batch_rows;
    }
  }
}

TEST_F(ExecScorerTest, TakesCallsOfEverySize) {
  auto const scorer = make_exec_scorer(child("echo"), kInputs, options(2, 1));
  EXPECT_NE(scorer->name().find("child.py"), std::string::npos);
  for (std::size_t const count : {0U, 1U, 2U, 7U, 300U}) {
    auto const rows = some_rows(count);
    EXPECT_EQ(scores_of(*scorer, rows), first_inputs(rows));
  }
}

TEST_F(ExecScorerTest, MakesLabelsOneHot) {
  auto const scorer = make_exec_scorer(child("labels"), kInputs, options());
  EXPECT_EQ(scorer->outputs(), 4);
  EXPECT_EQ(scorer->kind(), ScoreKind::kLabels);
  auto const rows = some_rows(100);
  auto const scores = scores_of(*scorer, rows);
  for (std::size_t i = 0; i < 100; ++i) {
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(scores[4 * i + static_cast<std::size_t>(k)],
                static_cast<int>(rows[i * kInputs]) % 4 == k ? 1.0F : 0.0F);
    }
  }
}

TEST_F(ExecScorerTest, SendsABatchAhead) {
  auto const scorer = make_exec_scorer(child("pairs"), kInputs, options(1, 500));
  auto const rows = some_rows(2000);  // an even number of batches
  EXPECT_EQ(scores_of(*scorer, rows), first_inputs(rows));
}

TEST_F(ExecScorerTest, DoesNotWaitForEachOtherWhenPipesAreFull) {
  auto const rows = some_rows(20'000);
  auto const streams = make_exec_scorer(child("streams"), kInputs, options(1, 50'000));
  EXPECT_EQ(scores_of(*streams, rows), first_inputs(rows));
  auto const wide = make_exec_scorer(child("wide"), kInputs, options(1, 5'000));
  auto const scores = scores_of(*wide, rows);  // 6 MB a batch
  for (std::size_t i = 0; i < scores.size(); i += 7) {
    ASSERT_EQ(scores[i], rows[i / 300 * kInputs]) << i;
  }
  auto const noisy = make_exec_scorer(child("noisy"), kInputs, options());
  EXPECT_EQ(scores_of(*noisy, rows), first_inputs(rows));
}

TEST_F(ExecScorerTest, PassesNanOn) {
  auto const scorer = make_exec_scorer(child("nan"), kInputs, options());
  auto const scores = scores_of(*scorer, some_rows(3));
  EXPECT_FALSE(std::isnan(scores[0]));
  EXPECT_TRUE(std::isnan(scores[1]));
}

TEST_F(ExecScorerTest, RestartsAChildOnce) {
  auto const rows = some_rows(6000);
  for (char const* const mode : {"dies-once", "dies-once-idle"}) {
    auto const scorer =
        make_exec_scorer(child(mode, folder_.file(mode)), kInputs, options(2, 1000));
    EXPECT_TRUE(scores_of(*scorer, rows) == first_inputs(rows)) << mode;
    EXPECT_TRUE(scores_of(*scorer, rows) == first_inputs(rows)) << mode;
    EXPECT_TRUE(std::filesystem::exists(folder_.file(mode)));
  }
  expect_stopped(child("dies"),
                 {"child 1 of 1 was ended by signal 11", "its answer to batch 1",
                  "already been started a second time", "ends with 'about to fail'"});
  expect_stopped(child("ends-short"),
                 {"exited with status 0", "its answer to batch 1 (44 of 48 bytes)"});
}

TEST_F(ExecScorerTest, WantsTheSameModelAfterARestart) {
  auto const scorer =
      make_exec_scorer(child("differs", folder_.file("once")), kInputs, options(1, 1000));
  std::filesystem::remove(folder_.file("once"));
  expect_error(ExitCode::kStopped, {"describes its model differently"},
               [&] { scores_of(*scorer, some_rows(6000)); });
  expect_unavailable(child("differs", folder_.file("other")), {"describes its model differently"},
                     options(2));
}

TEST_F(ExecScorerTest, SaysWhyAChildDoesNotStart) {
  expect_unavailable("no-such-program-here --x",
                     {"exec:no-such-program-here --x: cannot start 'no-such-program-here'",
                      "No such file", "on PATH?"});
  ExecOptions here = options();
  here.folder = folder_.file("");
  folder_.write("model.sh", "#!/bin/sh\n");
  expect_unavailable("model.sh", {"it is no command, but a file: write './model.sh'"}, here);
  expect_unavailable("./model.sh", {"Permission denied", "make it executable"}, here);
  here.folder = folder_.file("nowhere");
  expect_unavailable("true", {"cannot run in", "nowhere", "No such file"}, here);
  for (char const* const command : {"", "  ", "''", "python3 'model.py"}) {
    expect_error(ExitCode::kConfig, {"exec:", "command"},
                 [&] { make_exec_scorer(command, kInputs, options()); });
  }
  expect_error(ExitCode::kConfig, {"batches of 0 rows"},
               [] { make_exec_scorer("true", kInputs, options(1, 0)); });
}

TEST_F(ExecScorerTest, RunsInTheFolderThatIsNamed) {
  ExecOptions here = options();
  here.folder = source_dir() + "/tests/models/exec";
  auto const scorer = make_exec_scorer(test_python() + " -I child.py", kInputs, here);
  EXPECT_EQ(scores_of(*scorer, some_rows(5)), first_inputs(some_rows(5)));
}

TEST_F(ExecScorerTest, SaysWhatIsWrongWithAHandshake) {
  expect_unavailable("true", {"child 1 of 1 exited with status 0 before its handshake",
                              "its stderr is empty", "models/adapters/README.md"});
  expect_unavailable(child("exits"), {"exited with status 1 before its handshake",
                                      "ends with 'ValueError: no such model\\x1b[31m'"});
  expect_unavailable(
      "echo hello world",
      {"wrote 'hello world\\n' to stdout instead of the handshake", "prints must go to stderr"});
  expect_unavailable(child("talks-first"), {"'Loading the model ...", "prints must go to stderr"});
  expect_unavailable(child("garbage-first"),
                     {"wrote the bytes 80 81 82", "instead of the handshake"});
  expect_unavailable(child("version-2"), {"speaks version 2 of the protocol, expected 1"});
  expect_unavailable(child("kind-9"), {"scores of kind 9, expected 0 (logits)"});
  expect_unavailable(child("no-outputs"), {"announces 0 outputs, expected 1 to 65536"});
  ExecOptions hasty = options();
  hasty.start_seconds = kSoon;
  expect_unavailable(child("hangs-at-start"),
                     {"owes its handshake (0 of 20 bytes)", "for 0.1 s, so it was killed"}, hasty);
}

TEST_F(ExecScorerTest, SaysWhatIsWrongWithAnAnswer) {
  expect_stopped(child("wrong-id"), {"wrote the bytes 02 00 00 00", "its answer to batch 1"});
  expect_stopped(child("wrong-count"),
                 {"gave 9 answers to batch 1, expected one for each of 10 rows"});
  expect_stopped(child("talks"), {"wrote 'epoch 1 done\\n", "instead of its answer to batch 1",
                                  "prints must go to stderr"});
  expect_stopped(child("bad-label"), {"gave the label 4 in batch 1, expected 0 to 3"});
  std::string row;
  auto const rows = some_rows(10);
  for (std::size_t i = 9 * kInputs; i < rows.size(); ++i)
    row += (row.empty() ? "" : ",") + std::to_string(static_cast<int>(rows[i]));
  expect_stopped(child("infinite"), {"gave inf as a probability of the row " + row + ";"});
  expect_stopped(child("improbable"), {"gave 1.5 as a probability of the row " + row + ";"});
}

TEST_F(ExecScorerTest, KillsAChildThatHangs) {
  ExecOptions hasty = options();
  hasty.timeout_seconds = kSoon;
  for (char const* const mode : {"hangs", "short"})
    expect_stopped(child(mode), {"owes its answer to batch 1 (", "for 0.1 s, so it was killed"},
                   hasty);
  hasty.batch_rows = 4;  // so that there is a second one
  auto const later = make_exec_scorer(child("hangs-later"), kInputs, hasty);
  expect_error(ExitCode::kStopped, {"owes its answer to batch 2 (0 of 24 bytes)"},
               [&] { scores_of(*later, some_rows(10)); });
  expect_stopped(child("closes"), {"closed its stdout while it owed its answer to batch 1"});
}

TEST_F(ExecScorerTest, AsksChildrenToEnd) {
  std::string const file = folder_.file("goodbye");
  make_exec_scorer(child("says-goodbye", file), kInputs, options());
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(ExecScorerTest, LeavesSignalsOfAPipeWithoutReaderAlone) {
  ChildProcess process("test", {"true"}, "");
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::vector<char> const bytes(1 << 16);
  iovec const part{const_cast<char*>(bytes.data()), bytes.size()};
  while (process.input() >= 0) process.send({&part, 1});  // SIGPIPE would end us here
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  EXPECT_EQ(process.end(std::chrono::seconds(60)), "exited with status 0");
}

/// Whether a process with this number runs; one that only waits to be waited for does not.
bool is_alive(pid_t pid) {
  std::string const stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  auto const name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

void expect_to_end(pid_t pid) {
  constexpr auto kPatience = std::chrono::seconds(60);
  auto const until = std::chrono::steady_clock::now() + kPatience;
  while (is_alive(pid) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_F(ExecScorerTest, KillsWhatAChildHasStarted) {
  std::string const file = folder_.file("pids");
  ExecOptions hasty = options();
  hasty.timeout_seconds = 0.25;  // to write the file
  while (!std::filesystem::exists(file)) {
    expect_stopped(child("hangs-deaf", file), {"so it was killed"}, hasty);
    hasty.timeout_seconds *= 2;
  }
  std::istringstream pids(slurp(file));
  for (pid_t pid = 0; pids >> pid;) expect_to_end(pid);
}

TEST_F(ExecScorerTest, ChildrenDoNotOutliveUs) {
  std::string const file = folder_.file("pids");
  std::string const command = child("hangs-deaf", file);
  auto const rows = some_rows(1);
  pid_t const we = fork();
  if (we == 0) {
    float score = 0.0F;
    make_exec_scorer(command, kInputs, options())->score(rows.data(), 1, &score);
    _exit(0);
  }
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(we, SIGKILL);
  EXPECT_EQ(waitpid(we, nullptr, 0), we);
  std::istringstream pids(slurp(file));
  pid_t leader = 0;
  pid_t helper = 0;
  pids >> leader >> helper;
  expect_to_end(leader);
  kill(helper, SIGKILL);  // only the leader is promised to end when we are killed
}

TEST(CommandWords, AreSplitAsAShellDoes) {
  auto const words = [](std::string const& command) { return command_words("test", command); };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("  python3\tmodel.py  "), (Words{"python3", "model.py"}));
  EXPECT_EQ(words("a 'b c' \"d 'e'\" f\\ g"), (Words{"a", "b c", "d 'e'", "f g"}));
  EXPECT_EQ(words("x'y'\"z\" '' \"\\\"\\\\\\n\" 'a\\'"), (Words{"xyz", "", "\"\\\\n", "a\\"}));
  EXPECT_EQ(words("sh -c 'echo $HOME | cat'"), (Words{"sh", "-c", "echo $HOME | cat"}));
  EXPECT_EQ(words("a\\"), (Words{"a\\"}));
  expect_error(ExitCode::kConfig, {"test: the quote \" in the command is not closed"},
               [&] { words("a \"b"); });
}

}  // namespace
}  // namespace fairlane
