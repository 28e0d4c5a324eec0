#include "apps/sweep/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace fairlane {
namespace {

constexpr char const* kVisible = "CUDA_VISIBLE_DEVICES";

std::string seen(char const* before, int device) {
  if (before == nullptr) {
    unsetenv(kVisible);
  } else {
    setenv(kVisible, before, 1);
  }
  see_one_gpu(device);
  std::string const after = std::getenv(kVisible);
  unsetenv(kVisible);
  return after;
}

TEST(SweepGpus, AWorkerSeesOneOfThoseThatWeSee) {
  EXPECT_EQ(seen(nullptr, 2), "2");
  EXPECT_EQ(seen("", 1), "1");
  EXPECT_EQ(seen("3,GPU-8932f937,5", 0), "3");
  EXPECT_EQ(seen("3,GPU-8932f937,5", 1), "GPU-8932f937");
  EXPECT_EQ(seen("3,GPU-8932f937,5", 2), "5");
  EXPECT_EQ(seen("3", 1), "");  // there is none
}

TEST(SweepGpus, NobodyLooksForThemWhereTheCpuIsAskedFor) {
  EXPECT_TRUE(sweep_gpus("cpu").empty());
  EXPECT_THROW(sweep_gpus("cpuu"), Error);
}

}  // namespace
}  // namespace fairlane
