// A device for tests of the device backend: a stand-in on the host, or the CUDA kernels on the
// simulator of GPUs, whichever the program is linked with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/device/device.h"

namespace fairlane {

/// What goes wrong, and when.
/// memory        bytes that can be allocated in all
/// failing_call  number of the first upload, download or kernel that fails for good, from 0
/// calls         counts them, where it is given
struct DeviceFaults {
  std::uint64_t memory = std::uint64_t{1} << 32;
  std::optional<std::int64_t> failing_call;
  std::shared_ptr<std::int64_t> calls;
};
inline constexpr char const* kFailure = "test: the device has failed";

/// Few multiprocessors, so that warps take several tiles each.
inline DeviceLimits small_limits() {
  DeviceLimits limits;
  limits.multiprocessors = 2;
  limits.shared_per_block = 64 << 10;
  limits.shared_per_multiprocessor = 128 << 10;
  return limits;
}

/// What a TestDevice works with; in stand_in_device.cpp and in tests/gpusim/simulated_device.cpp.
std::unique_ptr<Device> make_device_under_test();

/// Whether that is simulated, which takes about a thousand times as long: tests then do with fewer
/// lanes and less memory.
bool devices_are_simulated();

/// `usual`, or where devices are simulated a smaller number that shows the same.
template <class T>
T unless_simulated(T usual, T simulated) {
  return devices_are_simulated() ? simulated : usual;
}

/// A device with faults and limits of a test's choice, and with counters.
class TestDevice final : public Device {
 public:
  explicit TestDevice(DeviceLimits const& limits = small_limits(), DeviceFaults faults = {});
  ~TestDevice() override;
  TestDevice(TestDevice const&) = delete;
  TestDevice& operator=(TestDevice const&) = delete;

  DeviceProperties const& properties() const override { return properties_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void zero(void* to, std::size_t bytes) override;
  void upload(void* to, void const* from, std::size_t bytes) override;
  void download(void* to, void const* from, std::size_t bytes) override;
  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory) noexcept override;
  void download_later(void* to, void const* from, std::size_t bytes) override;
  void synchronize() override;
  void run(LaneKernel const& kernel, Range range) override;
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override;
  void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) override;
  void run(WalkKernel const& kernel, WalkShape const& shape) override;
  void run(BlockKernel const& kernel) override;
  void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
               std::int32_t* count) override;
  void open_gemm() override;
  void gemm(Dense const& product, float* sums, long stride) override;

  /// Downloads that the host has asked for, but not waited for.
  std::size_t crossing() const { return crossing_; }
  /// Counts runs of tile kernels by packs per tile, of block kernels by their place in BlockKernel,
  /// and of rounds by members of a thread, where not null.
  void count_into(std::map<int, int>* tiles, std::map<std::size_t, int>* blocks,
                  std::map<int, int>* rounds = nullptr) {
    tile_runs_ = tiles;
    block_runs_ = blocks;
    round_runs_ = rounds;
  }

 private:
  void call();

  std::unique_ptr<Device> inner_;
  DeviceFaults faults_;
  DeviceProperties properties_;
  std::map<void*, std::size_t> allocated_;
  std::map<int, int>* tile_runs_ = nullptr;
  std::map<std::size_t, int>* block_runs_ = nullptr;
  std::map<int, int>* round_runs_ = nullptr;
  std::size_t crossing_ = 0;
  std::uint64_t used_ = 0;
  std::int64_t calls_ = 0;
};

/// One or several, as a device backend takes them.
inline std::vector<std::unique_ptr<Device>> make_test_devices(int count = 1,
                                                              DeviceFaults const& faults = {}) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(std::make_unique<TestDevice>(small_limits(), faults));
  }
  return devices;
}

}  // namespace fairlane
