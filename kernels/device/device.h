// What the device backend asks of a device: memory, and kernels over lanes. CudaDevice
// (kernels/cuda) is a GPU, HostDevice runs the same kernels on the host's threads.
//
// Everything is asynchronous in one order per device, as in one CUDA stream; download and
// synchronize wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/kernel_list.h"
#include "kernels/device/rounds/round_plan.h"
#include "kernels/layout/tile_plan.h"
#include "kernels/layout/walk_model.h"

namespace fairlane {

/// What a device is and has. Sizes in bytes. kind: what --backend calls it
struct DeviceProperties {
  std::string kind = "cuda";
  std::string name;
  int index = 0;
  int architecture = 0;  // compute capability, major * 10 + minor
  int driver = 0;        // version as the driver reports it, such as 13000
  double clock_ghz = 0.0;
  std::uint64_t memory = 0;
  std::uint64_t free_memory = 0;
  DeviceLimits limits;
};

/// Indices [0, most), or where `count` is not null [0, *count), a number in device memory that is
/// at most `most`.
struct Range {
  std::int64_t most = 0;
  std::int32_t const* count = nullptr;
};

/// Words in device memory and one more that goes with each. words, with [n]
struct KeyedWords {
  std::uint64_t* words = nullptr;
  std::uint64_t* with = nullptr;
};

/// A device. One thread uses it at a time. Every call throws Error(kStopped) when the device has
/// failed for good, after which nothing else may be asked of it.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceProperties const& properties() const = 0;
  /// Whether the host reads and writes its memory, once it has been waited for.
  virtual bool on_host() const { return false; }

  /// Memory, aligned to 256 bytes and not initialised. Throws Error(kMemory).
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  /// From host memory, which may be reused at once.
  virtual void upload(void* to, void const* from, std::size_t bytes) = 0;
  /// To host memory; waits.
  virtual void download(void* to, void const* from, std::size_t bytes) = 0;
  /// Host memory that download_later writes to. Throws Error(kMemory).
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;
  /// To memory of allocate_host, while the host works on; it is there after the next synchronize.
  virtual void download_later(void* to, void const* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;

  /// Runs a kernel once for every index of the range.
  virtual void run(LaneKernel const& kernel, Range range) = 0;
  /// Runs a kernel for every tile of lanes that holds an index of the range.
  virtual void run(TileKernel const& kernel, TilePlan const& plan, Range range) = 0;
  /// Runs a kernel for every window of that many lanes.
  virtual void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) = 0;
  /// Runs every piece of a walk.
  virtual void run(WalkKernel const& kernel, WalkShape const& shape) = 0;
  /// Runs every block of a kernel.
  virtual void run(BlockKernel const& kernel) = 0;
  /// list [..] the indices of the range whose flag [most] is not zero, ascending; count: how many.
  virtual void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
                       std::int32_t* count) = 0;
  /// Sorts n words by their lowest `bits` bits, 1 to 64, equal ones as they stood. Both memories
  /// are used; `sorted` is then the one that has the result. Throws Error(kMemory).
  virtual void sort(KeyedWords& sorted, KeyedWords& spare, std::int64_t n, int bits) = 0;

  /// Readies gemm. Throws Error(kUnavailable) where the device has no library for it.
  virtual void open_gemm() = 0;
  /// A product's sums in whatever order the library adds, from zero on: sums [outputs][stride].
  /// Nothing else is done with them: see FinishDense.
  virtual void gemm(Dense const& product, float* sums, long stride) = 0;
};

/// Host memory for Device::download_later that is given back in the end.
template <class T>
class HostArray {
 public:
  HostArray(Device& device, std::size_t count)
      : device_(device), data_(static_cast<T*>(device.allocate_host(count * sizeof(T)))) {}
  HostArray(HostArray const&) = delete;
  HostArray& operator=(HostArray const&) = delete;
  ~HostArray() { device_.release_host(data_); }
  T* data() const { return data_; }

 private:
  Device& device_;
  T* data_;
};

/// Brings values from a device's memory to the host: some cross while the host takes those before.
template <class T>
class Relay {
 public:
  /// most: values at once
  Relay(Device& device, std::size_t most)
      : device_(device), even_(device, most), odd_(device, most) {}

  /// Waits for what was sent last, and gives it until the next wait.
  std::span<T const> wait() {
    device_.synchronize();
    std::swap(here_, coming_);
    return {here_, std::exchange(sent_, 0)};
  }
  /// Sends values on their way, one time after each wait.
  void send(T const* from, std::size_t count) {
    sent_ = count;
    device_.download_later(coming_, from, count * sizeof(T));
  }

 private:
  Device& device_;
  HostArray<T> even_;
  HostArray<T> odd_;
  T* here_ = even_.data();
  T* coming_ = odd_.data();
  std::size_t sent_ = 0;
};

/// Memory of a device that is given back in the end.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(Device& device, std::size_t count)
      : device_(&device),
        count_(count),
        data_(static_cast<T*>(device.allocate(count * sizeof(T)))) {}
  DeviceArray(DeviceArray&& other) noexcept
      : device_(other.device_), count_(other.count_), data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(count_, other.count_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) device_->release(data_);
  }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  Device* device_ = nullptr;
  std::size_t count_ = 0;
  T* data_ = nullptr;
};

}  // namespace fairlane
