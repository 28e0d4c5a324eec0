#include "engine/count/domain_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "base/stopwatch.h"
#include "kernels/core/scorer.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

/// A model that takes its time for each row.
class SlowScorer final : public Scorer {
 public:
  explicit SlowScorer(std::chrono::microseconds each) : each_(each) {}
  std::string name() const override { return "slow"; }
  int inputs() const override { return 6; }
  int outputs() const override { return 1; }
  ScoreKind kind() const override { return ScoreKind::kProbabilities; }
  void score(float const* rows, std::size_t count, float* scores) override {
    std::this_thread::sleep_for(each_ * count);
    for (std::size_t i = 0; i < count; ++i) scores[i] = rows[i * 6] > 4.0F ? 0.9F : 0.1F;
  }

 private:
  std::chrono::microseconds each_;
};

class TimedShare : public ::testing::Test {
 protected:
  TimedShare() {
    SmallShape shape;
    shape.ranges = {10, 50, 10, 50, 10, 50};
    shape.selected = {0};
    config_ = small_config(folder_, shape);
  }

  DomainShare measured(std::int64_t samples, std::optional<double> seconds,
                       ModelOptions const& model = {}) const {
    DomainShareOptions options;
    options.execution.model = model;
    options.execution.threads = 1;
    options.samples = samples;
    options.seconds = seconds;
    return measure_domain_share(config_, TestSubject(config_, model), options);
  }

  TemporaryFolder const folder_;
  RunConfig config_;
};

TEST_F(TimedShare, IsThatOfAllSamplesWhereTheTimeSuffices) {
  DomainShare const expected = measured(50'000, std::nullopt);
  DomainShare const share = measured(50'000, 1e6);
  EXPECT_EQ("sample", share.source);
  EXPECT_EQ(50'000, share.drawn);
  EXPECT_GT(expected.share, 0.0);
  EXPECT_EQ(expected.share, share.share);
  EXPECT_EQ(expected.low, share.low);
  EXPECT_EQ(expected.high, share.high);
}

TEST_F(TimedShare, OfNoTimeIsThatOfTheFewestSamples) {
  DomainShare const share = measured(50'000, 0.0);
  ASSERT_EQ(1000, share.drawn);
  EXPECT_EQ(measured(1000, std::nullopt).share, share.share);
  EXPECT_EQ(10, measured(10, 0.0).drawn);
}

TEST_F(TimedShare, EndsInTimeWhereTheModelIsSlow) {
  constexpr double kSeconds = 2.0;
  ModelOptions slow;
  // Of 10 variants: a second for some 5,000 samples, and minutes for all of them.
  slow.make = [] { return std::make_shared<SlowScorer>(std::chrono::microseconds(20)); };
  Stopwatch const watch;
  DomainShare const share = measured(1'000'000, kSeconds, slow);
  EXPECT_LT(watch.seconds(), 10 * kSeconds);
  EXPECT_GE(share.drawn, 1000);
  EXPECT_LE(share.drawn, 16'000);
  EXPECT_EQ(1.0, share.share);
  EXPECT_EQ(measured(share.drawn, std::nullopt, slow).low, share.low);
}

}  // namespace
}  // namespace fairlane
