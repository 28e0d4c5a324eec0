// Tiles on the host as a device: networks packed as widely as its packs compute them.
#include "kernels/device/host_device.h"

#include <gtest/gtest.h>

#include <random>

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

}  // namespace
}  // namespace fairlane
