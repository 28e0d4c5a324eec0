// Output directories of enumerations, and what must be equal in them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/run_config.h"
#include "tests/models/temporary.h"

namespace fairlane {

inline RunConfig to(RunConfig config, std::string const& dir) {
  config.output.dir = dir;
  return config;
}

inline nlohmann::json summary_of(std::string const& dir) {
  return nlohmann::json::parse(slurp(dir + "/summary.json"));
}

inline nlohmann::json without_timing(std::string const& dir) {
  auto json = summary_of(dir);
  EXPECT_TRUE(json.contains("timing"));
  json.erase("timing");
  return json;
}

inline void expect_same_output(std::string const& a, std::string const& b) {
  for (char const* file : {"manifest.json", "values.csv", "pairs.csv", "instances.csv",
                           "instances.words.csv", "instances.plausibility.csv", "DONE"}) {
    ASSERT_EQ(std::filesystem::exists(a + "/" + file), std::filesystem::exists(b + "/" + file))
        << file;
    if (!std::filesystem::exists(a + "/" + file)) continue;
    EXPECT_TRUE(slurp(a + "/" + file) == slurp(b + "/" + file)) << file << " differs";
  }
  EXPECT_EQ(without_timing(a), without_timing(b));
}

}  // namespace fairlane
