// A stand-in for a GPU: the device backend's kernels, run on the host one after the other, with
// faults.
#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "kernels/device/host_device.h"

namespace fairlane {

/// What goes wrong, and when.
/// memory        bytes that can be allocated in all
/// failing_call  number of the first upload, download or kernel that fails for good, from 0
/// calls         counts them, where it is given
struct HostFaults {
  std::uint64_t memory = std::uint64_t{1} << 32;
  std::optional<std::int64_t> failing_call;
  std::shared_ptr<std::int64_t> calls;
};

/// A device with a memory of its own, which the host must not look into. It is filled with a
/// pattern when it is allocated, so that nothing relies on zeros.
class StandInDevice final : public HostDevice {
 public:
  explicit StandInDevice(DeviceLimits limits = small_limits(), HostFaults faults = {})
      : HostDevice(1, faults.memory), faults_(faults) {
    properties_.kind = "cuda";
    properties_.index = 0;
    properties_.name = "stand-in";
    properties_.limits = limits;
  }
  ~StandInDevice() override {
    for (auto const& [memory, bytes] : allocated_) HostDevice::release(memory);
  }

  /// Few multiprocessors, so that warps take several tiles each.
  static DeviceLimits small_limits() {
    DeviceLimits limits;
    limits.multiprocessors = 2;
    limits.shared_per_block = 64 << 10;
    limits.shared_per_multiprocessor = 128 << 10;
    return limits;
  }

  bool on_host() const override { return false; }

  void* allocate(std::size_t bytes) override {
    if (used_ + bytes > faults_.memory) {
      throw Error(ExitCode::kMemory, "stand-in: no " + std::to_string(bytes) + " bytes left");
    }
    void* const memory = HostDevice::allocate(bytes);
    std::memset(memory, kGarbage, bytes);
    allocated_[memory] = bytes;
    used_ += bytes;
    return memory;
  }
  void release(void* memory) noexcept override {
    auto const at = allocated_.find(memory);
    used_ -= at->second;
    allocated_.erase(at);
    HostDevice::release(memory);
  }
  void upload(void* to, void const* from, std::size_t bytes) override {
    call();
    HostDevice::upload(to, from, bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    call();
    HostDevice::download(to, from, bytes);
  }
  void release_host(void* memory) noexcept override {
    std::erase_if(crossing_, [&](auto const& c) { return c.first == memory; });
    HostDevice::release_host(memory);
  }
  /// What crosses is as late as a device may be.
  void download_later(void* to, void const* from, std::size_t bytes) override {
    call();
    auto const* const bytes_at = static_cast<std::byte const*>(from);
    crossing_.push_back({to, {bytes_at, bytes_at + bytes}});
  }
  void synchronize() override {
    for (auto const& [to, bytes] : crossing_) {
      if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    }
    crossing_.clear();
  }
  /// Downloads that the host has asked for, but not waited for.
  std::size_t crossing() const { return crossing_.size(); }

  void run(LaneKernel const& kernel, Range range) override {
    call();
    HostDevice::run(kernel, range);
  }
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override;
  void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) override;
  void run(BlockKernel const& kernel) override {
    call();
    HostDevice::run(kernel);
    if (block_runs_ != nullptr) ++(*block_runs_)[kernel.index()];
  }

  void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
               std::int32_t* count) override {
    call();
    HostDevice::compact(flags, range, list, count);
  }

  void open_gemm() override { has_gemm_ = true; }
  /// Adds in another order than the contract's.
  void gemm(Dense const& product, float* sums, long stride) override {
    call();
    if (!has_gemm_) throw Error(ExitCode::kBug, "stand-in: gemm was not opened");
    for (int o = 0; o < product.outputs; ++o) {
      for (int r = 0; r < product.rows; ++r) {
        float sum = 0.0F;
        for (int k = product.inputs; k-- > 0;) {
          sum = std::fma(product.in[k * product.in_stride + r],
                         product.weights[k * product.weight_stride + o], sum);
        }
        sums[o * stride + r] = sum;
      }
    }
  }

  /// Counts runs of tile kernels by packs per tile, and of block kernels by their place in
  /// BlockKernel, where not null.
  void count_into(std::map<int, int>* tiles, std::map<std::size_t, int>* blocks) {
    tile_runs_ = tiles;
    block_runs_ = blocks;
  }

 private:
  static constexpr int kGarbage = 0x5A;

  void call() {
    if (faults_.failing_call && calls_ >= *faults_.failing_call) {
      throw Error(ExitCode::kStopped, "stand-in: the device has failed");
    }
    ++calls_;
    if (faults_.calls) ++*faults_.calls;
  }

  HostFaults faults_;
  std::map<void*, std::size_t> allocated_;
  std::map<int, int>* tile_runs_ = nullptr;
  std::map<std::size_t, int>* block_runs_ = nullptr;
  std::vector<std::pair<void*, std::vector<std::byte>>> crossing_;
  bool has_gemm_ = false;
  std::uint64_t used_ = 0;
  std::int64_t calls_ = 0;
};

}  // namespace fairlane
