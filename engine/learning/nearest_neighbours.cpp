#include "engine/learning/nearest_neighbours.h"

#include <algorithm>
#include <array>
#include <nanoflann.hpp>
#include <utility>

namespace fairlane {
namespace {

constexpr std::size_t kMostNeighbours = 15;
constexpr std::size_t kRowsOfLeaf = 10;
constexpr float kOtherCategory = 2.0F;  // squared distance of two one-hot rows

}  // namespace

struct NearestNeighbours::Tree {
  /// Rows as nanoflann reads them.
  struct RowCloud {
    MixedRows rows;

    std::size_t kdtree_get_point_count() const { return rows.count(); }
    float kdtree_get_pt(std::size_t row, std::size_t column) const {
      return rows.values[row * rows.columns() + column];
    }
    template <class Box>
    bool kdtree_get_bbox(Box& /*box*/) const {
      return false;  // nanoflann finds it
    }
  };

  /// The distance of MixedRows, as nanoflann asks for it: a box on the other side of a split has no
  /// row of the same category, so that the bound holds for categories, too.
  class MixedDistance {
   public:
    using ElementType = float;
    using DistanceType = float;

    explicit MixedDistance(RowCloud const& cloud) : rows_(cloud.rows) {}

    float evalMetric(float const* row, std::size_t other, std::size_t columns) const {
      float sum = 0.0F;
      float const* const values = &rows_.values[other * columns];
      for (std::size_t c = 0; c < columns; ++c) sum += accum_dist(row[c], values[c], c);
      return sum;
    }
    float accum_dist(float a, float b, std::size_t column) const {
      if (rows_.is_category[column] != 0) return a == b ? 0.0F : kOtherCategory;
      return (a - b) * (a - b);
    }

   private:
    MixedRows const& rows_;
  };

  Tree(MixedRows rows, std::vector<std::int32_t> of_rows)
      : cloud{std::move(rows)},
        labels(std::move(of_rows)),
        index(static_cast<int>(cloud.rows.columns()), cloud,
              nanoflann::KDTreeSingleIndexAdaptorParams(kRowsOfLeaf)) {}

  RowCloud cloud;
  std::vector<std::int32_t> labels;
  nanoflann::KDTreeSingleIndexAdaptor<MixedDistance, RowCloud> index;
};

NearestNeighbours::NearestNeighbours(MixedRows rows, std::vector<std::int32_t> labels)
    : tree_(std::make_unique<Tree>(std::move(rows), std::move(labels))) {}
NearestNeighbours::~NearestNeighbours() = default;
NearestNeighbours::NearestNeighbours(NearestNeighbours&&) noexcept = default;
NearestNeighbours& NearestNeighbours::operator=(NearestNeighbours&&) noexcept = default;

void NearestNeighbours::vote(float const* row, float* shares) const {
  std::size_t const count = std::min(kMostNeighbours, tree_->labels.size());
  std::array<std::uint32_t, kMostNeighbours> near{};
  std::array<float, kMostNeighbours> distances{};
  tree_->index.knnSearch(row, count, near.data(), distances.data());
  for (std::size_t i = 0; i < count; ++i)
    shares[tree_->labels[near[i]]] += 1.0F / static_cast<float>(count);
}

}  // namespace fairlane
