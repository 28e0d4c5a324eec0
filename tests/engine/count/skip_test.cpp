#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/threads/shared_stack.h"
#include "base/threads/workers.h"
#include "engine/count/enumerate.h"
#include "engine/count/walk_skip.h"
#include "models/data/domain_yaml.h"
#include "models/safetensors.h"
#include "tests/engine/count/enumeration_output.h"
#include "tests/engine/search/run_search.h"

namespace fairlane {
namespace {

EnumerateOptions with(Skipping skipping, int threads) {
  EnumerateOptions options;
  options.execution.backend = "cpu";
  options.execution.threads = threads;
  options.skipping = skipping;
  options.instances.all = true;
  return options;
}

std::int64_t skipped_groups(std::string const& dir) {
  return summary_of(dir)["timing"]["skipped_groups"].get<std::int64_t>();
}

TEST(SharedStack, EveryItemIsDoneOnceByAnyNumberOfThreads) {
  for (int threads : {1, 3, 8}) {
    // An item of n splits into halves down to 1.
    constexpr int kAll = 5000;
    SharedStack<int> stack({kAll});
    std::atomic<int> done{0};
    Workers workers;
    workers.run(threads, [&](int) {
      stack.work(
          [&](int n, std::vector<int>& rest) {
            if (n == 1) {
              ++done;
            } else {
              rest.push_back(n / 2);
              rest.push_back(n - n / 2);
            }
          },
          [&] { return workers.failed(); });
    });
    EXPECT_EQ(done.load(), kAll);
    EXPECT_TRUE(stack.items().empty());
  }
}

TEST(SharedStack, WhatIsLeftComesBackAndAnExceptionEndsAll) {
  SharedStack<int> stack({1000});
  std::atomic<int> done{0};
  Workers workers;
  auto const step = [&](int n, std::vector<int>& rest) {
    rest.push_back(n - 1);
    ++done;
  };
  workers.run(3, [&](int) { stack.work(step, [&] { return done.load() >= 10; }); });
  ASSERT_EQ(stack.items().size(), 1U);
  EXPECT_EQ(stack.items()[0], 1000 - done.load());
  SharedStack<int> failing({1, 2, 3});
  Workers others;
  EXPECT_THROW(others.run(3,
                          [&](int) {
                            failing.work([](int, std::vector<int>&) -> void { throw 1; },
                                         [&] { return others.failed(); });
                          }),
               int);
}

// Every head is in one leaf, and every group's members are in the boxes of all nodes above.
TEST(WalkTree, ItsBoxesHoldTheirGroups) {
  SmallShape shape;
  shape.ranges = {4, 5, 3, 6, 2, 7, 9, 11};
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape);
  TestSubject const subject(config);
  auto const backend = make_backend(subject, with(Skipping::kNever, 1).execution, 1, {});
  for (bool const tuples : {false, true}) {
    Region region;
    if (tuples) region.from_data = {{"a1", "a6"}, {"a5", "a3"}};
    auto const walker = backend->make_walker(region_lists(subject, region));
    WalkPlan const& plan = walker->plan();
    WalkTree const tree(plan, subject.view());
    std::vector<WalkNode> open = {tree.root()};
    ASSERT_EQ(tree.heads(open[0]), plan.get().heads);
    std::int64_t next = 0;
    std::vector<Interval> box;
    std::vector<std::int32_t> row(shape.ranges.size());
    while (!open.empty()) {
      WalkNode const node = open.back();
      open.pop_back();
      tree.box(node, box);
      for (std::int64_t head = node.first; head < node.first + tree.heads(node); ++head) {
        plan.row(head * plan.get().groups, row.data());
        for (std::size_t a = 0; a < row.size(); ++a) {
          ASSERT_LE(box[a].low, row[a]);
          ASSERT_GE(box[a].high, row[a]);
        }
      }
      WalkNode low;
      WalkNode high;
      if (tree.split(node, low, high)) {
        ASSERT_EQ(low.first, node.first);
        ASSERT_EQ(tree.heads(low) + tree.heads(high), tree.heads(node));
        open.push_back(high);
        open.push_back(low);
      } else {
        ASSERT_EQ(tree.heads(node), 1);
        ASSERT_EQ(node.first, next++);
      }
    }
    EXPECT_EQ(next, plan.get().heads);
  }
}

TEST(ChooseLevels, TakesThoseThatPay) {
  constexpr double kHead = 1e-6;
  constexpr double kTest = 1e-4;
  constexpr std::int64_t kDescents = 100;
  std::vector<LevelSample> samples(20);
  auto const set = [&](std::size_t level, std::int64_t tested, std::int64_t proven) {
    auto const n = static_cast<double>(tested);
    samples[level] = {tested, proven, n * kTest, n / static_cast<double>(1LL << level)};
  };
  set(19, 100, 0);
  set(10, 100, 0);
  set(6, 100, 40);
  // A test takes as long as 100 heads: boxes of 64 heads never pay, however many are proven.
  EXPECT_EQ(choose_levels(samples, kDescents, kHead).levels, 0U);
  EXPECT_EQ(choose_levels(samples, kDescents, kHead).seconds_per_head, kHead);
  // Boxes of 1024 heads do from a tenth on.
  set(10, 100, 9);
  set(6, 91, 40);
  EXPECT_EQ(choose_levels(samples, kDescents, kHead).levels, 0U);
  set(10, 100, 30);
  set(6, 70, 30);
  auto const choice = choose_levels(samples, kDescents, kHead);
  EXPECT_NE(choice.levels >> 10 & 1, 0U);
  EXPECT_EQ(choice.levels >> 6 & 1, 0U);
  EXPECT_NEAR(choice.seconds_per_head, kTest / 1024 + 0.7 * kHead, 1e-12);
  // What costs next to nothing is tried too, whatever the sample says of it, and nothing smaller.
  EXPECT_NE(choice.levels >> 19 & 1, 0U);
  EXPECT_EQ(choice.levels & ((LevelSet{1} << 10) - 1), 0U);
}

class Skip : public ::testing::TestWithParam<char const*> {};

TEST_P(Skip, LeavesEveryCountAsItIs) {
  TemporaryFolder const folder;
  std::int64_t skipped = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    for (Activation const activation : {Activation::kRelu, Activation::kTanh, Activation::kElu}) {
      SmallShape shape = shape_of(GetParam());
      if (shape.overflows && activation != Activation::kRelu) continue;
      shape.seed = seed;
      shape.activation = activation;
      std::string const tag = std::to_string(seed) + std::to_string(static_cast<int>(activation));
      RunConfig const config = small_config(folder, shape);
      std::string const plain = folder.file("plain" + tag);
      std::string const skip = folder.file("skip" + tag);
      enumerate(to(config, plain), with(Skipping::kNever, 1));
      EXPECT_EQ(skipped_groups(plain), 0);
      enumerate(to(config, skip), with(Skipping::kAlways, 2));
      expect_same_output(plain, skip);
      skipped += skipped_groups(skip);

      EnumerateOptions part = with(Skipping::kNever, 1);
      part.region.from_data = {{"a1", "a2"}};
      enumerate(to(config, plain + "t"), part);
      part.skipping = Skipping::kAlways;
      enumerate(to(config, skip + "t"), part);
      expect_same_output(plain + "t", skip + "t");
    }
  }
  // Where a member of every group overflows, nothing can be proven.
  EXPECT_EQ(skipped > 0, !shape_of(GetParam()).overflows);
}

