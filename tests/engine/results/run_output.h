// Whole runs and what they write.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

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

inline nlohmann::json without_timing(std::string const& dir) {
  auto json = nlohmann::json::parse(slurp(dir + "/summary.json"));
  EXPECT_TRUE(json.contains("timing"));
  json.erase("timing");
  return json;
}

inline void expect_same_output(std::string const& a, std::string const& b) {
  for (char const* file : {"manifest.json", "instances.csv", "global.csv", "DONE"}) {
    EXPECT_TRUE(slurp(a + "/" + file) == slurp(b + "/" + file)) << file << " differs";
  }
  EXPECT_EQ(without_timing(a), without_timing(b));
}

}  // namespace fairlane
