// Walks on devices.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device/device_subject.h"
#include "kernels/device/evaluator.h"
#include "kernels/walker.h"

namespace fairlane {

/// A device that walks, with the subject and what evaluates it. All outlive the walker.
/// lock  held while the device is used: several walkers may have it
struct WalkDevice {
  Device* device;
  DeviceSubject const* subject;
  Evaluator* evaluator;
  std::mutex* lock;
};

inline constexpr std::int64_t kMostWalkLanes = 1 << 20;  // groups at once, of stored logits

/// most: groups at once, where their logits are stored. notice: as DeviceOptions::notice. Throws
/// Error(kMemory | kUnavailable).
std::unique_ptr<Walker> make_device_walker(PackedSubject const& packed,
                                           std::vector<WalkDevice> const& devices,
                                           std::vector<ValueList> lists, std::int64_t most,
                                           std::function<void(std::string const&)> const& notice);

}  // namespace fairlane