TEST_P(Skip, MergesFromShards) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  enumerate(to(config, folder.file("plain")), with(Skipping::kNever, 1));
  EnumerateOptions merged = with(Skipping::kAlways, 2);
  constexpr int kShards = 5;
  for (int k = 1; k <= kShards; ++k) {
    EnumerateOptions shard = with(Skipping::kAlways, 2);
    shard.shard = {k, kShards};
    merged.merge.push_back(folder.file("shard" + std::to_string(k)));
    enumerate(to(config, merged.merge.back()), shard);
  }
  enumerate(to(config, folder.file("merged")), merged);
  expect_same_output(folder.file("plain"), folder.file("merged"));
}

INSTANTIATE_TEST_SUITE_P(Subjects, Skip,
                         ::testing::Values("one output", "several outputs", "many variants",
                                           "undefined members", "many undefined"),
                         name_of_kind);

TEST(SkipBig, GoesOnWhereItWasStopped) {
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {4, 9, 8, 9, 3, 11, 9, 8, 3};
  RunConfig const config = small_config(folder, shape);
  EnumerateOptions options = with(Skipping::kNever, 2);
  options.instances = {false, 100};
  enumerate(to(config, folder.file("once")), options);
  std::atomic<bool> stop{true};
  options.stop = &stop;
  options.skipping = Skipping::kAlways;
  int stops = 0;
  for (constexpr int kMostStops = 100000; stops < kMostStops; ++stops) {
    try {
      enumerate(to(config, folder.file("often")), options);
      break;
    } catch (Error const& e) {
      ASSERT_EQ(e.code(), ExitCode::kStopped) << e.what();
    }
  }
  EXPECT_GT(stops, 0);
  expect_same_output(folder.file("once"), folder.file("often"));
  EXPECT_GT(skipped_groups(folder.file("often")), 0);
}

