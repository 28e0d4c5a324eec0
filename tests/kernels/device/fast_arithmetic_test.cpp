// Fast arithmetic on the wide route: the stand-in's library adds in another order than the
// contract. Labels then differ, but what is found is an IDI exactly, since what seems to be one is
// evaluated again.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/device/device_backend.h"
#include "kernels/device/device_subject.h"
#include "kernels/device/evaluator.h"
#include "models/safetensors.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

/// A network whose last layer adds 2^24 first and takes it off last, so that what is added between
/// loses its fractions in an order of its own. Its first layer is exact in any order.
Network cancelling(SmallShape const& shape) {
  Network network = random_network(shape);
  auto& first = network.layers[0];
  auto& last = network.layers[1];
  for (auto* values : {&first.weights, &first.bias}) {
    for (float& value : *values) value = std::round(2.0F * value);
  }
  auto const units = static_cast<std::size_t>(first.outputs);
  auto const outputs = static_cast<std::size_t>(last.outputs);
  constexpr float kLarge = 1 << 24;
  for (std::size_t const unit : {std::size_t{0}, units - 1}) {
    for (std::size_t a = 0; a < shape.ranges.size(); ++a) first.weights[a * units + unit] = 0.0F;
    first.bias[unit] = kLarge;
    for (std::size_t o = 0; o < outputs; ++o)
      last.weights[unit * outputs + o] = unit == 0 ? 1.0F : -1.0F;
  }
  // All labels are common, as in random_network.
  constexpr int kSample = 200;
  std::mt19937 random(shape.seed);
  SmallSubject const subject(shape);
  std::vector<double> mean(outputs);
  std::vector<double> logits;
  std::vector<double> bound;
  for (int i = 0; i < kSample; ++i) {
    evaluate_double(network, subject.random_row(random).data(), logits, bound);
    for (std::size_t o = 0; o < outputs; ++o) mean[o] += logits[o] / kSample;
  }
  for (std::size_t o = 0; o < outputs; ++o) last.bias[o] -= static_cast<float>(mean[o]);
  return network;
}

SmallShape cancelling_shape(int outputs) {
  SmallShape shape;
  shape.ranges = {4, 5, 3, 6, 2, 7, 5, 4};
  shape.widths = {24, outputs};
  return shape;
}

/// A subject in memory with that network.
struct CancellingSubject {
  explicit CancellingSubject(SmallShape const& shape)
      : subject(shape), network(cancelling(shape)), layers(network.views()) {
    view = subject.view;
    view.network = layers;
  }
  CancellingSubject(CancellingSubject const&) = delete;
  CancellingSubject& operator=(CancellingSubject const&) = delete;

  SmallSubject subject;
  Network network;
  std::vector<LayerView> layers;
  SubjectView view;
};

std::unique_ptr<Backend> device_backend(SubjectView const& view, char const* route,
                                        Arithmetic arithmetic, VisitSink overflow = {},
                                        std::uint64_t workspace = 1 << 20) {
  DeviceOptions options;
  options.route = route;
  options.workspace = workspace;
  options.arithmetic = arithmetic;
  options.seed = RunConfig{}.seed;
  options.memory_limit = unless_simulated(1 << 26, 1 << 22);
  options.overflow = std::move(overflow);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<TestDevice>());
  return make_device_backend(view, std::move(devices), options);
}

TEST(FastArithmetic, IsThereOnTheWideRoute) {
  SmallSubject const subject({});
  EXPECT_EQ(device_backend(subject.view, "wide", Arithmetic::kFast)->arithmetic(),
            Arithmetic::kFast);
  EXPECT_EQ(device_backend(subject.view, "wide", Arithmetic::kExact)->arithmetic(),
            Arithmetic::kExact);
  EXPECT_EQ(device_backend(subject.view, "fused", Arithmetic::kFast)->arithmetic(),
            Arithmetic::kExact);
}

/// Random rows of a subject whose labels depend on the order of sums.
class CancellingRows : public ::testing::Test {
 protected:
  static constexpr int kCount = 4000;

  CancellingRows() : subject_(cancelling_shape(1)), packed_(subject_.view, 8, 4) {
    std::mt19937 random(3);
    auto const columns = static_cast<std::size_t>(packed_.get().columns);
    rows_.resize(columns * kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      dataset_rows_.push_back(subject_.subject.random_row(random));
      for (std::size_t c = 0; c < columns; ++c) {
        rows_[c * kCount + i] =
            dataset_rows_.back()[static_cast<std::size_t>(packed_.attribute_of()[c])];
      }
    }
  }

