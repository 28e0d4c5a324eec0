// Origins of one kind that wait for a wave, in memory that never moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlane {

/// What is known of a row beside its codes.
/// cell    the part of the domain that it lies in
/// family  the same for rows that come from one origin
struct OriginMark {
  std::uint16_t cell = 0;
  std::uint32_t family = 0;

  bool operator==(OriginMark const&) const = default;
};

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

  std::size_t size() const { return places_.size(); }
  std::size_t room() const { return room_; }

  void clear() { *this = OriginQueue(width_, room_, code_bytes_); }
  /// Adds so many places, which get their rows and marks afterwards; no more than there is room.
  void extend(std::size_t count);
  /// Any thread, for places of its own. row [width]
  void put(std::size_t place, std::int32_t const* row, OriginMark mark);
  /// row [width]
  void get(std::size_t place, std::int32_t* row) const { get_taken(places_[place].slot, row); }
  OriginMark mark(std::size_t place) const { return places_[place].mark; }
  void prefetch_mark(std::size_t place) const { __builtin_prefetch(&places_[place]); }

  /// Takes a row out and returns its slot, where it stays until that is released. The last place's
  /// row takes over its place.
  std::uint32_t take(std::size_t place);
  void get_taken(std::uint32_t slot, std::int32_t* row) const;
  void release(std::uint32_t slot) { free_.push_back(slot); }

 private:
  struct Place {
    OriginMark mark;
    std::uint32_t slot = 0;
  };
  static constexpr std::uint32_t kBlock = 1U << 12;  // rows that are allocated at once

  std::size_t row_bytes() const { return width_ * static_cast<std::size_t>(code_bytes_); }
  /// Calls use(codes) with the row in a slot, as what its codes are stored in.
  template <class Use>
  void use_slot(std::uint32_t slot, Use const& use) const;

  std::size_t width_;
  std::size_t room_;
  int code_bytes_;
  std::vector<Place> places_;                         // [size]
  std::vector<std::uint32_t> free_;                   // slots that were released
  std::uint32_t used_ = 0;                            // slots that were ever in use, the first ones
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // [kBlock][width] each
};

}  // namespace fairlane
