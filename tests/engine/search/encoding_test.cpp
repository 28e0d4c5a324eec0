// Encodings, value lists and immutable attributes in whole searches, walks and checks.

#include <gtest/gtest.h>

#include "engine/check/check.h"
#include "engine/count/enumerate.h"
#include "engine/count/estimate.h"
#include "engine/count/region.h"
#include "kernels/cpu/cpu_block.h"
#include "kernels/device/device_backend.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/results/run_output.h"
#include "tests/engine/search/encoded_subject.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

std::unique_ptr<Backend> on_stand_in(TestSubject const& subject, char const* route, int lanes,
                                     std::uint64_t seed, VisitSink overflow) {
  DeviceOptions options;
  options.lanes = lanes;
  options.seed = seed;
  options.memory_limit = unless_simulated(1ULL << 26, 1ULL << 22);
  options.overflow = std::move(overflow);
  options.route = route;
  options.workspace = 1 << 14;
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<TestDevice>(small_limits()));
  return make_device_backend(subject.view(), std::move(devices), options);
}

/// Names a row's codes by their places, as the twin does.
Finished by_places(Finished const& from, TwinShape const& shape) {
  auto const place = [&](std::size_t a, std::int32_t code) {
    for (std::int32_t i = 0; i < shape.ranges[a]; ++i) {
      if (code_of(shape.ways[a], i) == code) return i;
    }
    ADD_FAILURE() << "attribute " << a << " has the code " << code;
    return -1;
  };
  Finished to = from;
  to.entries.clear();
  for (auto const& [row, entry] : from.entries) {
    Row places;
    for (std::size_t a = 0; a < row.size(); ++a) places.push_back(place(a, row[a]));
    to.entries.insert({places, entry});
  }
  std::size_t a = 0;
  for (auto& code : to.result.last_rows) {
    code = place(a, code);
    a = (a + 1) % shape.ranges.size();
  }
  return to;
}

/// Shapes that between them have every way for movable, selected and merely flagged attributes.
std::vector<TwinShape> twin_shapes() {
  TwinShape first;
  TwinShape turned;
  turned.ways = {Way::kAffine, Way::kColumns, Way::kOneHot, Way::kDropped, Way::kTable, Way::kList};
  turned.selected = {1, 4};
  turned.immutable = {5};
  turned.widths = {7, 5, 3};
  turned.activation = Activation::kTanh;
  turned.seed = 2;
  TwinShape wide;  // keys of several words
  wide.ranges.assign(30, 5);
  wide.ways.clear();
  for (int a = 0; a < 30; ++a) wide.ways.push_back(static_cast<Way>(a % 7));
  wide.selected = {3, 11};
  wide.widths = {9, 1};
  wide.seed = 3;
  TwinShape gated = turned;  // sums are kept in the place of activations
  gated.activation = Activation::kSilu;
  gated.seed = 4;
  return {first, turned, gated, wide};
}

