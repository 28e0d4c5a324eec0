// A scorer's lanes: what the CPU backend finds in a network is found in the same network when
// nothing is known of it but its scores, on the host's threads and on a device with a memory of its
// own.
#include <gtest/gtest.h>

#include <thread>

#include "engine/count/region.h"
#include "kernels/device/device_backend.h"
#include "kernels/device/host_device.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

/// threads: of the host; 0: the stand-in
struct ScorerHow {
  int threads = 1;
  int lanes = 0;
  std::uint64_t memory = unless_simulated(1ULL << 28, 1ULL << 22);
};

std::unique_ptr<Backend> make_backend_for(TestSubject const& subject, ScorerHow const& how,
                                          std::uint64_t seed, VisitSink overflow) {
  if (how.threads > 0) {
    CpuOptions options;
    options.threads = how.threads;
    options.lanes = how.lanes;
    options.seed = seed;
    options.memory_limit = how.memory;
    options.overflow = std::move(overflow);
    return make_scorer_backend(subject.view(), options);
  }
  DeviceOptions options;
  options.lanes = how.lanes;
  options.seed = seed;
  options.memory_limit = how.memory;
  options.overflow = std::move(overflow);
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<TestDevice>());
  return make_device_backend(subject.view(), std::move(devices), options);
}

Finished run_with_scorer(RunConfig const& config, TestSubject const& subject,
                         ScorerHow const& how) {
  return run_search_on(config, subject, [&](VisitSink overflow) {
    return make_backend_for(subject, how, config.seed, std::move(overflow));
  });
}

std::vector<ScorerHow> scorer_executions() { return {{1, 1}, {1, 7}, {2, 4096}, {2, 0}, {0, 5}}; }

class ScorerSearch : public ::testing::TestWithParam<char const*> {};

TEST_P(ScorerSearch, FindsWhatIsFoundInTheNetwork) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  bool const is_wide = GetParam() == std::string("wide domain");
  config.global.num = 10;
  config.local.num = 6;
  config.expga.rank = 36;  // every input is a seed
  TestSubject const network(config);
  // Labels and differences of probabilities are the same when the model applies its last activation
  // itself.
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities}) {
    SCOPED_TRACE(name_of(kind));
    TestSubject const scorer(config, disguised(network.view(), kind));
    for (char const* method : {"themis", "maft", "maft-nonvec", "grft", "expga"}) {
      SCOPED_TRACE(method);
      config.method = method;
      Finished const cpu = run_search(config, network, How{});
      EXPECT_GT(is_wide ? cpu.entries.size() : static_cast<std::size_t>(cpu.hits()), 0U);
      for (ScorerHow const& how : scorer_executions()) {
        SCOPED_TRACE(std::to_string(how.threads) + " threads, batch " + std::to_string(how.lanes));
        expect_same(cpu, run_with_scorer(config, scorer, how));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

// It takes differences for gradients, so that it finds others than in the network.
TEST_P(ScorerSearch, FindsTheSameByMarginsInEveryExecution) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, shape_of(GetParam()));
  config.global.num = 20;
  config.local.num = 30;
  TestSubject const network(config);
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities, ScoreKind::kLabels}) {
    TestSubject const scorer(config, disguised(network.view(), kind));
    for (char const* method : {"margin", "margin-walk"}) {
      SCOPED_TRACE(std::string(name_of(kind)) + ", " + method);
      config.method = method;
      Finished const one = run_with_scorer(config, scorer, {1, 1});
      EXPECT_GT(one.entries.size(), 20U);
      for (ScorerHow const& how : scorer_executions()) {
        expect_same(one, run_with_scorer(config, scorer, how));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

TEST_P(ScorerSearch, CountsWhatIsCountedInTheNetwork) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  TestSubject const network(config);
  if (network.view().low.size() > 20) return;  // too wide a domain to be walked
  auto const lists = region_lists(network, {});
  Walked const expected = walk_all(*make_cpu_backend(network.view(), {})->make_walker(lists));
  ASSERT_GT(expected.mixed.size(), 0U);
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities}) {
    TestSubject const scorer(config, disguised(network.view(), kind));
    for (int const threads : {0, 2}) {
      auto const backend = make_backend_for(scorer, {threads}, 1, {});
      // An estimate has a walker in every thread.
      std::vector<std::jthread> walkers;
      for (int i = 0; i < 2; ++i) {
        walkers.emplace_back([&] {
          Walked const walked = walk_all(*backend->make_walker(lists), 100);
          expect_same(walked, expected);
        });
      }
    }
  }
}

