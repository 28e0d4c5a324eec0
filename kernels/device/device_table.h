// The record of visited inputs of one device: memory, growth, and the way to the host.
#pragma once

#include "kernels/device/device.h"

namespace fairlane {

/// Owns the memory of a VisitSet.
class DeviceTable {
 public:
  /// label_bits   bits of all labels of a group together; dropped when a slot has no room for them
  /// limit_bytes  never grow beyond
  /// Throws Error(kMemory).
  DeviceTable(Device& device, KeyLayout const& keys, int variants, int label_bits,
              std::uint64_t limit_bytes);

  /// Makes room for that many more inputs. False when there is none: they must go elsewhere. May wait for the device.
  bool make_room(std::uint64_t inserts);
  /// Grows at once to hold about that many inputs, as far as memory allows.
  void reserve(double inputs);

  VisitSet const& set() const { return set_; }
  bool holds_labels() const { return set_.label_bits > 0; }
  /// Inputs. Waits for the device.
  std::uint64_t size() const { return counter(0); }
  /// IDIs among them when the host last waited for the device.
  std::uint64_t last_hits() const { return last_hits_; }
  /// Waits for the device.
  void refresh() { last_hits_ = counter(1); }
  std::uint64_t bytes() const { return slots_.size() * sizeof(std::uint64_t); }
  void collect(VisitSink const& sink) const;

 private:
  std::uint64_t counter(int which) const;
  std::uint64_t room() const { return set_.capacity - set_.capacity / 4; }
  bool grow(std::uint64_t capacity);

  Device& device_;
  std::uint64_t max_capacity_;
  std::uint64_t bound_ = 0;  // inputs that may have been recorded
  std::uint64_t last_hits_ = 0;
  VisitSet set_;
  DeviceArray<std::uint64_t> slots_;
  DeviceArray<std::uint64_t> counters_;
};

}  // namespace fairlane
