// Which backend `auto` is, for a table of jobs. A GPU is looked for by the test's own function.
#include "engine/subject/backend_choice.h"

#include <gtest/gtest.h>

namespace fairlane {
namespace {

constexpr double kCensus = 3556.0;  // multiply-adds of 13-64-32-16-8-4-1
constexpr double kVariants = 4.0;

Workload steps(double lane_steps, double rounds) {
  return {lane_steps, lane_steps * kVariants, rounds, std::nullopt};
}

Workload within(Workload work, double seconds) {
  work.seconds = seconds;
  return work;
}

/// asks     whether a GPU is looked for
/// reasons  what a person reads, where there is a GPU and where there is none
struct WeighedJob {
  char const* what;
  Workload work;
  std::optional<double> multiply_adds;
  int threads;
  bool asks;
  char const* reason;
  char const* without_device;
};

char const* const kNone = "no GPU: no NVIDIA driver is loaded";

std::vector<WeighedJob> weighed_jobs() {
  constexpr double kMany = 1e6;
  return {
      {"nothing",
       {},
       kCensus,
       1,
       false,
       "up to 0 lane-steps, about 0 s on the CPU, less than a GPU takes to start",
       nullptr},
      {"the papers' run", steps(1e6, 1010), kCensus, 2, false,
       "up to 1e6 lane-steps, about 0.13 s on the CPU, less than a GPU takes to start", nullptr},
      {"a million seeds", steps(kMany * 1000, 1010), kCensus, 2, true,
       "up to 1e9 lane-steps, about 134 s on the CPU and 2.4 s on a GPU", kNone},
      {"on one core", steps(4e6, 1010), kCensus, 1, true,
       "up to 4e6 lane-steps, about 1.1 s on the CPU and 0.61 s on a GPU", kNone},
      {"on many", steps(4e6, 1010), kCensus, 64, false,
       "up to 4e6 lane-steps, about 0.017 s on the CPU, less than a GPU takes to start", nullptr},
      {"few lanes, many rounds", steps(6.4e6, 1e5), kCensus, 1, false,
       "up to 6.4e6 lane-steps, about 1.7 s on the CPU and 11 s on a GPU", nullptr},
      {"the same rounds of a wide network", steps(6.4e6, 1e5), 1e6, 1, true,
       "up to 6.4e6 lane-steps, about 427 s on the CPU and 13 s on a GPU", kNone},
      {"hardly any time", within(steps(kMany * 1000, 1010), 0.5), kCensus, 2, false,
       "0.5 s are less than a GPU takes to start", nullptr},
      {"some time", within(steps(kMany * 1000, 1010), 0.6), kCensus, 2, true,
       "up to 1e9 lane-steps, about 134 s on the CPU and 2.4 s on a GPU", kNone},
      {"a scorer", kEndlessWork, std::nullopt, 2, false,
       "a model that is no network runs on the CPU", nullptr},
      {"nobody knows how much", kEndlessWork, kCensus, 2, true,
       "up to 1e18 lane-steps, about 4.5e10 s on the CPU and 6e8 s on a GPU", kNone},
      {"the same on a very large machine", kEndlessWork, kCensus, 1024, false,
       "up to 1e18 lane-steps, about 8.7e7 s on the CPU and 6e8 s on a GPU", nullptr},
  };
}

TEST(BackendChoice, WeighsTheJob) {
  for (auto const& job : weighed_jobs()) {
    for (bool const has_device : {true, false}) {
      SCOPED_TRACE(std::string(job.what) + (has_device ? ", with a GPU" : ", without"));
      int asked = 0;
      auto const choice = choose_backend(job.work, job.multiply_adds, job.threads, [&] {
        ++asked;
        return has_device ? FoundDevice{3, {}} : FoundDevice{-1, "no NVIDIA driver is loaded"};
      });
      EXPECT_EQ(asked, job.asks ? 1 : 0);
      EXPECT_EQ(choice.device, job.asks && has_device ? 3 : -1);
      EXPECT_EQ(choice.reason,
                has_device || job.without_device == nullptr ? job.reason : job.without_device);
    }
  }
}

TEST(BackendChoice, WorkAddsUp) {
  Workload sum;
  sum += steps(10, 2);
  EXPECT_FALSE(sum.seconds);
  sum += within(steps(5, 1), 0.25);
  sum += within(steps(5, 1), 0.5);
  EXPECT_EQ(sum.lane_steps, 20.0);
  EXPECT_EQ(sum.evaluations, 80.0);
  EXPECT_EQ(sum.rounds, 4.0);
  EXPECT_EQ(sum.seconds, 0.75);
}

}  // namespace
}  // namespace fairlane
