#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "engine/count/group_counts.h"
#include "engine/count/region.h"
#include "engine/subject/subject.h"
#include "tests/brute_counts.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/run_search.h"
#include "tests/engine/verify/deciders/decided_ensemble.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

void expect_counts(GroupCounts const& counts, WalkPlan const& plan, BruteCounts const& brute) {
  CountLayout const layout = plan.counters();
  auto const at = [&](int i) {
    return static_cast<std::int64_t>(counts.counters[static_cast<std::size_t>(i)]);
  };
  EXPECT_EQ(counts.groups, brute.groups);
  EXPECT_EQ(at(CountLayout::kGroups), brute.discriminatory);
  EXPECT_EQ(at(CountLayout::kInstances), brute.instances);
  EXPECT_EQ(at(CountLayout::kUnknown), brute.unknown);
  EXPECT_EQ(FeasibleCounts(counts, layout, false).undefined, brute.undefined);
  for (int v = 0; v < layout.variants; ++v) {
    auto const i = static_cast<std::size_t>(v);
    EXPECT_EQ(at(layout.positive(v)), brute.positive[i]) << v;
    EXPECT_EQ(at(layout.undefined(v)), brute.undefined_members[i]) << v;
    for (int w = 0; w < layout.variants; ++w)
      EXPECT_EQ(at(layout.pair(v, w)), brute.pairs[i][static_cast<std::size_t>(w)])
          << v << " " << w;
  }
  for (int b = 0; b < kSeverityBins; ++b)
    EXPECT_EQ(at(layout.severity(b)), brute.severity[static_cast<std::size_t>(b)]) << b;
  for (std::size_t i = 0; i < plan.subsets().size(); ++i) {
    auto const number = static_cast<int>(i);
    auto const find = [&](auto const& map) {
      auto const found = map.find(plan.subsets()[i]);
      return found == map.end() ? 0 : found->second;
    };
    EXPECT_EQ(at(layout.subset(number)), find(brute.classes)) << i;
    EXPECT_EQ(at(layout.subset(number) + 1), find(brute.members)) << i;
  }
  for (std::size_t l = 0; l < plan.lists().size(); ++l) {
    ValueList const& list = plan.lists()[l];
    if (list.attributes.size() > 1) continue;
    auto const& values = brute.values[static_cast<std::size_t>(list.attributes[0])];
    for (std::size_t i = 0; i < list.values.size(); ++i) {
      auto const found = values.find(list.values[i]);
      EXPECT_EQ(static_cast<std::int64_t>(counts.list_groups[l][i]),
                found == values.end() ? 0 : found->second);
    }
  }
}

/// Rows of groups.
std::set<naive::Row> rows_of(WalkPlan const& plan, std::set<std::int64_t> const& groups,
                             std::size_t attributes) {
  std::set<naive::Row> rows;
  for (std::int64_t const group : groups) {
    naive::Row row(attributes);
    plan.row(group, row.data());
    EXPECT_EQ(plan.group_of(row.data()), group);
    rows.insert(row);
  }
  return rows;
}

struct WalkCase {
  char const* name;
  SmallShape shape;
  Region region;
};

SmallShape shaped(char const* kind, std::vector<std::int32_t> selected,
                  std::vector<std::int32_t> flagged = {}) {
  SmallShape shape = shape_of(kind);
  shape.selected = std::move(selected);
  shape.flagged = std::move(flagged);
  return shape;
}

