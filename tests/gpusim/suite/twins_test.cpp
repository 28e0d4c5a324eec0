// Every kernel of the device backend on the simulated GPU and, on the same memory, on the host: word
// by word the same.
#include <gtest/gtest.h>

#include "engine/count/region.h"
#include "kernels/backend.h"
#include "kernels/device/device_backend.h"
#include "kernels/device/device_k_means.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/gpusim/suite/simulated_device.h"
#include "tests/kernels/device/test_device.h"

namespace fairlane {
namespace {

constexpr char const* kMethods[] = {"themis",      "adf",    "eidig",         "maft",
                                    "maft-nonvec", "margin", "aequitas-fully"};

/// What a kernel leaves that depends on how many threads work together, and why that does not
/// matter.
std::map<std::string, std::string> const kMayDiffer = {
    {"TallyTiles",
     "scratch rows of lanes behind the last, and which copy of a counter is added to"},
};

/// A backend on a simulated GPU with a twin, whose memory is small: all of it is compared.
class Twins {
 public:
  std::unique_ptr<Backend> backend(SubjectView const& view, char const* route, std::uint64_t seed,
                                   std::int64_t lanes, VisitSink overflow = {},
                                   Arithmetic arithmetic = Arithmetic::kExact) {
    DeviceOptions options;
    options.lanes = lanes;
    options.seed = seed;
    options.memory_limit = kRecordBytes;
    options.workspace = kWorkspaceBytes;
    options.route = route;
    options.arithmetic = arithmetic;
    options.overflow = std::move(overflow);
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<SimulatedDevice>(&tallies_));
    return make_device_backend(view, std::move(devices), options);
  }

  Finished search(RunConfig const& config, TestSubject const& subject, char const* route,
                  Arithmetic arithmetic = Arithmetic::kExact) {
    return run_search_on(config, subject, [&](VisitSink overflow) {
      return backend(subject.view(), route, config.seed, kLanes, std::move(overflow), arithmetic);
    });
  }

  TwinTallies& tallies() { return tallies_; }

  void expect_equal() const {
    for (auto const& [name, tally] : tallies_) {
      if (kMayDiffer.count(name) != 0) continue;
      EXPECT_EQ(tally.differ, 0U) << name << ": " << tally.first;
      // A tile of a GPU is wider than the host's: it writes behind the last lane.
      bool const tiles = name.find("Tiles") != std::string::npos;
      EXPECT_EQ(tiles ? 0U : tally.alone, 0U) << name << ": " << tally.alone << " words alone";
    }
  }

 private:
  static constexpr std::int64_t kLanes = 40;
  static constexpr std::uint64_t kRecordBytes = 1 << 17;
  static constexpr std::uint64_t kWorkspaceBytes = 1 << 14;

  TwinTallies tallies_;
};

RunConfig twin_config(TemporaryFolder const& folder, SmallShape const& shape) {
  RunConfig config = small_config(folder, shape);
  config.global.num = 12;
  config.local.num = 5;
  config.aequitas.lanes = 5;
  return config;
}

class TwinKernels : public testing::TestWithParam<char const*> {};

TEST_P(TwinKernels, AreEqualInSearches) {
  TemporaryFolder const folder;
  RunConfig config = twin_config(folder, shape_of(GetParam()));
  Twins twins;
  for (char const* const route : {"fused", "wide"}) {
    for (char const* const method : kMethods) {
      SCOPED_TRACE(std::string(route) + " " + method);
      config.method = method;
      TestSubject const subject(config);
      expect_same(run_search(config, subject, How{}), twins.search(config, subject, route));
    }
  }
  twins.expect_equal();
}

TEST_P(TwinKernels, AreEqualInWalks) {
  if (std::string(GetParam()) == "wide domain") GTEST_SKIP() << "too many groups for a walk";
  TemporaryFolder const folder;
  SmallShape shape = shape_of(GetParam());
  shape.flagged = {2};
  TestSubject const subject(twin_config(folder, shape));
  auto const lists = region_lists(subject, {});
  Walked const expected = walk_all(*make_cpu_backend(subject.view(), {})->make_walker(lists));
  Twins twins;
  for (char const* const route : {"fused", "wide"}) {
    auto const backend = twins.backend(subject.view(), route, 1, 0);
    expect_same(walk_all(*backend->make_walker(lists)), expected);
  }
  twins.expect_equal();
}

INSTANTIATE_TEST_SUITE_P(Subjects, TwinKernels,
                         testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                         "wide domain", "many variants", "undefined members"),
                         name_of_kind);

/// Everything that launches a kernel, on small subjects.
void reach_every_kernel(Twins& twins) {
  TemporaryFolder const folder;
  RunConfig config = twin_config(folder, shape_of("several outputs"));
  for (char const* const kind : {"one output", "many variants", "tanh"}) {
    config = twin_config(folder, shape_of(kind));
    for (char const* const route : {"fused", "wide"}) {
      for (char const* const method : kMethods) {
        config.method = method;
        TestSubject const subject(config);
        twins.search(config, subject, route);
        twins.search(config, subject, route, Arithmetic::kFast);
      }
      TestSubject const subject(config);
      auto const lists = region_lists(subject, {});
      walk_all(*twins.backend(subject.view(), route, 1, 0)->make_walker(lists));
    }
  }
  TestSubject const network(config);
  TestSubject const scorer(config, disguised(network.view(), ScoreKind::kLogits));
  for (char const* const method : {"themis", "maft"}) {
    config.method = method;
    twins.search(config, scorer, "");
  }
  SimulatedDevice device(&twins.tallies());
  std::vector<std::int32_t> const codes = {5, 9, 9, 5, 7, 1};
  device_k_means(device, {codes.data(), 6, 1}, 3, 1);
}

TEST(Kernels, AreAllReachedByTheSuite) {
  Twins twins;
  reach_every_kernel(twins);
  for (auto const& name : kernel_names()) {
    EXPECT_GT(twins.tallies()[name].launches, 0U) << name << " was never launched";
  }
  twins.expect_equal();
}

}  // namespace
}  // namespace fairlane
