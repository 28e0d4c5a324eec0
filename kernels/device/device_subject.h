// A packed subject in the memory of a device.
#pragma once

#include "kernels/device/device.h"
#include "kernels/layout/plan.h"

namespace fairlane {

/// Copies a subject and its column map to a device.
class DeviceSubject {
 public:
  /// with_weights: otherwise the arena's layers have only shapes. Throws Error(kMemory).
  DeviceSubject(PackedSubject const& subject, Device& device, bool with_weights = true);
  ArenaView const& arena() const { return arena_; }
  ColumnMap const& columns() const { return columns_; }

 private:
  DeviceArray<std::byte> memory_;
  DeviceArray<std::byte> column_memory_;
  ArenaView arena_;
  ColumnMap columns_;
};

}  // namespace fairlane
