// Path coverage against a tree made by hand.
#include "engine/search/symbolic/path_coverage.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/search/search.h"
#include "engine/search/symbolic/decision_tree.h"
#include "engine/search/symbolic/row_sampler.h"
#include "tests/engine/search/small_subject.h"
#include "tests/naive_reference.h"

namespace fairlane {
namespace {

using naive::Row;

TEST(PathCoverage, CountsTheLeavesThatVisitsReach) {
  TemporaryFolder const folder;
  for (bool const has_data : {true, false}) {
    RunConfig config = small_config(folder, {}, 200);
    config.method = "sg";
    config.sg.samples = 40;
    if (!has_data) config.data.clear();
    TestSubject const subject(config);
    Findings findings(make_cpu_backend(subject.view(), {})->subject(),
                      {folder.file("spill"), 1U << 26});
    CpuOptions options;
    options.seed = config.seed;
    options.overflow = [&](Visits const& visits) { findings.add(visits); };
    auto const backend = make_cpu_backend(subject.view(), options);
    SearchOptions trace;
    trace.trace = true;
    MethodSpec const& method = find_method("sg");
    SearchResult const result =
        search(config, method, SeedSource(config, method, subject), *backend, trace);

    // The same tree, from rows and labels by hand.
    auto const width = subject.view().low.size();
    std::vector<std::int32_t> rows;
    if (has_data) {
      rows = subject.data()->rows;
    } else {
      rows.resize(10'000 * width);
      RowSampler(subject, config.seed).draw(0xFFFFFFFEU, 0, 10'000, nullptr, rows.data());
    }
    naive::FloatReference const model(subject.view());
    std::vector<std::uint8_t> labels;
    for (auto at = rows.begin(); at != rows.end(); at += static_cast<std::ptrdiff_t>(width))
      labels.push_back(
          static_cast<std::uint8_t>(model.label(Row(at, at + static_cast<std::ptrdiff_t>(width)))));
    DecisionTree const tree({rows.data(), labels.data(), static_cast<std::int64_t>(labels.size()),
                             static_cast<int>(width)});
    for (std::int64_t const tests : {result.counts.iterations, std::int64_t{7}}) {
      std::uint64_t const cut = tests == 7 ? Finder::pack(Phase::kGlobal, 7, 0) : result.cut.finder;
      std::set<int> leaves;
      for (std::int64_t i = 0; i < tests; ++i) {
        leaves.insert(tree.leaf(&result.last_rows[static_cast<std::size_t>(i) * width]));
      }
      auto const coverage = path_coverage(subject, config.seed, *backend, findings, cut);
      EXPECT_EQ(coverage.paths, tree.leaves());
      if (tests == 7) {
        EXPECT_LE(coverage.covered, static_cast<std::int64_t>(leaves.size()));  // global ones only
        EXPECT_GT(coverage.covered, 0);
      } else {
        EXPECT_EQ(coverage.covered, static_cast<std::int64_t>(leaves.size()));
      }
    }
  }
}

}  // namespace
}  // namespace fairlane
