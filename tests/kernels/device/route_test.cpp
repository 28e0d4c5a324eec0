// Routes, tile plans and chunks as tables: real GPUs' limits, networks from small to large.

#include "kernels/device/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/device/rounds/round_plan.h"
#include "kernels/device/tile_kernels.h"
#include "kernels/device/wide_plan.h"
#include "kernels/layout/plan.h"

namespace fairlane {
namespace {

struct Gpu {
  char const* name;
  int multiprocessors;
  int shared_per_block;
  int shared_per_multiprocessor;
  int threads_per_multiprocessor;

  DeviceLimits limits() const {
    return {multiprocessors, 32, shared_per_block, shared_per_multiprocessor,
            threads_per_multiprocessor};
  }
};

constexpr Gpu kA100{"A100", 108, 163 << 10, 164 << 10, 2048};
constexpr Gpu kH200{"H200", 132, 227 << 10, 228 << 10, 2048};
constexpr Gpu kB200{"B200", 148, 227 << 10, 228 << 10, 2048};
constexpr Gpu kL4{"L4", 58, 99 << 10, 100 << 10, 1536};
constexpr Gpu kGpus[] = {kA100, kH200, kB200, kL4};

/// A subject of which plans only see shapes: widths are inputs, units of each layer, outputs.
struct Shapes {
  explicit Shapes(std::vector<int> const& widths) {
    std::int64_t floats = 0;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      PackedLayer layer;
      layer.forward.inputs = layer.backward.outputs = widths[l];
      layer.forward.outputs = layer.backward.inputs = widths[l + 1];
      layer.forward.tile = best_tile(widths[l + 1], kWidestTile, kWeightVector);
      layers.push_back(layer);
      floats += 2L * widths[l] * widths[l + 1] + widths[l] + widths[l + 1];
    }
    auto& net = subject.network;
    net.layers = static_cast<int>(layers.size());
    net.layer = layers.data();
    for (int const width : widths) {
      net.max_width = std::max(net.max_width, width);
      net.sum_width += width;
    }
    subject.columns = widths.front();
    subject.prefix = widths.front() - 2;
    subject.inputs = subject.columns;
    subject.input_prefix = subject.prefix;
    subject.network.classes = widths.back();
    subject.movable_count = widths.front() - 2;
    subject.variants = 10;
    subject.selected = 2;
    constexpr std::int64_t kRest = 1024;  // of the arena: bounds, variants
    arena.bytes = floats * static_cast<std::int64_t>(sizeof(float)) + kRest;
  }
  Shapes(Shapes const&) = delete;
  Shapes& operator=(Shapes const&) = delete;

