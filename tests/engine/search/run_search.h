// A search run to its end in one of many ways, with everything it recorded as rows.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/record/findings.h"
#include "engine/search/search.h"
#include "engine/subject/subject.h"
#include "tests/engine/search/small_subject.h"
#include "tests/naive_reference.h"

namespace fairlane {

using naive::Row;

/// What the record says about an input.
struct Entry {
  std::uint64_t finder;
  std::uint8_t state;
  bool operator==(Entry const&) const = default;
};
using Entries = std::map<Row, Entry>;

/// How a search is executed; none of it may show in the findings.
struct How {
  int threads = 1;
  int batch = 0;
  std::string isa = {};
  std::uint64_t memory = 1ULL << 28;
  std::optional<Cut> replay = {};
  std::function<double()> seconds = {};  // in place of those that pass
};

inline std::string describe(How const& how) {
  return std::to_string(how.threads) + " threads, batch " + std::to_string(how.batch) + " " +
         how.isa;
}

/// A finished search: findings that count, and what it says about itself.
struct Finished {
  SearchResult result;
  Entries entries;
  std::uint64_t overflowed = 0;

  std::int64_t hits() const {
    return std::count_if(entries.begin(), entries.end(),
                         [](auto const& e) { return (e.second.state & kVisitHit) != 0; });
  }
};

/// Row of a recorded input, from its key digit by digit.
inline Row row_of(PackedSubject const& packed, std::uint64_t const* group, std::uint32_t variant) {
  auto const& s = packed.get();
  Row row(static_cast<std::size_t>(s.columns));
  for (int c = 0; c < s.columns; ++c) {
    auto const column = static_cast<std::size_t>(c);
    if (packed.keys().word[column] < 0) continue;
    auto const count = static_cast<std::uint64_t>(s.high[c] - s.low[c] + 1);
    std::uint64_t const digit =
        group[packed.keys().word[column]] / packed.keys().stride[column] % count;
    row[static_cast<std::size_t>(packed.attribute_of()[column])] =
        packed.code_at(c, s.low[c] + static_cast<std::int32_t>(digit));
  }
  for (int i = 0; i < s.selected; ++i) {
    row[static_cast<std::size_t>(
        packed.attribute_of()[static_cast<std::size_t>(s.selected_column[i])])] =
        packed.variant_value(static_cast<int>(variant), i);
  }
  return row;
}

/// Whatever sorts and counts them, the findings below a cut are those of all entries.
inline void expect_findings(Backend& backend, TestSubject const& subject, Entries const& entries,
                            std::uint64_t cut) {
  FindingCounts expected;
  std::map<Row, std::uint64_t> idis;
  std::set<Row> groups;
  for (auto const& [row, entry] : entries) {
    if (entry.finder >= cut) continue;
    VisitKind const kind = visit_kind(entry.state);
    ++expected.unique_generated;
    expected.undefined += kind == VisitKind::kUndefined ? 1 : 0;
    expected.undefined_similar += kind == VisitKind::kUncertain ? 1 : 0;
    if (kind != VisitKind::kIdi) continue;
    ++expected.unique_instances;
    idis[row] = entry.finder;
    Row group = row;
    for (std::int32_t const a : subject.selected()) group[static_cast<std::size_t>(a)] = 0;
    groups.insert(group);
  }
  expected.unique_groups = static_cast<std::int64_t>(groups.size());
  if (!subject.constraints().empty() || subject.limits_findings())
    expected = expected.of_feasible();
  Findings findings(backend.subject(), {"", 1ULL << 30});
  findings.collect(backend, cut);
  findings.finish(cut);
  EXPECT_EQ(findings.counts(), expected);
  std::map<Row, std::uint64_t> found;
  auto const width = backend.subject().attribute_of().size();
  findings.for_each([&](std::int32_t const* rows, std::uint64_t const* finders, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, rows += width)
      EXPECT_TRUE(found.emplace(Row(rows, rows + width), finders[i]).second);
  });
  EXPECT_TRUE(found == idis) << found.size() << " and " << idis.size() << " IDIs";
}

/// Makes the backend of a run, with the sink of visits that do not fit.
using MakeBackend = std::function<std::unique_ptr<Backend>(VisitSink)>;

inline Finished run_search_on(RunConfig const& config, TestSubject const& subject,
                              MakeBackend const& make_backend,
                              std::optional<Cut> const& replay = {},
                              std::function<double()> seconds = {}) {
  Finished finished;
  MethodSpec const& method = find_method(config.method);
  SeedSource const seeds(config, method, subject);
  std::unique_ptr<Backend> backend;
  Entries all;
  auto const take = [&](Visits const& visits) {
    for (std::size_t i = 0; i < visits.count; ++i) {
      auto const* group = visits.group + i * static_cast<std::size_t>(visits.words);
      Entry const entry{visits.finder[i], visits.state[i]};
      auto const [at, fresh] =
          all.insert({row_of(backend->subject(), group, visits.variant[i]), entry});
      if (!fresh) at->second.finder = std::min(at->second.finder, entry.finder);
      EXPECT_EQ(at->second.state, entry.state);
    }
  };
  backend = make_backend([&](Visits const& visits) {
    finished.overflowed += visits.count;
    take(visits);
  });
  SearchOptions search_options;
  search_options.trace = true;
  search_options.replay = replay;
  search_options.passed = std::move(seconds);
  finished.result = search(config, method, seeds, *backend, search_options);
  backend->collect(take);
  if (finished.overflowed == 0) expect_findings(*backend, subject, all, finished.result.cut.finder);
  for (auto const& [row, entry] : all) {
    if (entry.finder < finished.result.cut.finder) finished.entries.insert({row, entry});
  }
  return finished;
}