std::vector<WalkCase> walk_cases() {
  Region const box{{{"a1", 0, 1}, {"a5", 4, 7}}, {}, false};
  Region const tuples{{}, {{"a1", "a5"}, {"a2"}}, false};
  return {{"one_output", shaped("one output", {0, 4}), {}},
          {"one_attribute", shaped("one output", {3}), {}},
          {"first_flagged_is_tested", shaped("one output", {1}, {2, 5}), {}},
          {"flagged_between", shaped("one output", {1, 4}, {0, 2, 5}), {}},
          {"last_is_tested", shaped("several outputs", {5}), {}},
          {"three_attributes", shaped("tanh", {0, 2, 4}, {5}), {}},
          {"several_outputs", shaped("several outputs", {0, 4}), {}},
          {"one_layer",
           [] {
             SmallShape shape;
             shape.widths = {1};
             return shape;
           }(),
           {}},
          {"many_variants", shaped("many variants", {0, 4}), {}},
          {"undefined_members", shaped("undefined members", {0, 4}), {}},
          {"many_undefined", shaped("many undefined", {0, 4}), {}},
          {"constrained", shaped("constrained", {0, 4}), {}},
          {"many_constrained", shaped("many constrained", {0, 4}), {}},
          {"box", shaped("one output", {0, 4}, {3}), box},
          {"tuples", shaped("one output", {0, 4}, {3}), tuples},
          {"rows", shaped("one output", {0, 4}, {3}), {{}, {}, true}}};
}

class Walks : public ::testing::TestWithParam<WalkCase> {};

