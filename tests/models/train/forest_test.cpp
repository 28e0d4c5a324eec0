#include "models/train/forest.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/error.h"
#include "tests/models/expect_error.h"
#include "tests/plugin_dir.h"

namespace fairlane {
namespace {

#define FL_NEED_FOREST(dir) \
  FL_NEED_TORCH(dir);       \
  if (!has_forest()) GTEST_SKIP() << "this plug-in was built without OpenCV (libopencv-ml-dev)"

/// Points around three centres.
struct Clouds {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;

  Clouds(unsigned seed, int rows) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    for (int i = 0; i < rows; ++i) {
      int const label = i % 3;
      inputs.push_back((label == 1 ? 3.0F : 0.0F) + normal(random));
      inputs.push_back((label == 2 ? 3.0F : 0.0F) + normal(random));
      labels.push_back(label);
    }
  }
};

TEST(RandomForest, LearnsWhatIsApart) {
  FL_NEED_FOREST(dir);
  Clouds const known(1, 300);
  Clouds const other(2, 90);
  // A fourth class that no row has.
  RandomForest const voter(known.inputs, known.labels, 4, 5);
  auto const shares = voter.vote(other.inputs);
  ASSERT_EQ(shares.size(), other.labels.size() * 4);
  for (std::size_t i = 0; i < other.labels.size(); ++i) {
    float sum = 0.0F;
    for (std::size_t c = 0; c < 4; ++c) sum += shares[i * 4 + c];
    EXPECT_NEAR(static_cast<double>(sum), 1.0, 1e-5);
    EXPECT_GT(shares[i * 4 + static_cast<std::size_t>(other.labels[i])], 0.5F) << i;
    EXPECT_EQ(shares[i * 4 + 3], 0.0F);
  }
}

TEST(RandomForest, IsAFunctionOfWhatItIsGiven) {
  FL_NEED_FOREST(dir);
  Clouds const known(3, 200);
  Clouds const other(4, 50);
  auto const once = RandomForest(known.inputs, known.labels, 3, 5).vote(other.inputs);
  auto const again = RandomForest(known.inputs, known.labels, 3, 5).vote(other.inputs);
  EXPECT_EQ(once, again);
}

TEST(RandomForest, SaysThatThePlugInHasNone) {
  PluginDir const dir(fake_plugin("lying"));
  Clouds const known(1, 30);
  EXPECT_FALSE(has_forest());
  expect_error(ExitCode::kUnavailable, {"without OpenCV", "libopencv-ml-dev"},
               [&] { RandomForest(known.inputs, known.labels, 3, 5); });
}

}  // namespace
}  // namespace fairlane