  /// Calls work(an evaluator on a stand-in).
  template <class Work>
  void evaluate(Arithmetic arithmetic, Work const& work) const {
    TestDevice device;
    DeviceSubject const on_device(packed_, device, false);
    constexpr std::int64_t kManyChunks = 1 << 14;
    work(*make_wide_evaluator(packed_.get(), on_device.arena(), device, kManyChunks, arithmetic));
  }

  /// Labels of all members and flags of the rows' groups.
  struct Labels {
    std::vector<std::uint32_t> packed = std::vector<std::uint32_t>(kCount);
    std::vector<std::int32_t> flags = std::vector<std::int32_t>(kCount);

    bool mixed(std::size_t i) const { return (flags[i] & kGroupMixed) != 0; }
  };
  Labels classify(Arithmetic arithmetic) const {
    Labels labels;
    evaluate(arithmetic, [&](Evaluator& evaluator) {
      evaluator.run(ClassifyTiles{rows_.data(), kCount, labels.packed.data(), labels.flags.data()},
                    {kCount, nullptr});
    });
    return labels;
  }

  CancellingSubject const subject_;
  PackedSubject const packed_;
  std::vector<std::int32_t> rows_;  // [columns][kCount], in kernel order
  std::vector<std::vector<std::int32_t>> dataset_rows_;
};

/// Logit of a row in kernel order as the stand-in's library adds it.
float fast_logit(PackedSubject const& packed, Network const& network, std::int32_t const* x,
                 long stride) {
  auto const& first = network.layers[0];
  auto const& last = network.layers[1];
  float logit = 0.0F;
  for (int u = first.outputs; u-- > 0;) {
    auto const unit = static_cast<std::size_t>(u);
    float hidden = first.bias[unit];
    for (int c = 0; c < first.inputs; ++c) {
      auto const attribute =
          static_cast<std::size_t>(packed.attribute_of()[static_cast<std::size_t>(c)]);
      hidden += static_cast<float>(x[c * stride]) *
                first.weights[attribute * static_cast<std::size_t>(first.outputs) + unit];
    }
    logit = std::fma(std::max(hidden, 0.0F), last.weights[unit], logit);
  }
  return last.bias[0] + logit;
}

class FastRows : public CancellingRows {};

TEST_F(FastRows, AreEvaluatedAgainWhereTheySeemToBeFindings) {
  auto const exact = classify(Arithmetic::kExact);
  auto const fast = classify(Arithmetic::kFast);
  int found = 0;
  int missed = 0;
  int seeming = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    // Its own labels, of all variants.
    std::uint32_t own = 0;
    std::vector<std::int32_t> x(static_cast<std::size_t>(packed_.get().columns));
    for (std::size_t c = 0; c < x.size(); ++c) x[c] = rows_[c * kCount + i];
    for (int v = 0; v < packed_.get().variants; ++v) {
      for (int s = 0; s < packed_.get().selected; ++s)
        x[static_cast<std::size_t>(packed_.get().selected_column[s])] = packed_.variant_value(v, s);
      own |= (fast_logit(packed_, subject_.network, x.data(), 1) > 0.0F ? 1U : 0U) << v;
    }
    std::uint32_t const all = (1U << packed_.get().variants) - 1;
    bool const seems = own != 0 && own != all;
    found += seems && exact.mixed(i) ? 1 : 0;
    missed += !seems && exact.mixed(i) ? 1 : 0;
    seeming += seems && !exact.mixed(i) ? 1 : 0;
    // A fast miss is final; everything else is what exact arithmetic finds.
    EXPECT_EQ(fast.flags[i], seems ? exact.flags[i] : 0) << i;
    EXPECT_EQ(fast.packed[i], seems ? exact.packed[i] : own) << i;
  }
  EXPECT_GT(found, 0);
  EXPECT_GT(missed, 0);
  EXPECT_GT(seeming, 0) << "no group for which evaluating again matters";
}

TEST_F(FastRows, AreEvaluatedAgainInStagesToo) {
  auto const exact = classify(Arithmetic::kExact);
  int const variants = packed_.get().variants;
  std::vector<std::int32_t> label(kCount, kUndefinedLabel);
  std::vector<std::int32_t> flags(kCount, 0);
  std::vector<std::uint8_t> mixed(kCount, 0);
  evaluate(Arithmetic::kFast, [&](Evaluator& evaluator) {
    for (int first = 0; first < variants; first += 2) {
      std::fill(flags.begin(), flags.end(), 0);
      evaluator.run(
          ClassifySomeTiles{rows_.data(), kCount, first, first + 2, label.data(), flags.data()},
          {kCount, nullptr});
      for (std::size_t i = 0; i < kCount; ++i) {
        if ((flags[i] & kGroupMixed) != 0) mixed[i] = 1;
      }
    }
  });
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_TRUE(mixed[i] == 0 || exact.mixed(i)) << i;
  EXPECT_GT(std::count(mixed.begin(), mixed.end(), 1), 0);
}

