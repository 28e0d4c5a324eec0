// What tests of models that are programs share.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "models/exec/scorer.h"
#include "tests/checkout.h"
#include "tests/models/expect_error.h"
#include "tests/models/temporary.h"

namespace fairlane {

inline constexpr int kInputs = 13;

inline std::string source_file(std::string const& path) {
  return "'" + source_dir() + "/" + path + "'";
}

inline ExecOptions options(int children = 1, std::size_t batch_rows = 8192) {
  ExecOptions all;
  all.children = children;
  all.batch_rows = batch_rows;
  return all;
}

/// Rows of small integers [count][inputs].
inline std::vector<float> some_rows(std::size_t count, int inputs = kInputs) {
  std::vector<float> rows(count * static_cast<std::size_t>(inputs));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>((i * 2654435761U >> 7U) % 10);
  return rows;
}

inline std::vector<float> scores_of(Scorer& scorer, std::vector<float> const& rows) {
  std::size_t const count = rows.size() / static_cast<std::size_t>(scorer.inputs());
  std::vector<float> scores(count * static_cast<std::size_t>(scorer.outputs()), -1.0F);
  scorer.score(rows.data(), count, scores.data());
  return scores;
}

inline std::vector<float> first_inputs(std::vector<float> const& rows, int inputs = kInputs) {
  std::vector<float> first;
  for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(inputs))
    first.push_back(rows[i]);
  return first;
}

/// Every test must leave no open file and no process behind.
class ExecScorerTest : public testing::Test {
 protected:
  ExecScorerTest() : files_(open_files()) {}
  void TearDown() override {
    EXPECT_EQ(open_files(), files_);
    bool const has_child = waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
    EXPECT_FALSE(has_child) << "a child has not been waited for";
  }

  /// A failure before the first batch.
  static void expect_unavailable(std::string const& command,
                                 std::initializer_list<std::string> parts,
                                 ExecOptions const& with = options()) {
    expect_error(ExitCode::kUnavailable, parts, [&] { make_exec_scorer(command, kInputs, with); });
  }

  /// A failure with batches under way, which is repeated when asked again.
  static void expect_stopped(std::string const& command, std::initializer_list<std::string> parts,
                             ExecOptions const& with = options()) {
    auto const scorer = make_exec_scorer(command, kInputs, with);
    auto const rows = some_rows(10);
    expect_error(ExitCode::kStopped, parts, [&] { scores_of(*scorer, rows); });
    expect_error(ExitCode::kStopped, parts, [&] { scores_of(*scorer, rows); });
  }

  TemporaryFolder folder_;

 private:
  static std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }
  std::ptrdiff_t files_;
};

}  // namespace fairlane
