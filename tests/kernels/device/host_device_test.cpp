// Tiles on the host as a device: networks packed as widely as its packs compute them. Which stage a
// window's team goes through next.
#include "kernels/device/host_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "kernels/device/device_subject.h"
#include "tests/engine/search/small_subject.h"
#include "tests/models/expect_error.h"

namespace fairlane {
namespace {

/// Logits [rows][variants][outputs] of random rows, from a network packed in tiles of so many
/// outputs.
std::vector<float> member_logits(int tile) {
  constexpr int kRows = 50;
  SmallShape shape;
  shape.widths = {9, 5, 3};
  SmallSubject const subject(shape);
  PackedSubject const packed(subject.view, tile, 4);
  Subject const& s = packed.get();
  std::mt19937 random(7);
  std::vector<std::int32_t> x(static_cast<std::size_t>(s.columns) * kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    auto const row = subject.random_row(random);
    for (std::size_t c = 0; c < row.size(); ++c) {
      x[c * kRows + i] = row[static_cast<std::size_t>(packed.attribute_of()[c])];
    }
  }
  HostDevice device(1, 1 << 20);
  DeviceSubject const on_device(packed, device);
  TilePlan const plan =
      make_tile_plan(s, MemberTiles::kNeeds, on_device.arena(), device.properties().limits);
  std::vector<float> logits(static_cast<std::size_t>(s.variants * s.network.outputs()) * kRows);
  device.run(MemberTiles{x.data(), kRows, logits.data()}, plan, {kRows, nullptr});
  return logits;
}

TEST(HostTiles, DoNotDependOnHowTheNetworkIsPacked) {
  EXPECT_EQ(member_logits(kMaxTile), member_logits(4));
}

TEST(HostTiles, RefuseWhatTheirPacksDoNotCompute) {
  expect_error(ExitCode::kBug, {"tiles of 9 outputs", "at most 8"},
               [] { member_logits(kWidestTile); });
}

/// What a team chooses, and how many lanes it lists, where so many lanes stand before each stage.
std::pair<Stage, int> chosen(int stale, int unknown, int ready, int enough) {
  constexpr int kResting = 3;
  Window w;
  int const lanes = stale + unknown + ready + kResting;
  std::vector<std::byte> memory(
      static_cast<std::size_t>(lay_out_window(lanes, SoloTeam::kTake, nullptr, w)));
  lay_out_window(lanes, SoloTeam::kTake, memory.data(), w);
  w.lane = 1000;
  w.count = lanes;
  Stage* next = std::fill_n(w.stage, kResting, Stage::kResting);
  next = std::fill_n(next, ready, Stage::kReady);
  next = std::fill_n(next, stale, Stage::kStale);
  std::fill_n(next, unknown, Stage::kUnknown);
  int n = -1;
  Stage const stage = SoloTeam{}.choose(w, enough, n);
  for (int i = 0; i < n; ++i) EXPECT_EQ(w.stage[w.list[i] - w.lane], stage);
  return {stage, n};
}

TEST(Window, GoesOnWithItsFullestStage) {
  EXPECT_EQ(chosen(4, 5, 6, kFullest), std::pair(Stage::kReady, 6));
  EXPECT_EQ(chosen(4, 6, 5, kFullest), std::pair(Stage::kUnknown, 6));
  EXPECT_EQ(chosen(6, 5, 4, kFullest), std::pair(Stage::kStale, 6));
  EXPECT_EQ(chosen(9, 0, 50, kFullest), std::pair(Stage::kReady, SoloTeam::kTake));
  EXPECT_EQ(chosen(0, 0, 1, kFullest), std::pair(Stage::kReady, 1));
  EXPECT_EQ(chosen(0, 0, 0, kFullest), std::pair(Stage::kResting, 0));
}

TEST(Window, GoesOnWithTheRareStageOnceEnoughLanesWait) {
  EXPECT_EQ(chosen(5, 0, 50, 5), std::pair(Stage::kStale, 5));
  EXPECT_EQ(chosen(5, 40, 40, 5), std::pair(Stage::kStale, 5));
  EXPECT_EQ(chosen(4, 7, 50, 5), std::pair(Stage::kReady, SoloTeam::kTake));
  EXPECT_EQ(chosen(4, 0, 3, 5), std::pair(Stage::kStale, 4));
}

}  // namespace
}  // namespace fairlane
