// Packs that load weights by the vector, as a warp does: every load is aligned, and the bits are
// those of other packs.
#include <gtest/gtest.h>

#include "kernels/core/lane_tiles.h"
#include "tests/kernels/core/vector_pack.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {
namespace {

template <class P>
std::vector<float> answers(PackedSubject const& packed, std::vector<naive::Row> const& rows) {
  Lanes const lanes(packed, rows);
  ScratchMemory const scratch(packed.get(), 1);
  int const outputs = packed.get().network.outputs();
  int const columns = packed.get().columns;
  LaneArray<float> all(outputs + columns, lanes.stride);
  LaneTiles<P, 1>::logits(packed.get(), lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                          all.data(), lanes.stride);
  LaneTiles<P, 1>::gradients(packed.get(), {GradientKind::kMargin, 1.0F}, lanes.x.data(),
                             lanes.stride, lanes.count, scratch.get(), all.row(outputs),
                             lanes.stride);
  std::vector<float> values;
  for (int r = 0; r < outputs + columns; ++r)
    values.insert(values.end(), all.row(r), all.row(r) + lanes.count);
  return values;
}

TEST(WeightVectors, HaveTheSameBits) {
  std::uint32_t seed = 900;
  for (int width = 1; width <= 33; ++width) {
    RandomSubject::Shape shape;
    shape.attributes = 3 + width % 7;
    shape.counts = {3};
    shape.widths = {width, 1 + (width * 7) % 19, 1 + width % 3};
    shape.seed = ++seed;
    SCOPED_TRACE("seed " + std::to_string(shape.seed));
    RandomSubject subject(shape);
    auto const rows = subject.rows(5);
    PackedSubject const packed(subject.view, kWidestTile, kWeightVector);
    PackedSubject const plain(subject.view, 1);
    ASSERT_EQ(answers<VectorPack>(packed, rows), answers<ScalarPack>(plain, rows));
  }
}

TEST(WeightVectors, TilesStartWhereAVectorMay) {
  for (int outputs = 1; outputs <= 70; ++outputs) {
    int const tile = best_tile(outputs, kWidestTile, kWeightVector);
    EXPECT_TRUE(tile >= outputs || tile % kWeightVector == 0) << outputs << " outputs";
    EXPECT_LE(tile, kWidestTile);
  }
}

}  // namespace
}  // namespace fairlane