  std::vector<PackedLayer> layers;
  Subject subject;
  ArenaView arena;
};

std::string text(std::vector<int> const& widths) {
  std::string all;
  for (int const w : widths) all += (all.empty() ? "" : "-") + std::to_string(w);
  return all;
}

std::vector<int> const kCensus{12, 30, 20, 15, 15, 10, 1};
std::vector<int> const kAdult{13, 64, 32, 16, 8, 4, 1};
std::vector<int> const kHundred{13, 100, 100, 1};
std::vector<int> const kEncoded{137, 30, 20, 15, 10, 5, 1};
std::vector<int> const kMiddle{40, 256, 256, 128, 4};
std::vector<int> const kThousand{100, 1024, 1024, 1};
std::vector<int> const kHuge{300, 4096, 4096, 10};

TEST(Route, IsFusedForSmallNetworksAndWideForLargeOnes) {
  struct Row {
    std::vector<int> widths;
    Route a100, h200, b200, l4;
  };
  constexpr Route kF = Route::kFused;
  constexpr Route kW = Route::kWide;
  // 13-128-128-1 fits on a chip with 227 KB, but not in less. The encoded network does not fit on
  // small chips either, but its layers are too narrow for memory to feed them.
  Row const table[] = {
      {kCensus, kF, kF, kF, kF},  {kAdult, kF, kF, kF, kF},
      {kHundred, kF, kF, kF, kF}, {kEncoded, kF, kF, kF, kF},
      {kMiddle, kW, kW, kW, kW},  {kThousand, kW, kW, kW, kW},
      {kHuge, kW, kW, kW, kW},    {{13, 128, 128, 1}, kW, kF, kF, kW},
  };
  for (auto const& row : table) {
    SCOPED_TRACE(text(row.widths));
    Shapes const shapes(row.widths);
    EXPECT_EQ(make_route(shapes.subject, kA100.limits()), row.a100);
    EXPECT_EQ(make_route(shapes.subject, kH200.limits()), row.h200);
    EXPECT_EQ(make_route(shapes.subject, kB200.limits()), row.b200);
    EXPECT_EQ(make_route(shapes.subject, kL4.limits()), row.l4);
  }
}

TEST(Route, CanBeNamed) {
  Shapes const small(kCensus);
  auto const limits = kH200.limits();
  EXPECT_EQ(find_route("", small.subject, limits), Route::kFused);
  EXPECT_EQ(find_route("wide", small.subject, limits), Route::kWide);
  EXPECT_EQ(find_route("fused", Shapes(kHuge).subject, limits), Route::kFused);
  EXPECT_THROW(find_route("narrow", small.subject, limits), Error);
}

TEST(TilePlan, FitsEveryGpu) {
  std::vector<ScratchNeeds> const all = {ProbeTiles::kNeeds,        ClassifyTiles::kNeeds,
                                         ClassifySomeTiles::kNeeds, DrawPartnerTiles::kNeeds,
                                         MarginTiles::kNeeds,       PairMarginTiles::kNeeds,
                                         GradientTiles::kNeeds,     DifferenceTiles::kNeeds};
  for (auto const& gpu : kGpus) {
    for (auto const& widths : {kCensus, kAdult, kHundred, kEncoded, kMiddle, kThousand, kHuge}) {
      SCOPED_TRACE(std::string(gpu.name) + ", " + text(widths));
      Shapes const shapes(widths);
      for (auto const& needs : all) {
        auto const plan = make_tile_plan(shapes.subject, needs, shapes.arena, gpu.limits());
        EXPECT_TRUE(plan.packs == 1 || plan.packs == 2 || plan.packs == 4) << plan.packs;
        EXPECT_GE(plan.warps, 4);
        EXPECT_LE(plan.warps, 16);
        EXPECT_LE(plan.shared_bytes, gpu.shared_per_block);
        int const per_multiprocessor = plan.blocks / gpu.multiprocessors;
        EXPECT_EQ(plan.blocks, per_multiprocessor * gpu.multiprocessors);
        EXPECT_GE(per_multiprocessor, 1);
        EXPECT_LE(per_multiprocessor * plan.shared_bytes, gpu.shared_per_multiprocessor);
        EXPECT_LE(per_multiprocessor * plan.warps * 32, gpu.threads_per_multiprocessor);
        EXPECT_EQ(plan.scratch_floats,
                  std::int64_t{scratch_rows(shapes.subject, needs)} * plan.packs * 32);
        // What is said to be shared is what the shared bytes are for.
        std::int64_t const bytes =
            (plan.shared_weights ? shapes.arena.bytes : 0) +
            (plan.shared_scratch
                 ? plan.warps * plan.scratch_floats * static_cast<std::int64_t>(sizeof(float))
                 : 0);
        EXPECT_EQ(plan.shared_bytes, bytes);
      }
    }
  }
}

TEST(TilePlan, KeepsSmallNetworksOnChip) {
  struct Row {
    Gpu gpu;
    std::vector<int> widths;
    int packs;
    bool weights;
    bool scratch;
  };
  Row const table[] = {
      {kA100, kCensus, 1, true, true}, {kH200, kCensus, 2, true, true},
      {kB200, kCensus, 2, true, true}, {kL4, kCensus, 1, true, true},
      {kH200, kAdult, 1, true, true},  {kA100, kAdult, 1, true, true},
      {kH200, kHuge, 2, false, false}, {kL4, kThousand, 2, false, false},
  };
  for (auto const& row : table) {
    SCOPED_TRACE(std::string(row.gpu.name) + ", " + text(row.widths));
    Shapes const shapes(row.widths);
    auto const plan =
        make_tile_plan(shapes.subject, ProbeTiles::kNeeds, shapes.arena, row.gpu.limits());
    EXPECT_EQ(plan.packs, row.packs);
    EXPECT_EQ(plan.shared_weights, row.weights);
    EXPECT_EQ(plan.shared_scratch, row.scratch);
  }
}

TEST(RoundPlan, FitsItsGpu) {
  std::vector<Gpu> gpus(std::begin(kGpus), std::end(kGpus));
  gpus.push_back({"with hardly any shared memory", 2, 2 << 10, 3 << 10, 2048});
  int on_chip = 0;
  for (auto const& gpu : gpus) {
    for (auto const& widths : {kCensus, kAdult, kMiddle, kThousand}) {
      Shapes shapes(widths);
      for (int const variants : {1, 2, 3, 4, 9, 32, 90}) {
        shapes.subject.variants = variants;
        for (int const lanes : {1, 100, 1000, 8000, 9000, 65536, 1 << 20, 1 << 22}) {
          SCOPED_TRACE(std::string(gpu.name) + ", " + text(widths) + ", " +
                       std::to_string(variants) + " variants, " + std::to_string(lanes));
          auto const plan = make_round_plan(shapes.subject, {GradientTiles::kNeeds, 6},
                                            shapes.arena, gpu.limits(), lanes);
          if (!plan.on_chip) continue;
          ++on_chip;
          EXPECT_LE(plan.shared_bytes, gpu.shared_per_block);
          EXPECT_GE(plan.teams, 1);
          EXPECT_GE(plan.warps, 1);
          EXPECT_LE(plan.teams * plan.warps, kMostRoundWarps);
          EXPECT_GE(plan.window, 1);
          EXPECT_LE(plan.window, kMostWindow);
          int const windows = (lanes + plan.window - 1) / plan.window;
          // The last window's lanes may read a pack of places beyond it.
          EXPECT_LE(std::int64_t{windows} * plan.places,
                    round_places(gpu.limits(), lanes) + kMostWindow);
          if (plan.members != kSpreadMembers) {
            EXPECT_EQ(plan.window % 32, 0);
          }
        }
      }
    }
  }
  EXPECT_GT(on_chip, 100);
}

TEST(RoundPlan, FitsForAnyNumberOfLanesOrForNone) {
  Shapes const shapes(kHundred);
  int changes = 0;
  bool before = false;
  for (int shared = 120 << 10; shared < 160 << 10; shared += 64) {
    SCOPED_TRACE(shared);
    Gpu const gpu{"any", 132, shared, shared, 2048};
    auto const fits = [&](int lanes) {
      return make_round_plan(shapes.subject, {GradientTiles::kNeeds}, shapes.arena, gpu.limits(),
                             lanes)
          .on_chip;
    };
    bool const many = fits(1 << 22);
    for (int const lanes : {10'000, 16'000, 20'000, 50'000, 65'536, 1 << 20})
      ASSERT_EQ(fits(lanes), many) << lanes;
    changes += many != before ? 1 : 0;
    before = many;
  }
  EXPECT_EQ(changes, 1);
}

TEST(RoundPlan, EvaluatesMembersTogether) {
  struct Row {
    std::vector<int> widths;
    int variants;
    int lanes;
    int members;
    int teams;
    int warps;
  };
  constexpr int kNotOnChip = -1;
  Row const table[] = {
      {kCensus, 4, 1000, kSpreadMembers, 8, 1},
      {kCensus, 40, 1000, 4, 1, 3},
      {kCensus, 4, 1 << 20, 4, 8, 1},
      {kCensus, 9, 1 << 20, 2, 8, 1},
      {kCensus, 2, 1 << 20, 2, 8, 1},
      {kAdult, 9, 1 << 20, 2, 5, 2},
      {kHundred, 4, 1000, kSpreadMembers, 4, 3},
      {kHundred, 4, 65536, 2, 2, 6},
      {kThousand, 4, 1 << 20, kNotOnChip, 0, 0},
  };
  for (auto const& row : table) {
    SCOPED_TRACE(text(row.widths) + ", " + std::to_string(row.variants) + " variants, " +
                 std::to_string(row.lanes));
    Shapes shapes(row.widths);
    shapes.subject.variants = row.variants;
    auto const plan = make_round_plan(shapes.subject, {GradientTiles::kNeeds}, shapes.arena,
                                      kH200.limits(), row.lanes);
    ASSERT_EQ(plan.on_chip ? plan.members : kNotOnChip, row.members);
    if (!plan.on_chip) continue;
    EXPECT_EQ(plan.teams, row.teams);
    EXPECT_EQ(plan.warps, row.warps);
  }
}

TEST(WideChunk, FitsItsWorkspace) {
  for (auto const& widths : {kCensus, kMiddle, kThousand, kHuge}) {
    SCOPED_TRACE(text(widths));
    Shapes shapes(widths);
    for (int const variants : {2, 90, 1 << 20}) {
      SCOPED_TRACE(variants);
      shapes.subject.variants = variants;
      for (std::int64_t const bytes : {std::int64_t{1}, std::int64_t{1} << 20, kWideWorkspace}) {
        std::int64_t const floats = wide_floats(shapes.subject, bytes);
        for (std::int64_t const lanes : {1, 5, 1000, 1 << 22}) {
          SCOPED_TRACE(lanes);
          for (int const members : {variants, 17, shapes.subject.movable_count + 1}) {
            auto const needs = wide_needs(shapes.subject, members, 6);
            auto const chunk = wide_chunk(needs, lanes, members, floats);
            EXPECT_LE(chunk.lanes * needs.per_lane + chunk.rows * needs.per_row, floats);
            EXPECT_GE(chunk.lanes, 4);
            EXPECT_LE(chunk.lanes, lanes + 3);
            EXPECT_GE(chunk.rows, 4);
            EXPECT_LE(chunk.rows, std::int64_t{chunk.lanes} * members);
            EXPECT_EQ(chunk.lanes % 4 + chunk.rows % 4, 0);
          }
          auto const needs = wide_gradient_needs(shapes.subject);
          auto const chunk = wide_chunk(needs, lanes, 2, floats);
          EXPECT_LE(chunk.rows * needs.per_row, floats);
          EXPECT_EQ(chunk.rows, 2 * chunk.lanes);
          EXPECT_EQ(chunk.lanes % 4, 0);
        }
      }
    }
  }
}

TEST(WideChunk, FillsALargeGpuFromTheUsualWorkspace) {
  // Enough rows for two blocks of 128 x 128 on each of 148 multiprocessors in every hidden layer.
  Shapes const shapes(kHuge);
  auto const needs = wide_needs(shapes.subject, 10, 6);
  auto const chunk = wide_chunk(needs, 1 << 22, 10, wide_floats(shapes.subject, kWideWorkspace));
  EXPECT_GE(chunk.rows / 128 * (4096 / 128), 2 * 148);
}

}  // namespace
}  // namespace fairlane