TEST_P(ScorerSearch, DescribesWhatTheNetworkDescribes) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, shape_of(GetParam()));
  TestSubject const network(config);
  auto const count = static_cast<std::size_t>(network.data()->count());
  std::vector<Description> expected(count);
  make_cpu_backend(network.view(), {})
      ->describe(network.data()->rows.data(), count, expected.data());
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities}) {
    TestSubject const scorer(config, disguised(network.view(), kind));
    std::vector<Description> found(count);
    make_backend_for(scorer, {}, 1, {})->describe(network.data()->rows.data(), count, found.data());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(found[i].label, expected[i].label);
      EXPECT_EQ(found[i].pair_label, expected[i].pair_label);
      EXPECT_EQ(found[i].pair_variant, expected[i].pair_variant);
      EXPECT_EQ(found[i].score, expected[i].score);
      EXPECT_EQ(found[i].pair_score, expected[i].pair_score);
      EXPECT_EQ(found[i].severity, expected[i].severity);
    }
  }
}

// Outputs that may overflow are found by other draws of partners where a group has few members.
INSTANTIATE_TEST_SUITE_P(Subjects, ScorerSearch,
                         ::testing::Values("one output", "several outputs", "tanh", "many variants",
                                           "wide domain"),
                         name_of_kind);

TEST(Scorer, MemoryLimitsDoNotShow) {
  TemporaryFolder const folder;
  RunConfig config = overflowing_config(folder, "wide domain");
  config.method = "maft";
  config.global.num = 100;
  config.local.num = 100;
  TestSubject const network(config);
  TestSubject const scorer(config, disguised(network.view(), ScoreKind::kLogits));
  ScorerHow tight{2, 64};
  tight.memory = 1;  // the least
  Finished const all = run_with_scorer(config, scorer, {1, 5});
  Finished const few = run_with_scorer(config, scorer, tight);
  EXPECT_EQ(all.overflowed, 0U) << all.entries.size();
  EXPECT_GT(few.overflowed, 0U) << all.entries.size();
  expect_same(all, few);
}

// The one decision that depends on the threshold, just on it: 1 is decided strictly above.
TEST(Scorer, DecidesStrictlyAboveTheThreshold) {
  class Constant final : public Scorer {
   public:
    explicit Constant(float p) : p_(p) {}
    std::string name() const override { return "constant"; }
    int inputs() const override { return 6; }
    int outputs() const override { return 1; }
    ScoreKind kind() const override { return ScoreKind::kProbabilities; }
    void score(float const*, std::size_t count, float* scores) override {
      std::fill_n(scores, count, p_);
    }

   private:
    float p_;
  };
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.threshold = 0.75;
  for (float const p : {0.75F, std::nextafter(0.75F, 1.0F)}) {
    ModelOptions options;
    options.make = [p] { return std::make_shared<Constant>(p); };
    TestSubject const subject(config, options);
    Description description;
    make_backend_for(subject, {}, 1, {})->describe(subject.data()->rows.data(), 1, &description);
    EXPECT_EQ(description.label, p > 0.75F ? 1 : 0);
    EXPECT_EQ(description.score, p);
    EXPECT_EQ(description.severity, 0.0F);
  }
}

/// MAFT's global phase where the model gives nothing but labels, one input after the other.
/// Source: Wang et al., ICSE 2024: the one-hot vector in the place of probabilities.
class LabelsOnlyMaft {
 public:
  LabelsOnlyMaft(SubjectView const& view, NetworkScorer const& scorer, RunConfig const& config)
      : view_(view), scorer_(scorer), config_(config) {}

  /// Whether an IDI is reached from x, in how many tests; x is left where it ends.
  bool search(Row& x, std::uint32_t& tests) const {
    std::vector<float> m1(x.size());
    std::vector<float> m2(x.size());
    auto const decay = static_cast<float>(config_.global.decay);
    for (tests = 1;; ++tests) {
      Row partner = x;
      for (auto const& member : naive::similar_set(view_, x)) {
        if (label(member) != label(x)) return true;
      }
      if (tests > static_cast<std::uint32_t>(config_.global.max_iter)) break;
      auto const g1 = gradient(x);
      for (std::size_t a = 0; a < x.size(); ++a) {
        m1[a] = decay * m1[a] + g1[a];
        m2[a] = decay * m2[a] + g1[a];  // all members have one label: the input is its own partner
        auto const step =
            static_cast<std::int32_t>(m1[a] < 0.0F) - static_cast<std::int32_t>(m1[a] > 0.0F);
        x[a] = std::clamp(x[a] + step, view_.low[a], view_.high[a]);
      }
      if (tests == static_cast<std::uint32_t>(config_.global.max_iter)) break;
    }
    return false;
  }

 private:
  std::int32_t label(std::vector<float> const& row) const {
    auto const scores = scorer_.score(row);
    return static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) -
                                     scores.begin());
  }
  std::int32_t label(Row const& row) const {
    return label(std::vector<float>(row.begin(), row.end()));
  }
  /// Differences of the own label's entry, which is 1 here; its probability is above a half.
  std::vector<float> gradient(Row const& x) const {
    std::vector<float> const here(x.begin(), x.end());
    std::vector<float> g(x.size());
    for (std::size_t a = 0; a < x.size(); ++a) {
      auto const s = static_cast<std::int32_t>(a);
      if (std::count(view_.selected.begin(), view_.selected.end(), s) > 0) continue;
      auto moved = here;
      moved[a] += static_cast<float>(config_.perturbation_size);
      g[a] = scorer_.score(moved)[static_cast<std::size_t>(label(x))] - 1.0F;
    }
    return g;
  }

  SubjectView const& view_;
  NetworkScorer const& scorer_;
  RunConfig const& config_;
};