// A finding that fast arithmetic would miss is one nevertheless when a local search begins there.
TEST_F(FastRows, BeginLocalSearchesAsWhatTheyAre) {
  auto const exact = classify(Arithmetic::kExact);
  auto const fast = classify(Arithmetic::kFast);
  std::vector<std::uint32_t> seeds;
  std::vector<std::int32_t> origins;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!exact.mixed(i) || fast.mixed(i)) continue;
    seeds.push_back(static_cast<std::uint32_t>(seeds.size()));
    origins.insert(origins.end(), dataset_rows_[i].begin(), dataset_rows_[i].end());
  }
  ASSERT_GT(seeds.size(), 0U);
  auto const backend = device_backend(subject_.view, "wide", Arithmetic::kFast);
  for (bool const margin : {false, true}) {
    auto const block = backend->make_block(static_cast<int>(seeds.size()), Phase::kLocal);
    block->place(seeds, origins.data());
    if (margin) {
      block->begin(MarginStep{});
    } else {
      block->begin(WeightedStep{});
    }
    for (int lane = 0; lane < block->size(); ++lane) EXPECT_TRUE(block->hit(lane)) << lane;
  }
}

class FastSearch : public ::testing::TestWithParam<char const*> {};

TEST_P(FastSearch, FindsNothingThatIsNoIdi) {
  TemporaryFolder const folder;
  std::string const kind = GetParam();
  SmallShape shape = cancelling_shape(kind == "several outputs" ? 3 : 1);
  // So many that their labels fit into no slot: they are classified in stages.
  if (kind == "many variants") shape.ranges = {9, 5, 3, 6, 8, 7};
  if (kind == "gelu") shape.activation = Activation::kGelu;
  RunConfig config = small_config(folder, shape);
  write_safetensors(cancelling(shape), config.model);
  config.global.num = 60;
  config.local.num = unless_simulated(40, 10);
  int differences = 0;
  for (char const* method : {"themis", "adf", "eidig", "maft", "margin"}) {
    SCOPED_TRACE(method);
    config.method = method;
    TestSubject const subject(config);
    auto const run_with = [&](Arithmetic arithmetic, std::uint64_t workspace) {
      return run_search_on(config, subject, [&](VisitSink overflow) {
        return device_backend(subject.view(), "wide", arithmetic, std::move(overflow), workspace);
      });
    };
    Finished const cpu = run_search(config, subject, How{});
    expect_same(cpu, run_with(Arithmetic::kExact, 1 << 20));
    auto const judge = make_cpu_backend(subject.view(), {});
    for (std::uint64_t const workspace : {1U << 20, 1U}) {
      Finished const fast = run_with(Arithmetic::kFast, workspace);
      EXPECT_GT(fast.hits(), 0);
      if (fast.entries != cpu.entries) ++differences;
      for (auto const& [row, entry] : fast.entries) {
        if ((entry.state & kVisitHit) == 0) continue;
        Description description;
        judge->describe(row.data(), 1, &description);
        ASSERT_GE(description.pair_variant, 0);
      }
    }
  }
  EXPECT_GT(differences, 0) << "the order of the sums never mattered";
}

INSTANTIATE_TEST_SUITE_P(Subjects, FastSearch,
                         ::testing::Values("one output", "several outputs", "gelu",
                                           "many variants"),
                         name_of_kind);

TEST(FastSearchUndefined, FindsNothingThatIsNoIdi) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of("undefined members"));
  TestSubject const subject(config);
  auto const judge = make_cpu_backend(subject.view(), {});
  for (char const* method : {"eidig", "margin", "themis"}) {
    config.method = method;
    Finished const fast = run_search_on(config, subject, [&](VisitSink overflow) {
      return device_backend(subject.view(), "wide", Arithmetic::kFast, std::move(overflow));
    });
    EXPECT_GT(fast.hits(), 0);
    for (auto const& [row, entry] : fast.entries) {
      Description description;
      judge->describe(row.data(), 1, &description);
      EXPECT_EQ((entry.state & kVisitUndefined) != 0, description.label == kUndefinedLabel);
      EXPECT_TRUE((entry.state & kVisitHit) == 0 || description.pair_variant >= 0);
    }
  }
}

}  // namespace
}  // namespace fairlane