TEST_P(Walks, CountWhatBruteForceCounts) {
  TemporaryFolder const folder;
  SmallShape const& shape = GetParam().shape;
  Region const& region = GetParam().region;
  RunConfig const config = small_config(folder, shape, 25);
  TestSubject const subject(config);
  auto const lists = region_lists(subject, region);
  // The region by itself: is a row in every list?
  auto const inside = [&](naive::Row const& row) {
    for (auto const& range : region.ranges) {
      auto const a = static_cast<std::size_t>(subject.domain().find(range.attribute));
      if (row[a] < range.low || row[a] > range.high) return false;
    }
    auto tuples = region.from_data;
    if (region.rows) {
      tuples.emplace_back();
      for (std::size_t a = 0; a < row.size(); ++a) {
        if (std::find(shape.selected.begin(), shape.selected.end(), static_cast<int>(a)) ==
            shape.selected.end())
          tuples.back().push_back("a" + std::to_string(a));
      }
    }
    for (auto const& names : tuples) {
      bool known = false;
      Dataset const& data = *subject.data();
      for (std::int64_t r = 0; r < data.count() && !known; ++r) {
        known = true;
        for (auto const& name : names) {
          auto const a = static_cast<std::size_t>(subject.domain().find(name));
          known = known && data.rows[static_cast<std::size_t>(r) * row.size() + a] == row[a];
        }
      }
      if (!known) return false;
    }
    return true;
  };
  BruteCounts const brute = brute_counts(subject.view(), inside);
  ASSERT_GT(brute.discriminatory, 0);
  for (auto const& isa : cpu_instruction_sets()) {
    for (std::int64_t const chunk : {1, 64, 100, 4096}) {
      SCOPED_TRACE(isa + " in chunks of " + std::to_string(chunk));
      CpuOptions options;
      options.isa = isa;
      auto const backend = make_cpu_backend(subject.view(), options);
      auto const walker = backend->make_walker(lists);
      Walked const walked = walk_all(*walker, chunk);
      expect_counts(walked.counts, walker->plan(), brute);
      EXPECT_TRUE(rows_of(walker->plan(), walked.mixed, shape.ranges.size()) == brute.mixed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Walks, ::testing::ValuesIn(walk_cases()),
                         [](auto const& test) { return test.param.name; });

/// A network of small integers, whose float32 results are exact in any order, so that integers can
/// count what ten million inputs are.
struct IntegerNetwork {
  static constexpr int kInputs = 7;
  static constexpr int kHidden = 5;
  static constexpr int kValues = 10;  // of every input: 0..9
  int weight[kInputs][kHidden];
  int bias[kHidden];
  int last[kHidden];

  /// seed: any
  explicit IntegerNetwork(std::uint32_t seed) {
    std::minstd_rand random(seed);
    auto const number = [&] { return static_cast<int>(random() % 13) - 6; };
    for (auto& row : weight) {
      for (int& w : row) w = number();
    }
    for (int& b : bias) b = number();
    for (int& w : last) w = number();
  }

  bool label(std::array<int, kInputs> const& x) const {
    int sum = 0;
    for (int h = 0; h < kHidden; ++h) {
      int z = bias[h];
      for (int i = 0; i < kInputs; ++i) z += x[static_cast<std::size_t>(i)] * weight[i][h];
      sum += last[h] * std::max(z, 0);
    }
    return sum > 0;
  }
};

// Levels of one-hot columns add one row, whichever of them are tested.
TEST(WalkOfEncodedColumns, CountsWhatBruteForceCounts) {
  std::int64_t found = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    RandomSubject::Shape shape;
    shape.encoded = true;
    shape.constrained = seed > 12;
    shape.seed = seed;
    shape.attributes = 5;
    shape.counts = seed % 2 == 0 ? std::vector<int>{4} : std::vector<int>{2, 3};
    shape.widths = {seed % 3 == 0 ? 1 : 19, seed % 4 == 0 ? 3 : 1};
    RandomSubject subject(shape);
    SCOPED_TRACE(seed);
    std::vector<ValueList> lists;
    for (int a = 0; a < shape.attributes; ++a) {
      auto const& selected = subject.view.selected;
      if (std::find(selected.begin(), selected.end(), a) != selected.end()) continue;
      ValueList list{{a}, {}};
      auto const i = static_cast<std::size_t>(a);
      for (std::int64_t k = 0; k < subject.view.code_count(i); ++k)
        list.values.push_back(subject.view.code_at(i, k));
      lists.push_back(list);
    }
    auto const listed = [&](naive::Row const& row) {
      for (std::size_t a = 0; a < row.size(); ++a) {
        if (!subject.view.allows(a, row[a])) return false;
      }
      return true;
    };
    BruteCounts const brute = brute_counts(subject.view, listed);
    found += brute.discriminatory;
    for (auto const& isa : cpu_instruction_sets()) {
      SCOPED_TRACE(isa);
      CpuOptions options;
      options.isa = isa;
      auto const backend = make_cpu_backend(subject.view, options);
      auto const walker = backend->make_walker(lists);
      expect_counts(walk_all(*walker).counts, walker->plan(), brute);
    }
  }
  EXPECT_GT(found, 0);
}

TEST(WalkOfTenMillion, CountsWhatBruteForceCounts) {
  constexpr std::uint32_t kSeed = 5;
  IntegerNetwork const net(kSeed);
  constexpr int kInputs = IntegerNetwork::kInputs;
  constexpr int kHidden = IntegerNetwork::kHidden;
  constexpr int kValues = IntegerNetwork::kValues;
  constexpr int kTested = 4;  // the attribute under test
  // Every input once: labels by the value of the attribute under test.
  std::int64_t groups = 0;
  std::int64_t mixed = 0;
  std::array<std::int64_t, kValues> positive{};
  std::array<std::array<std::int64_t, kValues>, kInputs> mixed_by_value{};
  std::array<int, kInputs> x{};
  for (bool more = true; more;) {
    int count = 0;
    for (int v = 0; v < kValues; ++v) {
      x[kTested] = v;
      bool const label = net.label(x);
      count += label ? 1 : 0;
      positive[static_cast<std::size_t>(v)] += label ? 1 : 0;
    }
    ++groups;
    if (count != 0 && count != kValues) {
      ++mixed;
      for (std::size_t i = 0; i < kInputs; ++i) ++mixed_by_value[i][static_cast<std::size_t>(x[i])];
    }
    more = false;
    for (std::size_t i = kInputs; i-- > 0 && !more;) {
      if (i == kTested) continue;
      more = ++x[i] < kValues;
      if (!more) x[i] = 0;
    }
  }
  ASSERT_EQ(groups * kValues, 10'000'000);
  ASSERT_GT(mixed, groups / 100);
  ASSERT_LT(mixed, groups);

  std::vector<float> weights;
  for (auto const& row : net.weight) weights.insert(weights.end(), row, row + kHidden);
  std::vector<float> const bias(net.bias, net.bias + kHidden);
  std::vector<float> const last(net.last, net.last + kHidden);
  std::vector<float> const zero{0.0F};
  std::vector<LayerView> const layers = {{kInputs, kHidden, Activation::kRelu, 0.0F, weights, bias},
                                         {kHidden, 1, Activation::kSigmoid, 0.0F, last, zero}};
  std::vector<std::int32_t> const low(kInputs, 0);
  std::vector<std::int32_t> const high(kInputs, kValues - 1);
  std::vector<std::uint8_t> const flagged(kInputs, 0);
  std::vector<std::int32_t> const selected{kTested};
  std::vector<std::int32_t> values(kValues);
  std::iota(values.begin(), values.end(), 0);
  std::vector<std::span<std::int32_t const>> const compared{values};
  std::vector<ValueList> lists;
  for (int i = 0; i < kInputs; ++i) {
    if (i != kTested) lists.push_back({{i}, values});
  }
  auto const backend = make_cpu_backend({layers, low, high, flagged, selected, compared, 0.0F}, {});
  auto const walker = backend->make_walker(lists);
  GroupCounts counts(walker->plan());
  GroupCounter counter(*walker);
  std::int64_t const heads = walker->plan().get().heads;
  for (std::int64_t first = 0; first < heads; first += walker->chunk())
    counter.count(first, std::min(walker->chunk(), heads - first), counts, {});
  CountLayout const layout = walker->plan().counters();
  auto const at = [&](int i) {
    return static_cast<std::int64_t>(counts.counters[static_cast<std::size_t>(i)]);
  };
  EXPECT_EQ(counts.groups, groups);
  EXPECT_EQ(at(CountLayout::kGroups), mixed);
  EXPECT_EQ(at(CountLayout::kInstances), mixed * kValues);
  for (int v = 0; v < kValues; ++v)
    EXPECT_EQ(at(layout.positive(v)), positive[static_cast<std::size_t>(v)]) << v;
  for (std::size_t l = 0; l < walker->plan().lists().size(); ++l) {
    auto const attribute = static_cast<std::size_t>(walker->plan().lists()[l].attributes.front());
    for (std::size_t v = 0; v < kValues; ++v) {
      EXPECT_EQ(static_cast<std::int64_t>(counts.list_groups[l][v]), mixed_by_value[attribute][v])
          << attribute << " " << v;
    }
  }
}

// A list of one entry is in the tail however small that is, where no head has its value.
TEST(WalkOfScores, KeepsListsOfOneEntry) {
  int checked = 0;
  std::int64_t unlike_zero = 0;
  for (std::uint32_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DecidedEnsemble ensemble(seed, {}, 0.0);
    auto lists = free_lists(ensemble.view());
    for (ValueList& list : lists) {
      if (seed % 2 == 0 || &list == &lists.back()) list.values = {list.values.back()};
    }
    auto const walker = ensemble.backend().make_walker(lists);
    WalkPlan const& plan = walker->plan();
    GroupCounts const counts = walk_all(*walker).counts;
    std::vector<std::int64_t> positive(static_cast<std::size_t>(plan.counters().variants));
    std::vector<std::int32_t> row(ensemble.domain().attributes());
    std::vector<float> z(static_cast<std::size_t>(ensemble.view().outputs()));
    for (std::int64_t group = 0; group < plan.groups(); ++group) {
      for (std::size_t v = 0; v < positive.size(); ++v) {
        plan.row(group, row.data());
        ensemble.domain().set_variant(static_cast<int>(v), row.data());
        ensemble.backend().logits(row.data(), 1, z.data());
        bool const is_zero = z.size() == 1 ? !(z[0] > ensemble.threshold())
                                           : std::ranges::max_element(z) == z.begin();
        positive[v] += is_zero ? 0 : 1;
      }
      unlike_zero += row[static_cast<std::size_t>(lists.back().attributes[0])] != 0 ? 1 : 0;
    }
    for (std::size_t v = 0; v < positive.size(); ++v)
      ASSERT_EQ(counts.at(plan.counters().positive(static_cast<int>(v))), positive[v]);
    ++checked;
  }
  EXPECT_EQ(checked, 80);
  EXPECT_GT(unlike_zero, 100);
}

}  // namespace
}  // namespace fairlane