TEST(Encodings, FindWhatTheTwinWithPlainCodesFinds) {
  int hits = 0;
  for (TwinShape const& shape : twin_shapes()) {
    TemporaryFolder const folder;
    TemporaryFolder const twin_folder;
    RunConfig config = twin_config(folder, shape, Which::kEncoded);
    config.global.num = unless_simulated(25, 8);
    config.local.num = unless_simulated(12, 4);
    for (char const* method : {"themis", "adf", "eidig", "maft", "margin", "grft"}) {
      SCOPED_TRACE(std::string(method) + ", shape " + std::to_string(shape.seed));
      bool const differs = std::string(method) == "maft";
      RunConfig twin =
          twin_config(twin_folder, shape, differs ? Which::kSteppingTwin : Which::kTwin);
      twin.global.num = config.global.num;
      twin.local.num = config.local.num;
      config.method = twin.method = method;
      TestSubject const subject(config);
      TestSubject const twin_subject(twin);
      Finished const expected = run_search(twin, twin_subject, How{});
      hits += expected.hits() > 0 ? 1 : 0;
      for (auto const& isa : cpu_instruction_sets()) {
        for (int const batch : {7, 4096}) {
          SCOPED_TRACE(isa + ", batch " + std::to_string(batch));
          How how;
          how.isa = isa;
          how.batch = batch;
          expect_same(by_places(run_search(config, subject, how), shape), expected);
        }
      }
      for (char const* route : {"fused", "wide"}) {
        SCOPED_TRACE(route);
        auto const make = [&](VisitSink sink) {
          return on_stand_in(subject, route, 32, config.seed, std::move(sink));
        };
        expect_same(by_places(run_search_on(config, subject, make), shape), expected);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(hits, 10) << "most searches must find something to compare";
}

TEST(Encodings, CountWhatTheTwinWithPlainCodesCounts) {
  auto shapes = twin_shapes();
  shapes.pop_back();  // too many groups to be walked
  for (TwinShape const& shape : shapes) {
    SCOPED_TRACE(shape.seed);
    TemporaryFolder const folder;
    TemporaryFolder const twin_folder;
    RunConfig const config = twin_config(folder, shape, Which::kEncoded);
    RunConfig const twin = twin_config(twin_folder, shape, Which::kTwin);
    TestSubject const subject(config);
    TestSubject const twin_subject(twin);
    auto const lists = region_lists(subject, {});
    Walked const expected = walk_all(
        *make_cpu_backend(twin_subject.view(), {})->make_walker(region_lists(twin_subject, {})));
    ASSERT_GT(expected.mixed.size(), 0U);
    for (auto const& isa : cpu_instruction_sets()) {
      SCOPED_TRACE(isa);
      CpuOptions options;
      options.isa = isa;
      auto const backend = make_cpu_backend(subject.view(), options);
      expect_same(walk_all(*backend->make_walker(lists)), expected);
    }
    for (char const* route : {"fused", "wide"}) {
      SCOPED_TRACE(route);
      auto const backend = on_stand_in(subject, route, 32, 1, {});
      expect_same(walk_all(*backend->make_walker(lists)), expected);
    }
    // Counts do not depend on what is skipped, and IDIs of the walk hold.
    EnumerateOptions options;
    options.execution.backend = "cpu";
    options.instances.all = true;
    options.skipping = Skipping::kAlways;
    auto const skipped = nlohmann::json::parse(enumerate(to(config, folder.file("all")), options));
    options.skipping = Skipping::kNever;
    auto const whole = nlohmann::json::parse(enumerate(to(config, folder.file("none")), options));
    auto const plain =
        nlohmann::json::parse(enumerate(to(twin, twin_folder.file("none")), options));
    EXPECT_EQ(skipped.at("counts"), whole.at("counts"));
    EXPECT_EQ(skipped.at("signature"), whole.at("signature"));
    EXPECT_EQ(whole.at("counts"), plain.at("counts"));
    EXPECT_EQ(whole.at("severity_histogram"), plain.at("severity_histogram"));
    CheckResult const checked = check_directory(folder.file("all"));
    EXPECT_EQ(checked.failed, 0) << (checked.failures.empty() ? "" : checked.failures.front());
    EXPECT_GT(checked.confirmed, 0);
    EstimateOptions estimating;
    estimating.execution.backend = "cpu";
    estimating.samples = 2000;
    auto shares = nlohmann::json::parse(estimate(config, estimating));
    auto twin_shares = nlohmann::json::parse(estimate(twin, estimating));
    EXPECT_EQ(shares.at("counts"), twin_shares.at("counts"));
    EXPECT_EQ(shares.at("causal_score"), twin_shares.at("causal_score"));
  }
}

// MAFT's differences go to the next code where an attribute steps, at the highest code to the one
// before.
TEST(Encodings, DifferencesGoToTheNeighbouringCode) {
  TwinShape const shape;
  TemporaryFolder const folder;
  RunConfig const config = twin_config(folder, shape, Which::kEncoded);
  TestSubject const subject(config);
  LaneKernels const& kernels = select_kernels("portable");
  PackedSubject const packed(subject.view(), kernels.tile_outputs);
  auto const backend = make_cpu_backend(subject.view(), {});
  ScratchMemory const scratch(packed.get(), kernels.tile_lanes);
  LaneArray<std::int32_t> x(packed.get().columns, kPadLanes);
  LaneArray<float> gradient(packed.get().columns, kPadLanes);
  auto const own_probability = [&](Row const& row, bool positive) {
    float z = 0.0F;
    backend->logits(row.data(), 1, &z);
    float const p = sigmoid<ScalarPack>(z);
    return std::pair{z > 0.0F, positive ? p : 0.0F - p};
  };
  int highest = 0;
  for (std::int64_t r = 0; r < subject.data()->count(); ++r) {
    auto const* const codes = subject.data()->rows.data() + r * subject.domain().size();
    Row const row(codes, codes + subject.domain().size());
    for (int c = 0; c < packed.get().columns; ++c) {
      auto const a = static_cast<std::size_t>(packed.attribute_of()[static_cast<std::size_t>(c)]);
      x(c, 0) = packed.place_of(c, row[a]);
    }
    kernels.gradients(packed.get(), {GradientKind::kProbabilityDifference, 1.0F}, x.data(),
                      kPadLanes, 1, scratch.get(), gradient.data(), kPadLanes);
    bool const positive = own_probability(row, true).first;
    for (std::size_t a = 0; a < row.size(); ++a) {
      if (!takes_steps(shape.ways[a]) || a == 0 || a == 4) continue;
      auto const& attribute = subject.domain().attributes[a];
      std::int64_t const place = attribute.index_of(row[a]);
      bool const last = place + 1 == attribute.code_count();
      highest += last ? 1 : 0;
      Row there = row;
      there[a] = attribute.code_at(last ? place - 1 : place + 1);
      float const change =
          own_probability(there, positive).second - own_probability(row, positive).second;
      EXPECT_EQ(gradient(packed.column_of()[a], 0), last ? 0.0F - change : change)
          << "row " << r << ", a" << a;
    }
  }
  EXPECT_GT(highest, 0);
}

// Listed codes alone occur, and what is immutable stays as the seed has it.
TEST(ValueLists, AndImmutableAttributesAreHonoured) {
  TwinShape shape;
  shape.ways = {Way::kTable, Way::kList, Way::kTable, Way::kPlain, Way::kList, Way::kTable};
  shape.immutable = {1, 3};
  TemporaryFolder const folder;
  RunConfig config = twin_config(folder, shape, Which::kEncoded);
  for (MethodSpec const& method : methods()) {
    SCOPED_TRACE(method.name);
    config.method = method.name;
    bool const random = method.kind == SearchKind::kRandom;
    bool const uniform = random || method.kind == SearchKind::kAdaptive;
    bool const symbolic = method.kind == SearchKind::kSymbolic;  // its seeds are numbered as tests
    bool const explained = method.kind == SearchKind::kExplained;
    config.global.seeding = uniform ? "uniform" : "all";
    TestSubject const subject(config);
    Finished const found = run_search(config, subject, How{});
    SeedSource const seeds(config, method, subject);
    std::set<Row> fixed;  // what seeds have where nothing moves
    for (std::int64_t i = 0; i < seeds.count(); ++i) {
      Row seed(subject.view().low.size());
      seeds.rows(i, 1, seed.data());
      fixed.insert({seed[1], seed[3]});
    }
    std::set<std::int32_t> met[6];
    bool moved = false;
    for (auto const& [row, entry] : found.entries) {
      ASSERT_EQ(fixed.count({row[1], row[3]}), 1U);
      Row seed = row;
      // The origins of a frontier and of populations, and the tests of individuals, are numbered
      // anew.
      bool const renumbers = method.frontier || method.kind == SearchKind::kGenetic || explained;
      bool const of_seed =
          !symbolic && !(renumbers && Finder::phase(entry.finder) == Phase::kLocal);
      if (of_seed) seeds.rows(Finder::seed(entry.finder), 1, seed.data());
      for (std::size_t a = 0; a < row.size(); ++a) {
        ASSERT_TRUE(subject.view().allows(a, row[a])) << "a" << a << " = " << row[a];
        met[a].insert(row[a]);
        if (a == 1 || a == 3) {
          ASSERT_EQ(row[a], seed[a]);
        }
        moved = moved || (a == 2 && row[a] != seed[a]);
      }
    }
    if (symbolic || explained) {
      EXPECT_GT(found.entries.size(), 20U);
      continue;
    }
    EXPECT_EQ(moved, !random && !method.frontier);
    // They still differ between seeds, and every listed code is reached.
    for (std::size_t a = 0; a < 6; ++a)
      EXPECT_EQ(met[a].size(), static_cast<std::size_t>(shape.ranges[a])) << a;
  }
}

TEST(ValueLists, ASearchNeedsSomethingToMove) {
  TwinShape shape;
  shape.immutable = {1, 2, 3, 5};
  TemporaryFolder const folder;
  RunConfig config = twin_config(folder, shape, Which::kEncoded);
  config.method = "eidig";
  RunOptions options;
  options.execution.backend = "cpu";
  try {
    run(config, options);
    FAIL() << "a search that can change nothing";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ExitCode::kConfig);
    EXPECT_NE(std::string(error.what()).find("immutable"), std::string::npos) << error.what();
  }
  for (MethodSpec const& method : methods()) {
    if (method.kind == SearchKind::kRandom) continue;
    expect_error(ExitCode::kConfig, {method.name, "immutable", "themis"},
                 [&] { require_usable(method, TestSubject(config)); });
  }
  config.method = "themis";
  EXPECT_GT(run(config, options).found.unique_generated, 0);
}

// A model whose inside is unknown is given the columns that a network would be.
TEST(Encodings, AModelThatIsNoNetworkTakesTheirColumns) {
  for (TwinShape const& shape : twin_shapes()) {
    SCOPED_TRACE(shape.seed);
    TemporaryFolder const folder;
    RunConfig config = twin_config(folder, shape, Which::kEncoded);
    config.global.num = 25;
    config.local.num = 12;
    TestSubject const network(config);
    // The network as a function of its inputs, which it takes for plain attributes.
    auto const inputs = static_cast<std::size_t>(network.view().network.front().inputs);
    std::vector<std::int32_t> const zero(inputs, 0);
    std::vector<std::uint8_t> const none(inputs, 0);
    SubjectView columns;
    columns.network = network.view().network;
    columns.low = columns.high = zero;
    columns.flagged = none;
    ModelOptions const model = disguised(columns, ScoreKind::kLogits);
    TestSubject const scorer(config, model);
    for (char const* method : {"themis", "maft", "aequitas-semi", "grft"}) {
      SCOPED_TRACE(method);
      config.method = method;
      Finished const expected = run_search(config, network, How{});
      EXPECT_GT(expected.hits(), 0);
      Finished const found = run_search_on(config, scorer, [&](VisitSink overflow) {
        CpuOptions options;
        options.threads = 2;
        options.seed = config.seed;
        options.memory_limit = unless_simulated(1ULL << 26, 1ULL << 22);
        options.overflow = std::move(overflow);
        return make_scorer_backend(scorer.view(), options);
      });
      expect_same(found, expected);
    }
    RunOptions options;
    options.execution.backend = "cpu";
    options.execution.model = model;
    ASSERT_GT(run(config, options).found.unique_instances, 0);
    CheckResult const checked = check_directory(config.output.dir, model);
    EXPECT_EQ(checked.failed, 0) << (checked.failures.empty() ? "" : checked.failures.front());
    EXPECT_GT(checked.confirmed, 0);
  }
}

TEST(Encodings, RunsHoldWhenCheckedAgain) {
  for (TwinShape const& shape : twin_shapes()) {
    TemporaryFolder const folder;
    RunConfig config = twin_config(folder, shape, Which::kEncoded);
    config.method = "margin";
    RunOptions options;
    options.execution.backend = "cpu";
    ASSERT_GT(run(config, options).found.unique_instances, 0);
    CheckResult const checked = check_directory(config.output.dir);
    EXPECT_EQ(checked.failed, 0) << (checked.failures.empty() ? "" : checked.failures.front());
    EXPECT_GT(checked.confirmed, 0);
    // The manifest pins the encoding: another domain file is another run.
    folder.write("domain.yaml", slurp(config.domain) + "\n");
    EXPECT_THROW(check_directory(config.output.dir), Error);
  }
}

}  // namespace
}  // namespace fairlane
