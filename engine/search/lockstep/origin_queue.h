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
  /// width       attributes of a row
  /// room        rows that wait at most, below 2^32
  /// code_bytes  that hold every code, see bytes_for()
  OriginQueue(std::size_t width, std::size_t room, int code_bytes)
      : width_(width), room_(room), code_bytes_(code_bytes) {}

  /// 1, 2 or 4, as signed codes from low to high take.
  static int bytes_for(std::int32_t low, std::int32_t high);

  std::size_t size() const { return cells_.size(); }
  std::size_t room() const { return room_; }

  void clear() { *this = OriginQueue(width_, room_, code_bytes_); }
  /// Adds so many places, which get their rows and cells afterwards; no more than there is room.
  void extend(std::size_t count);
  /// Any thread, for places of its own. row [width], cell: the part of the domain that it lies in
  void put(std::size_t place, std::int32_t const* row, std::uint16_t cell);
  /// row [width]
  void get(std::size_t place, std::int32_t* row) const { get_taken(slots_[place], row); }
  std::uint16_t cell(std::size_t place) const { return cells_[place]; }
  void prefetch_cell(std::size_t place) const { __builtin_prefetch(&cells_[place]); }

  /// Takes a row out and returns its slot, where it stays until that is released. The last place's
  /// row takes over its place.
  std::uint32_t take(std::size_t place);
  void get_taken(std::uint32_t slot, std::int32_t* row) const;
  void release(std::uint32_t slot) { free_.push_back(slot); }

 private:
  static constexpr std::uint32_t kBlock = 1U << 12;  // rows that are allocated at once

  std::size_t row_bytes() const { return width_ * static_cast<std::size_t>(code_bytes_); }
  /// Calls use(codes) with the row in a slot, as what its codes are stored in.
  template <class Use>
  void use_slot(std::uint32_t slot, Use const& use) const;

  std::size_t width_;
  std::size_t room_;
  int code_bytes_;
  std::vector<std::uint16_t> cells_;                  // [size]
  std::vector<std::uint32_t> slots_;                  // [size]
  std::vector<std::uint32_t> free_;                   // slots that were released
  std::uint32_t used_ = 0;                            // slots that were ever in use, the first ones
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // [kBlock][width] each
};

}  // namespace fairlane
