// One mistake and what the command line says about it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/apps/command_line.h"

namespace fairlane {

/// What is spoilt in the folder of write_small_run(), and the command that meets it.
struct BadInput {
  char const* name;
  void (*prepare)();
  Words command;
  ExitCode code;
  Words parts;  // of the message
};

/// The name of a test in lists.
inline void PrintTo(BadInput const& bad, std::ostream* out) { *out << bad.name; }
inline std::string case_name(testing::TestParamInfo<BadInput> const& info) {
  return info.param.name;
}

inline void nothing() {}
inline Words run_words() { return {"run", "config.yaml"}; }
inline Words const kRun = run_words();
/// run with `--set` of one value.
inline Words with(std::string const& set) { return {"run", "config.yaml", "--set", set}; }
inline void use_model(std::string const& path) {
  edit_file("config.yaml", "model.safetensors", path);
}

/// Meets the mistake in a new folder: exit code, one line on stderr, and the parts in it.
inline void expect_one_line(BadInput const& bad) {
  WorkingFolder const folder;
  write_small_run();
  bad.prepare();
  if (testing::Test::HasFatalFailure()) return;
  Outcome const outcome = run_fairlane(bad.command);
  EXPECT_EQ(outcome.code, static_cast<int>(bad.code)) << outcome.err << outcome.out;
  EXPECT_EQ(outcome.err.rfind("fairlane: error: ", 0), 0U) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with('\n')) << outcome.err;
  // A check that fails has a result, too.
  if (bad.code != ExitCode::kIntegrity) {
    EXPECT_EQ(outcome.out, "");
  }
  for (std::string const& part : bad.parts) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\nin: " << outcome.err;
  }
}

}  // namespace fairlane
