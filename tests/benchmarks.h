// Finds the benchmark folder, which is not part of the project; tests that need it skip visibly
// where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tests/checkout.h"

namespace fairlane {

/// The benchmark folder: the environment variable FAIRLANE_BENCHMARKS, the compile definition of
/// the same name, or shared/benchmarks beside the source tree; nothing when there is none.
inline std::optional<std::filesystem::path> benchmarks_dir() {
  auto const usable = [](std::filesystem::path const& path) {
    std::error_code ec;
    return std::filesystem::is_directory(path / "models", ec) &&
           std::filesystem::is_directory(path / "data", ec);
  };
  if (char const* const chosen = std::getenv("FAIRLANE_BENCHMARKS");
      chosen != nullptr && *chosen != '\0') {
    return usable(chosen) ? std::optional<std::filesystem::path>(chosen) : std::nullopt;
  }
#ifdef FAIRLANE_BENCHMARKS
  if (usable(FAIRLANE_BENCHMARKS)) return FAIRLANE_BENCHMARKS;
#endif
  auto const beside = std::filesystem::path(source_dir()).parent_path() / "shared" / "benchmarks";
  return usable(beside) ? std::optional<std::filesystem::path>(beside) : std::nullopt;
}

}  // namespace fairlane

/// Declares `dir`, the benchmark folder, or skips the test.
#define FL_NEED_BENCHMARKS(dir)                                                        \
  auto const dir##_found = ::fairlane::benchmarks_dir();                               \
  if (!dir##_found)                                                                    \
    GTEST_SKIP() << "benchmark folder not found; set FAIRLANE_BENCHMARKS to its path"; \
  std::filesystem::path const& dir = *dir##_found