inline Finished run_search(RunConfig const& config, TestSubject const& subject, How const& how) {
  auto const make = [&](VisitSink overflow) {
    CpuOptions options;
    options.threads = how.threads;
    options.lanes = how.batch;
    options.isa = how.isa;
    options.seed = config.seed;
    options.memory_limit = how.memory;
    options.overflow = std::move(overflow);
    return make_cpu_backend(subject.view(), options);
  };
  return run_search_on(config, subject, make, how.replay, how.seconds);
}

inline void expect_same(Finished const& a, Finished const& b) {
  EXPECT_TRUE(a.entries == b.entries)
      << a.entries.size() << " and " << b.entries.size() << " inputs";
  EXPECT_EQ(a.result.cut.finder, b.result.cut.finder);
  EXPECT_STREQ(a.result.cut.reason, b.result.cut.reason);
  EXPECT_EQ(a.result.cut.global_seeds, b.result.cut.global_seeds);
  EXPECT_EQ(a.result.cut.local_seeds, b.result.cut.local_seeds);
  EXPECT_EQ(a.result.cut.unfinished, b.result.cut.unfinished);
  auto const& x = a.result.counts;
  auto const& y = b.result.counts;
  EXPECT_EQ(x.global_seeds, y.global_seeds);
  EXPECT_EQ(x.global_found, y.global_found);
  EXPECT_EQ(x.global_unique, y.global_unique);
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.model_evaluations, y.model_evaluations);
  EXPECT_EQ(a.result.last_rows, b.result.last_rows);
  ASSERT_EQ(a.result.global.size(), b.result.global.size());
  for (std::size_t s = 0; s < a.result.global.size(); ++s) {
    EXPECT_EQ(a.result.global[s].found, b.result.global[s].found);
    EXPECT_EQ(a.result.global[s].iterations, b.result.global[s].iterations);
  }
}

inline std::vector<How> executions() {
  // Without vectors every value once: a sanitizer's run would take too long.
  std::vector<How> all = {{.batch = 7, .isa = "portable"},
                          {.threads = 2, .batch = 1, .isa = "portable"},
                          {.threads = 3, .batch = 4096, .isa = "portable"}};
  for (auto const& isa : cpu_instruction_sets()) {
    for (int const threads : {1, 2, 3}) {
      for (int const batch : {1, 7, 4096}) {
        if (isa != "portable") all.push_back({.threads = threads, .batch = batch, .isa = isa});
      }
    }
  }
  return all;
}

/// However a search that finds something is executed, everything about it is the same.
inline void expect_same_however_executed(RunConfig const& config, TestSubject const& subject) {
  Finished const first = run_search(config, subject, {.batch = 64, .isa = "portable"});
  EXPECT_GT(first.hits(), 0);
  for (auto const& how : executions()) {
    SCOPED_TRACE(describe(how));
    expect_same(first, run_search(config, subject, how));
    if (testing::Test::HasFailure()) return;
  }
}

/// Attributes that a search may change, in the kernels' order.
inline std::vector<std::size_t> movable_attributes(SubjectView const& view) {
  auto order = naive::column_order(view);
  std::erase_if(order, [&](std::size_t a) {
    return std::count(view.selected.begin(), view.selected.end(), static_cast<std::int32_t>(a)) > 0;
  });
  return order;
}

inline SmallShape shape_of(char const* kind) {
  SmallShape shape;
  std::string const name = kind;
  if (name == "several outputs") shape.widths = {9, 5, 3};
  if (name == "tanh") shape.activation = Activation::kTanh;
  if (name == "silu") shape.activation = Activation::kSilu;
  if (name == "gelu") {
    shape.activation = Activation::kGelu;
    shape.widths = {9, 5, 3};
  }
  if (name == "wide domain") shape.ranges.assign(36, 5);
  if (name == "plausible" || name == "many plausible") shape.at_least = 15.0;
  if (name == "many plausible") shape.weight = 0.5;
  if (name == "constrained" || name == "many constrained" || name == "plausible") {
    // Attribute k has the lowest code k - 2; the first and the fifth are under test.
    shape.constraints =
        "constraints:\n"
        "  - {if: {a0: {at_least: 0}, a3: {at_most: 3}}, then: {a4: 2}}\n"
        "  - {if: {a1: [0, 2]}, then: {a2: {not: 1}}}\n"
        "  - {sum: {a0: 1, a1: -1, a5: 1}, at_least: 1, at_most: 9}\n"
        "  - {from_data: [a2, a5]}\n"
        "  - {from_data: [a0, a3]}\n";
  }
  shape.overflows = name.find("undefined") != std::string::npos;
  if (name.starts_with("many ")) {
    shape.ranges = {9, 5, 3, 6, 8, 7};
    shape.widths = {7, 1};
  }
  return shape;
}

/// A kind of subject (shape_of) as part of a test's name.
inline std::string name_of_kind(::testing::TestParamInfo<char const*> const& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// A run over so many inputs that the least record, of 12,288, cannot hold them.
inline RunConfig overflowing_config(TemporaryFolder const& folder, char const* kind) {
  SmallShape shape = shape_of(kind);
  for (auto& range : shape.ranges) range += 6;
  for (std::int32_t const s : shape.selected) shape.ranges[static_cast<std::size_t>(s)] -= 6;
  constexpr int kRows = 600;
  RunConfig config = small_config(folder, shape, kRows);
  config.global.num = kRows;
  config.local.num = 500;
  return config;
}

}  // namespace fairlane