TEST(Scorer, LabelsOnlyIsMaftOnOneHotVectors) {
  for (char const* kind : {"one output", "several outputs", "tanh"}) {
    SCOPED_TRACE(kind);
    TemporaryFolder const folder;
    RunConfig config = small_config(folder, shape_of(kind), 200);
    config.method = "maft";
    config.global.num = 200;
    config.local.num = 0;
    TestSubject const network(config);
    TestSubject const subject(config, disguised(network.view(), ScoreKind::kLabels));
    Finished const found = run_with_scorer(config, subject, {2, 16});
    NetworkScorer const scorer(network.view(), ScoreKind::kLabels);
    LabelsOnlyMaft const maft(network.view(), scorer, config);
    auto const width = network.view().low.size();
    SeedSource const seeds(config, find_method(config.method), subject);
    int moved = 0;
    for (std::int64_t s = 0; s < seeds.count(); ++s) {
      Row row(width);
      seeds.rows(s, 1, row.data());
      Row const start = row;
      std::uint32_t tests = 0;
      bool const hit = maft.search(row, tests);
      auto const at = static_cast<std::size_t>(s);
      EXPECT_EQ(found.result.global[at].found, hit);
      EXPECT_EQ(found.result.global[at].iterations, tests);
      Row const last(
          found.result.last_rows.begin() + static_cast<std::ptrdiff_t>(at * width),
          found.result.last_rows.begin() + static_cast<std::ptrdiff_t>((at + 1) * width));
      EXPECT_EQ(last, row);
      moved += row == start ? 0 : 1;
    }
    EXPECT_GT(moved, 0) << "nothing was tested";
  }
}

// A row without a score is neither fair nor unfair, and what else is said of its group does not
// depend on it.
TEST(Scorer, NanIsUndefined) {
  TemporaryFolder const folder;
  RunConfig config = small_config(folder, {});
  config.local.num = 20;
  TestSubject const network(config);
  for (ScoreKind const kind : {ScoreKind::kLogits, ScoreKind::kProbabilities, ScoreKind::kLabels}) {
    SCOPED_TRACE(name_of(kind));
    ScorerFaults faults;
    faults.undefined = 5;
    TestSubject const subject(config, disguised(network.view(), kind, faults));
    NetworkScorer scorer(network.view(), kind, faults);
    auto const outputs = static_cast<std::size_t>(scorer.outputs());
    auto const label_of_row = [&](Row const& row) {
      std::vector<float> const floats(row.begin(), row.end());
      std::vector<float> scores(outputs);
      scorer.score(floats.data(), 1, scores.data());
      if (std::isnan(scores.back())) return -1;
      if (outputs > 1) return scores[1] > scores[0] ? 1 : 0;
      return scores[0] > subject.view().threshold ? 1 : 0;
    };
    for (char const* method : {"themis", "maft"}) {
      config.method = method;
      Finished const found = run_with_scorer(config, subject, {2, 9});
      expect_same(found, run_with_scorer(config, subject, {1, 64}));
      std::int64_t undefined = 0;
      for (auto const& [row, entry] : found.entries) {
        int const own = label_of_row(row);
        bool mixed = false;
        for (auto const& member : naive::similar_set(network.view(), row)) {
          int const other = label_of_row(member);
          mixed = mixed || (own >= 0 && other >= 0 && own != other);
        }
        EXPECT_EQ((entry.state & kVisitHit) != 0, mixed);
        EXPECT_EQ((entry.state & kVisitUndefined) != 0, own < 0);
        undefined += own < 0 ? 1 : 0;
      }
      EXPECT_GT(undefined, 0);
      EXPECT_GT(found.hits(), 0);
    }
  }
}

TEST(Scorer, SaysWhoAnswers) {
  TemporaryFolder const folder;
  RunConfig const config = small_config(folder, {});
  TestSubject const network(config);
  TestSubject const subject(config, disguised(network.view(), ScoreKind::kLogits));
  EXPECT_EQ(make_backend_for(subject, {2}, 1, {})->name(),
            "cpu (2 threads, a network in disguise)");
  EXPECT_EQ(make_backend_for(subject, {0}, 1, {})->name(), "cuda:0 (test, a network in disguise)");
  EXPECT_GE(make_backend_for(subject, {2}, 1, {})->block_lanes(1 << 20) *
                make_backend_for(subject, {2}, 1, {})->subject().get().variants,
            100000);
}

}  // namespace
}  // namespace fairlane
