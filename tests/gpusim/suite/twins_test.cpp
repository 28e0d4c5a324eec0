// Every kernel of the device backend on the simulated GPU and, on the same memory, on the host:
// word by word the same.
#include <gtest/gtest.h>

#include "engine/count/region.h"
#include "kernels/backend.h"
#include "kernels/device/device_backend.h"
#include "kernels/device/device_k_means.h"
#include "tests/engine/count/walked.h"
#include "tests/engine/search/encoded_subject.h"
#include "tests/engine/search/network_scorer.h"
#include "tests/engine/search/run_search.h"
#include "tests/engine/verify/deciders/decided_boxes.h"
#include "tests/gpusim/suite/simulated_device.h"

namespace fairlane {
namespace {

constexpr char const* kMethods[] = {"themis",      "adf",    "eidig",       "maft",
                                    "maft-nonvec", "margin", "margin-walk", "aequitas-fully"};

constexpr char const* kWiderPasses =
    "a pass of a warp is wider than the host's: it writes behind its last lane, where an earlier "
    "pass of the same launch may have had one";
constexpr char const* kLanesMeet =
    "which of two lanes of a window that reach one group finds it known decides in which order "
    "lanes "
    "pass the stages, and so what the last passes leave in scratch";

/// Kernels whose arrays may differ, and why that does not matter.
std::map<std::string, std::string> const kMayDiffer = {
    {"TallyTiles",
     "scratch of lanes behind the last, and which copy of a counter a warp adds to, which are "
     "summed"},
    {"SeekBySigns<fairlane::GradientTiles>", kWiderPasses},
    {"SeekBySigns<fairlane::DifferenceTiles>", kWiderPasses},
    {"SeekBoundary", kWiderPasses},
    {"MarginRounds", kWiderPasses},
    {"WeightedRounds<fairlane::GradientTiles>", kLanesMeet},
    {"WeightedRounds<fairlane::DifferenceTiles>", kLanesMeet},
};
/// Kernels that may leave the same in another order: which of two inputs that collide in the record
/// has the first place, and so which counter counts it, depends on who comes first; findings are
/// sorted after they were picked.
std::set<std::string> const kMayMove = {"RecordProbed", "RecordClassified", "RecordMargin",
                                        "RehashSlots",  "MergeSlots",       "LatticeRounds",
                                        "PickFindings"};

struct TwinHow {
  char const* route = "";
  int devices = 1;
  int shared = 0;
  std::uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::kExact;
  VisitSink overflow = {};
};

/// Backends on simulated GPUs with twins, whose memory is small: all of it is compared.
class Twins {
 public:
  std::unique_ptr<Backend> backend(SubjectView const& view, TwinHow how) {
    DeviceOptions options;
    options.lanes = kLanes;
    options.seed = how.seed;
    options.memory_limit = kRecordBytes;
    options.workspace = kWorkspaceBytes;
    options.route = how.route;
    options.arithmetic = how.arithmetic;
    options.overflow = std::move(how.overflow);
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < how.devices; ++i) {
      devices.push_back(std::make_unique<SimulatedDevice>(&tallies_, how.shared));
    }
    return make_device_backend(view, std::move(devices), options);
  }

  Finished search(RunConfig const& config, TestSubject const& subject, char const* route,
                  Arithmetic arithmetic = Arithmetic::kExact, int shared = 0) {
    return run_search_on(config, subject, [&](VisitSink overflow) {
      return backend(subject.view(), {.route = route,
                                      .shared = shared,
                                      .seed = config.seed,
                                      .arithmetic = arithmetic,
                                      .overflow = std::move(overflow)});
    });
  }

  TwinTallies& tallies() { return tallies_; }

  void expect_equal() const {
    for (auto const& [full_name, tally] : tallies_) {
      std::string const name = full_name.substr(0, full_name.find(kByTeams));
      if (kMayDiffer.count(name) != 0) continue;
      EXPECT_EQ(tally.differ, 0U) << name << ": " << tally.first;
      EXPECT_TRUE(tally.moved == 0 || kMayMove.count(name) != 0) << name << ": " << tally.first;
      // A tile of a GPU is wider than the host's: it writes behind the last lane.
      bool const tiles = name.find("Tiles") != std::string::npos || name == "LatticeRounds";
      EXPECT_EQ(tiles ? 0U : tally.alone, 0U) << name << ": " << tally.first;
    }
  }

 private:
  static constexpr std::int64_t kLanes = 40;
  static constexpr std::uint64_t kRecordBytes = 1 << 17;
  static constexpr std::uint64_t kWorkspaceBytes = 1 << 14;

