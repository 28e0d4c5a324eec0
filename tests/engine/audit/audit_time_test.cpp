// Seconds that an audit is given, and a model that becomes slower.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "base/formats/json.h"
#include "base/stopwatch.h"
#include "engine/audit/audit.h"
#include "kernels/core/scorer.h"
#include "tests/engine/search/small_subject.h"

namespace fairlane {
namespace {

constexpr std::size_t kQuickRows = 40'000;

/// A model that answers soon to so many rows, and then takes its time.
class TiringScorer final : public Scorer {
 public:
  std::string name() const override { return "tiring"; }
  int inputs() const override { return 6; }
  int outputs() const override { return 1; }
  ScoreKind kind() const override { return ScoreKind::kProbabilities; }
  void score(float const* rows, std::size_t count, float* scores) override {
    using namespace std::chrono_literals;
    std::this_thread::sleep_for((rows_ < kQuickRows ? 1us : 20us) * count);
    rows_ += count;
    for (std::size_t i = 0; i < count; ++i) scores[i] = rows[i * 6] > 4.0F ? 0.9F : 0.1F;
  }

 private:
  std::size_t rows_ = 0;
};

TEST(AuditTime, EndsAModelThatBecomesSlower) {
  constexpr double kSeconds = 4.0;
  TemporaryFolder const folder;
  SmallShape shape;
  shape.ranges = {10, 50, 10, 50, 10, 50};
  shape.selected = {0};
  RunConfig const config = small_config(folder, shape);
  AuditOptions options;
  options.execution.threads = 1;
  options.execution.model.make = [] { return std::make_shared<TiringScorer>(); };
  options.seconds = kSeconds;
  options.config_name = "small.yaml";
  Stopwatch const watch;
  Json const found = Json::parse(audit(config, options));
  EXPECT_LT(watch.seconds(), 5 * kSeconds);  // without an end it takes ten times as long
  EXPECT_EQ("sample", found.at("sets")[0].at("domain").at("source").get<std::string>());
  EXPECT_GE(found.at("sets")[0].at("domain").at("groups").get<std::int64_t>(), 1000);
}

}  // namespace
}  // namespace fairlane
