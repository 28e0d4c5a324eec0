// The nearest rows of a table, by whose labels a row is labelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlane {

/// Rows of numbers and categories. The square of their distance is the sum of the squares of the
/// numbers' differences, and 2 for each category that differs, as between one-hot rows.
struct MixedRows {
  std::vector<float> values;              // [rows][columns]
  std::vector<std::uint8_t> is_category;  // [columns]

  std::size_t columns() const { return is_category.size(); }
  std::size_t count() const { return values.size() / columns(); }
};

/// The rows of a table in a k-d tree.
class NearestNeighbours {
 public:
  /// labels: [rows.count()] from 0, at least one
  NearestNeighbours(MixedRows rows, std::vector<std::int32_t> labels);
  ~NearestNeighbours();
  NearestNeighbours(NearestNeighbours&&) noexcept;
  NearestNeighbours& operator=(NearestNeighbours&&) noexcept;

  /// Adds to shares [classes] which part of the 15 nearest rows has each label; which of those that
  /// are as far as the 15th count is a function of the table alone. row: [columns]. Any thread.
  void vote(float const* row, float* shares) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace fairlane
