// Rows from their keys, and their attributes as bytes: cells of a CSV, or fields of an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_codec.h"
#include "engine/results/instance_columns.h"

namespace fairlane {

/// How numbers are written.
enum class CellForm { kText, kBinary };

/// Appends numbers: as text, each with a comma behind it, or as the columns' types.
/// values   [count]
/// columns  [count]
void append_cells(std::string& bytes, CellForm form, std::int32_t const* values,
                  InstanceColumn const* columns, std::size_t count);
/// Appends a number of 0 or more as that type.
void append_number(std::string& bytes, NpyType type, std::uint32_t value);

/// Rows and their bytes. The last attributes of all rows ("tails") are decoded once into a table,
/// and neighbours in canonical order mostly share what precedes them.
class RowDecoder {
 public:
  /// instances  that are written: a table for few of them does not pay
  RowDecoder(TestSubject const& subject, RowCodec const& codec, InstanceColumns const& columns,
             CellForm form, std::int64_t instances);

  /// The bytes of a batch's rows.
  /// head  [count] index of the row's head in heads
  /// tail  [count] number of its tail
  struct Decoded {
    std::vector<std::uint32_t> head;
    std::vector<std::uint32_t> tail;
    std::vector<std::string> heads;
  };
  /// keys  [count][codec.words()]
  void decode(std::uint64_t const* keys, std::size_t count, Decoded& out) const;
  /// rows  [count][attributes], out
  void decode_rows(std::uint64_t const* keys, std::size_t count, std::int32_t* rows) const;

  std::string_view tail_bytes(std::uint32_t tail) const {
    return {bytes_.data() + offset_[tail], offset_[tail + 1] - offset_[tail]};
  }

 private:
  /// Calls with_tail(i, head, tail) for a row whose head is that of the row before, and
  /// whole(i, key, tail) for the others.
  template <class WithTail, class Whole>
  void for_each(std::uint64_t const* keys, std::size_t count, WithTail const& with_tail,
                Whole const& whole) const;

  RowCodec const& codec_;
  InstanceColumns const& columns_;
  CellForm form_;
  std::size_t attributes_;
  std::size_t words_;
  std::size_t first_;  // first attribute of the tail
  std::uint64_t tails_ = 1;
  std::vector<std::int32_t> rows_;     // [tails][attributes - first]
  std::vector<std::uint32_t> offset_;  // [tails + 1] into bytes_
  std::string bytes_;
};

}  // namespace fairlane
