// The record of visited inputs of one device: memory, growth, and the way to the host.
#pragma once

#include <atomic>

#include "kernels/device/device.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Owns the memory of a VisitSet. Of several devices that search together each has a table with all
/// that it visited; exchange() brings every input to the table of the part that it belongs to,
/// which alone counts it and hands it out.
class DeviceTable {
 public:
  /// label_bits   bits of all labels of a group together, 0: not kept
  /// limit_bytes  never grow beyond
  /// part, parts  which of how many tables this one is
  /// Throws Error(kMemory).
  DeviceTable(Device& device, KeyLayout const& keys, int variants, int label_bits,
              std::uint64_t limit_bytes, int part = 0, int parts = 1);

  /// Makes room for that many more inputs. False when there is none: they must go elsewhere. May
  /// wait for the device.
  bool make_room(std::uint64_t inserts);
  /// Whether make_room would find room, for which it grows.
  bool can_take(std::uint64_t inserts);
  /// Grows at once to hold about that many inputs, as far as memory allows.
  void reserve(double inputs);
  /// Tells the other table what this one has learned, since it last did, of the inputs that belong
  /// to it, or all that it knows of them where memory is short; hands what that has no room for to
  /// the sink. No kernel runs on either device meanwhile. Returns the inputs that it told of.
  std::uint64_t exchange(DeviceTable& other, VisitSink const& overflow);

  VisitSet const& set() const { return set_; }
  /// Those that belong to this part and whose finders are below the cut, for kernels.
  CountedVisits visits_below(std::uint64_t cut) const { return {set_, part_, parts_, cut}; }
  /// Inputs that belong to this part. Waits for the device.
  std::uint64_t size() const;
  /// IDIs in the table when the host last waited for the device. Any thread.
  std::uint64_t last_hits() const { return last_hits_.load(std::memory_order_relaxed); }
  /// Waits for the device.
  void refresh() { last_hits_.store(counter(1), std::memory_order_relaxed); }
  std::uint64_t bytes() const { return (slots_.size() + told_.size()) * sizeof(std::uint64_t); }
  /// Hands out the inputs that belong to this part.
  void collect(VisitSink const& sink) const;

 private:
  std::uint64_t counter(int which) const;
  std::uint64_t room() const { return set_.capacity - set_.capacity / 4; }
  bool grow(std::uint64_t capacity);
  /// Zeros for told_, or nothing where there is no memory for them.
  DeviceArray<std::uint64_t> told_of(std::uint64_t capacity) const;
  /// Calls take(slots, count) with the slots that belong to a part, on the host, some at a time.
  /// told  leaves out what that part was told, and notes it; null: neither
  template <class Take>
  void for_each_owned(int part, std::uint64_t* told, Take const& take) const;
  /// Slots as visits.
  void hand_out(std::uint64_t const* slots, std::size_t count, VisitSink const& sink) const;

  Device& device_;
  int part_;
  int parts_;
  std::uint64_t limit_bytes_;
  std::uint64_t max_capacity_;
  std::uint64_t bound_ = 0;  // inputs that may have been recorded
  std::atomic<std::uint64_t> last_hits_{0};
  VisitSet set_;
  DeviceArray<std::uint64_t> slots_;
  DeviceArray<std::uint64_t> told_;  // [capacity] finders as their owners know them; may be none
  DeviceArray<std::uint64_t> counters_;
};

}  // namespace fairlane
