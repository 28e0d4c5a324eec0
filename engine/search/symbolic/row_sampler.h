// Random rows for surrogates: every column from the table's marginal, or uniform where there is no
// table.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/search/symbolic/decision_tree.h"
#include "engine/subject/subject.h"

namespace fairlane {

/// Draws rows. Every one is a pure function of (stream, number) and the run's seed. Any thread.
class RowSampler {
 public:
  RowSampler(TestSubject const& subject, std::uint64_t run_seed);

  /// Draws rows [first, first + count) of a stream, each column on its own.
  /// near  [attributes] a row, of which every drawn row keeps each column with probability one
  ///       half; null: none
  /// rows  [count][attributes] out
  void draw(std::uint32_t stream, std::int64_t first, std::int64_t count, std::int32_t const* near,
            std::int32_t* rows) const;

 private:
  std::int32_t value(std::size_t attribute, std::uint32_t word) const;

  TestSubject const& subject_;
  Dataset const* data_;               // null: uniform
  std::vector<std::uint32_t> range_;  // number of values
  std::vector<std::vector<std::int32_t> const*>
      list_;  // of an attribute under test: its compared values
  std::uint64_t run_seed_;
};

/// Labels of rows [count][attributes]; kUndefinedLabel where the output is not finite, or
/// constraints exclude the row. Any thread.
void label_rows(Backend& backend, std::int32_t const* rows, std::int64_t count,
                std::uint8_t* labels);

/// Moves the rows whose label is defined to the front: what a surrogate is fitted to.
LabelledRows defined_rows(std::int32_t* rows, std::uint8_t* labels, std::int64_t count,
                          int attributes);

}  // namespace fairlane
