// Whole runs and what they write.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "engine/results/run.h"
#include "tests/models/temporary.h"

namespace fairlane {

inline RunOptions options_with(int threads, std::uint64_t memory = 0) {
  RunOptions options;
  options.execution.threads = threads;
  options.execution.memory = memory;
  return options;
}

inline RunConfig to(RunConfig config, std::string const& dir) {
  config.output.dir = dir;
  return config;
}

/// Runs a configuration into a directory, which it returns.
inline std::string run_into(std::string const& dir, RunConfig config, int threads) {
  run(to(std::move(config), dir), options_with(threads));
  return dir;
}

inline nlohmann::json without_timing(std::string const& dir) {
  auto json = nlohmann::json::parse(slurp(dir + "/summary.json"));
  EXPECT_TRUE(json.contains("timing"));
  json.erase("timing");
  return json;
}

/// The inputs of instances.csv, as they stand there.
inline std::set<std::string> instances_in(std::string const& dir, std::size_t attributes) {
  std::set<std::string> found;
  std::istringstream lines(slurp(dir + "/instances.csv"));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::size_t end = 0;
    for (std::size_t a = 0; a < attributes; ++a) end = line.find(',', end) + 1;
    found.insert(line.substr(0, end));
  }
  return found;
}

inline void expect_same_output(std::string const& a, std::string const& b) {
  for (char const* file :
       {"manifest.json", "instances.csv", "instances.plausibility.csv", "global.csv", "DONE"}) {
    EXPECT_TRUE(slurp(a + "/" + file) == slurp(b + "/" + file)) << file << " differs";
  }
  EXPECT_EQ(without_timing(a), without_timing(b));
}

}  // namespace fairlane