/// logit = relu(s) - relu(-s), s = sum of 16^(n - i) x_i for x_i in -5..5: the first x_i that is
/// not 0 decides, and the protected attribute, the last one, only where all others are 0.
RunConfig lexicographic_config(TemporaryFolder const& folder, int attributes) {
  Network network;
  network.source = "lexicographic";
  DenseLayer sums{"sums", attributes, 2, Activation::kRelu, 0.0F, {}, {0.0F, 0.0F}};
  Domain domain;
  domain.name = "lexicographic";
  for (int i = 0; i < attributes; ++i) {
    float const weight = std::ldexp(1.0F, 4 * (attributes - 1 - i));
    sums.weights.insert(sums.weights.end(), {weight, -weight});
    Attribute attribute;
    attribute.name = "a" + std::to_string(i);
    attribute.is_protected = i + 1 == attributes;
    attribute.low = attribute.is_protected ? -1 : -5;
    attribute.high = attribute.is_protected ? 1 : 5;
    domain.attributes.push_back(attribute);
  }
  network.layers = {sums, {"logit", 2, 1, Activation::kSigmoid, 0.0F, {1.0F, -1.0F}, {0.0F}}};
  RunConfig config;
  config.source = "lexicographic.yaml";
  config.model = folder.file("model.safetensors");
  config.domain = folder.file("domain.yaml");
  config.output.dir = folder.file("out");
  config.protected_attributes = {{domain.attributes.back().name, {}}};
  write_safetensors(network, config.model);
  folder.write("domain.yaml", format_domain_yaml(domain));
  return config;
}

// 9.4e12 inputs: a day of plain walking. Nothing tells the walk to skip but its own sample.
TEST(SkipBig, FinishesADomainThatIsMostlyProven) {
  TemporaryFolder const folder;
  constexpr int kAttributes = 13;
  std::int64_t groups = 1;
  for (int i = 1; i < kAttributes; ++i) groups *= 11;
  RunConfig const config = lexicographic_config(folder, kAttributes);
  enumerate(config, with(Skipping::kWhereFaster, 2));
  auto const summary = summary_of(config.output.dir);
  EXPECT_EQ(summary["counts"]["groups"], groups);
  EXPECT_EQ(summary["counts"]["unique_groups"], 1);
  EXPECT_EQ(summary["counts"]["unique_instances"], 3);
  EXPECT_EQ(summary["positive"][0]["positive"], (groups - 1) / 2);
  EXPECT_EQ(summary["positive"][1]["positive"], (groups - 1) / 2);
  EXPECT_EQ(summary["positive"][2]["positive"], (groups + 1) / 2);
  EXPECT_GT(skipped_groups(config.output.dir), groups - groups / 100);
}

}  // namespace
}  // namespace fairlane
