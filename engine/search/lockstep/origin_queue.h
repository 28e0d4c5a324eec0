// Origins of one kind that wait for a wave, in memory that never moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlane {

/// Rows that are taken in any order. Each waits at a place below size(); its row is in a slot,
/// which it keeps when its place changes.
class OriginQueue {
 public:
  /// width  attributes of a row
  /// room   rows that wait at most, below 2^32
  OriginQueue(std::size_t width, std::size_t room) : width_(width), room_(room) {}

  std::size_t size() const { return cells_.size(); }
  std::size_t room() const { return room_; }

  /// Adds so many places, which get their rows and cells afterwards; no more than there is room.
  void extend(std::size_t count);
  std::int32_t* row(std::size_t place) { return in_slot(slots_[place]); }
  std::int32_t const* row(std::size_t place) const { return taken_row(slots_[place]); }
  /// The part of the domain that its row lies in.
  std::uint16_t& cell(std::size_t place) { return cells_[place]; }
  void prefetch_cell(std::size_t place) const { __builtin_prefetch(&cells_[place]); }

  /// Takes a row out and returns its slot, where it stays until that is released. The last place's
  /// row takes over its place.
  std::uint32_t take(std::size_t place);
  std::int32_t const* taken_row(std::uint32_t slot) const { return in_slot(slot); }
  void release(std::uint32_t slot) { free_.push_back(slot); }

 private:
  static constexpr std::uint32_t kBlock = 1U << 12;  // rows that are allocated at once

  std::int32_t* in_slot(std::uint32_t slot) const {
    return &blocks_[slot / kBlock][slot % kBlock * width_];
  }

  std::size_t width_;
  std::size_t room_;
  std::vector<std::uint16_t> cells_;  // [size]
  std::vector<std::uint32_t> slots_;  // [size]
  std::vector<std::uint32_t> free_;   // slots that were released
  std::uint32_t used_ = 0;            // slots that were ever in use, the first ones
  std::vector<std::unique_ptr<std::int32_t[]>> blocks_;  // [kBlock][width] each
};

}  // namespace fairlane
