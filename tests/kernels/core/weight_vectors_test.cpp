// Packs that load weights by the vector, as a warp does: every load is aligned, and the bits are
// those of other packs.
#include <gtest/gtest.h>

#include "kernels/core/lane_tiles.h"
#include "kernels/core/member_logits.h"
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

/// Logits [row][variant][output] of every member of the rows' similar sets, one of them at a time.
std::vector<float> logits_of_members(PackedSubject const& packed, std::vector<naive::Row> rows) {
  Subject const& s = packed.get();
  ScratchMemory const scratch(s, 1);
  int const outputs = s.network.outputs();
  std::vector<float> all(rows.size() * static_cast<std::size_t>(s.variants * outputs));
  for (int v = 0; v < s.variants; ++v) {
    for (auto& row : rows) packed.set_variant(v, row.data());
    Lanes const lanes(packed, rows);
    LaneArray<float> logits(outputs, lanes.stride);
    LaneTiles<ScalarPack, 1>::logits(s, lanes.x.data(), lanes.stride, lanes.count, scratch.get(),
                                     logits.data(), lanes.stride);
    for (int i = 0; i < lanes.count; ++i) {
      for (int o = 0; o < outputs; ++o)
        all[static_cast<std::size_t>((i * s.variants + v) * outputs + o)] = logits(o, i);
    }
  }
  return all;
}

/// The same by MemberLogits, kM at a time; before them a row's own, which must be those of its
/// variant. Nothing is written behind the memory that it asks for.
template <class P, int kM>
std::vector<float> logits_together(PackedSubject const& packed, Lanes const& lanes,
                                   std::vector<std::uint32_t> const& own) {
  constexpr std::size_t kGuard = 64;
  Subject const& s = packed.get();
  int const outputs = s.network.outputs();
  MemberScratch m;
  auto const floats = static_cast<std::size_t>(lay_out_members(s, kM, 1, nullptr, m));
  LaneArray<float> memory(1, static_cast<long>(floats + kGuard));
  std::fill(memory.data() + floats, memory.data() + floats + kGuard, -7.0F);
  lay_out_members(s, kM, 1, memory.data(), m);
  MemberLogits<P, kM> const source{s, m, lanes.x.data(), lanes.stride, nullptr, own.data()};
  std::vector<float> all;
  for (int i = 0; i < lanes.count; ++i) {
    auto const take = [&](float const* z) {
      for (int o = 0; o < outputs; ++o) all.push_back(z[o * source.stride()]);
    };
    source.load(i);
    take(source.own());
    std::vector<float> const mine(all.end() - outputs, all.end());
    all.resize(all.size() - static_cast<std::size_t>(outputs));
    for (int v = 0; v < s.variants; ++v) take(source.variant(v));
    auto const at = static_cast<std::ptrdiff_t>(i * s.variants) + own[static_cast<std::size_t>(i)];
    EXPECT_EQ(mine,
              std::vector<float>(all.begin() + at * outputs, all.begin() + (at + 1) * outputs));
  }
  for (std::size_t g = 0; g < kGuard; ++g) EXPECT_EQ(memory.data()[floats + g], -7.0F);
  return all;
}

TEST(MemberLogits, AreThoseOfEveryMemberByItself) {
  std::uint32_t seed = 9000;
  for (auto const& widths :
       std::vector<std::vector<int>>{{1}, {12}, {5, 12}, {8, 5, 1}, {15, 16, 7, 11}, {3, 2, 12}}) {
    for (auto const& counts : std::vector<std::vector<int>>{{2}, {4}, {3, 3}}) {
      for (bool const encoded : {false, true}) {
        RandomSubject::Shape shape;
        shape.widths = widths;
        shape.counts = counts;
        shape.encoded = encoded;
        shape.seed = ++seed;
        SCOPED_TRACE("seed " + std::to_string(shape.seed));
        RandomSubject subject(shape);
        PackedSubject const packed(subject.view, kWidestTile, kWeightVector);
        auto const rows = subject.rows(7);
        Lanes const lanes(packed, rows);
        std::vector<std::uint32_t> own(static_cast<std::size_t>(lanes.stride));
        for (std::size_t i = 0; i < rows.size(); ++i)
          own[i] = static_cast<std::uint32_t>(packed.variant_of(rows[i].data()));
        auto const expected = logits_of_members(PackedSubject(subject.view, 1), rows);
        ASSERT_EQ((logits_together<VectorPack, 2>(packed, lanes, own)), expected);
        ASSERT_EQ((logits_together<VectorPack, 4>(packed, lanes, own)), expected);
      }
    }
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
