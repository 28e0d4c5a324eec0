// The benchmark cases: subjects on which the authors' own programs were run, and what they found.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/search/search.h"
#include "engine/subject/subject.h"
#include "tests/benchmarks.h"

namespace fairlane {

/// One golden case: files of golden/ are named after it.
struct GoldenCase {
  char const* data;       // also the model's and the domain's name
  char const* selection;  // protected attributes, joined by +
};
inline constexpr std::array kGoldenCases = {
    GoldenCase{"census", "age"},
    GoldenCase{"census", "race"},
    GoldenCase{"census", "gender"},
    GoldenCase{"census", "age+gender"},
    GoldenCase{"bank", "age"},
    GoldenCase{"credit", "PersonStatusSex"},
    GoldenCase{"credit", "PersonStatusSex+AgeInYears"},
};

inline std::string name_of(GoldenCase const& golden) {
  return std::string(golden.data) + "." + golden.selection;
}

/// The run that the golden files describe: 200 given seeds, 10 tests each, the papers' values.
inline RunConfig golden_config(std::filesystem::path const& benchmarks, GoldenCase const& golden,
                               std::string const& method) {
  RunConfig config;
  config.source = name_of(golden);
  config.model = (benchmarks / "models" / (std::string(golden.data) + ".h5")).string();
  config.domain = (benchmarks / "data" / (std::string(golden.data) + ".domain.yaml")).string();
  config.data = (benchmarks / "data" / (std::string(golden.data) + ".csv")).string();
  config.global.seeds = (benchmarks / "golden" / (name_of(golden) + ".seeds.csv")).string();
  config.method = method;
  config.local.num = 50;
  std::string const names = golden.selection;
  for (std::size_t from = 0; from <= names.size();) {
    std::size_t const to = std::min(names.find('+', from), names.size());
    config.protected_attributes.push_back({names.substr(from, to - from), {}});
    from = to + 1;
  }
  return config;
}

/// What a run found.
struct Findings200 {
  SearchResult result;
  std::int64_t instances = 0;
  std::int64_t groups = 0;
};

/// Runs a method on a loaded subject.
inline Findings200 run_method(RunConfig const& config, TestSubject const& subject,
                              bool trace = false) {
  MethodSpec const& method = find_method(config.method);
  SeedSource const seeds(config, method, subject);
  CpuOptions options;
  options.seed = config.seed;
  auto const backend = make_cpu_backend(subject.view(), options);
  SearchOptions search_options;
  search_options.trace = trace;
  Findings200 found{search(config, method, seeds, *backend, search_options)};
  std::set<std::vector<std::uint64_t>> groups;
  backend->collect([&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      if ((visits.state[i] & kVisitHit) == 0) continue;
      ++found.instances;
      auto const* group = visits.group + i * static_cast<std::size_t>(visits.words);
      groups.insert({group, group + visits.words});
    }
  });
  found.groups = static_cast<std::int64_t>(groups.size());
  return found;
}

}  // namespace fairlane