  TwinTallies tallies_;
};

RunConfig quick_config(TemporaryFolder const& folder, SmallShape const& shape) {
  RunConfig config = small_config(folder, shape);
  config.global.num = 12;
  config.local.num = 5;
  config.aequitas.lanes = 5;
  return config;
}

class TwinKernels : public testing::TestWithParam<char const*> {};

TEST_P(TwinKernels, AreEqualInSearches) {
  TemporaryFolder const folder;
  RunConfig config = quick_config(folder, shape_of(GetParam()));
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
  TestSubject const subject(quick_config(folder, shape));
  auto const lists = region_lists(subject, {});
  Walked const expected = walk_all(*make_cpu_backend(subject.view(), {})->make_walker(lists));
  Twins twins;
  for (char const* const route : {"fused", "wide"}) {
    auto const backend = twins.backend(subject.view(), {.route = route});
    expect_same(walk_all(*backend->make_walker(lists)), expected);
  }
  twins.expect_equal();
}

INSTANTIATE_TEST_SUITE_P(Subjects, TwinKernels,
                         testing::Values("one output", "several outputs", "tanh", "silu", "gelu",
                                         "wide domain", "many variants", "undefined members",
                                         "constrained", "plausible"),
                         name_of_kind);

void search_everywhere(Twins& twins, RunConfig config, std::vector<char const*> const& methods) {
  for (char const* const method : methods) {
    config.method = method;
    TestSubject const subject(config);
    for (char const* const route : {"fused", "wide"}) {
      for (auto const arithmetic : {Arithmetic::kExact, Arithmetic::kFast}) {
        twins.search(config, subject, route, arithmetic);
      }
    }
  }
}

/// On a GPU that has room for few windows of lanes, but layers that are wide enough for teams.
void search_by_teams(Twins& twins, TemporaryFolder const& folder) {
  constexpr int kShared = 60 << 10;
  for (char const* const kind : {"one output", "tanh", "many variants"}) {
    SmallShape shape = shape_of(kind);
    shape.widths = {40, 24, shape.widths.back()};
    RunConfig config = quick_config(folder, shape);
    for (char const* const method : {"eidig", "maft", "margin", "margin-walk"}) {
      config.method = method;
      TestSubject const subject(config);
      expect_same(run_search(config, subject, How{}),
                  twins.search(config, subject, "fused", Arithmetic::kExact, kShared));
    }
  }
}

void decide_boxes(Twins& twins) {
  RandomSubject::Shape shape;
  shape.counts = {2};  // few enough pairs to be looked at one by one
  RandomSubject const subject(shape);
  decided_boxes(subject.view, *twins.backend(subject.view, {}));
}

/// Whatever launches a kernel, on small subjects.
void reach_every_kernel(Twins& twins) {
  TemporaryFolder const folder;
  for (char const* const kind : {"one output", "many variants"}) {
    RunConfig const config = quick_config(folder, shape_of(kind));
    search_everywhere(twins, config, {std::begin(kMethods), std::end(kMethods)});
    TestSubject const subject(config);
    auto const lists = region_lists(subject, {});
    for (char const* const route : {"fused", "wide"}) {
      walk_all(*twins.backend(subject.view(), {.route = route})->make_walker(lists));
    }
  }
  // Activations of sums that are kept; a record that grows; blocks of threads of every size.
  search_everywhere(twins, quick_config(folder, shape_of("silu")), {"eidig"});
  search_everywhere(twins, quick_config(folder, shape_of("wide domain")),
                    {"themis", "eidig", "maft", "margin", "margin-walk"});
  search_by_teams(twins, folder);
  SmallShape layered = shape_of("several outputs");
  layered.widths = {300, 40, 3};
  search_everywhere(twins, quick_config(folder, layered), {"eidig"});
  // A walk over members whose network leaves no room on chip.
  SmallShape large = shape_of("one output");
  large.ranges = {4, 2, 2, 2, 2, 2};
  large.widths = {600, 60, 1};
  TestSubject const off_chip(quick_config(folder, large));
  walk_all(
      *twins.backend(off_chip.view(), {.route = "fused"})->make_walker(region_lists(off_chip, {})));
  // Lattice moves of such a network, in several waves.
  RunConfig margin = quick_config(folder, large);
  margin.method = "margin";
  margin.global.num = 3;
  margin.local.num = 40;
  twins.search(margin, TestSubject(margin), "fused");
  // Gradients of encoded attributes.
  TwinShape const encoded;
  RunConfig config = twin_config(folder, encoded, Which::kEncoded);
  config.global.num = 12;
  config.local.num = 5;
  search_everywhere(twins, config, {"eidig"});
  // Models that are no networks, and several devices.
  config = quick_config(folder, shape_of("several outputs"));
  config.method = "maft";
  TestSubject const network(config);
  TestSubject const scorer(config, disguised(network.view(), ScoreKind::kLogits));
  twins.search(config, scorer, "");
  run_search_on(config, network, [&](VisitSink overflow) {
    return twins.backend(network.view(), {.devices = 2, .overflow = std::move(overflow)});
  });
  // Constraints, where scores are stored.
  config = quick_config(folder, shape_of("constrained"));
  config.method = "eidig";
  TestSubject const constrained(config);
  twins.search(config, constrained, "wide");
  decide_boxes(twins);
  // Clusters that are empty at first.
  SimulatedDevice device(&twins.tallies());
  std::vector<std::int32_t> const codes = {5, 9, 9, 5};
  device_k_means(device, {codes.data(), 4, 1}, 3, 1);
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
