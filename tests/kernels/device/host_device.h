// A stand-in for a GPU: the device backend's kernels, run on the host one after the other.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "kernels/core/error.h"
#include "kernels/device/device.h"

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

/// The threads of a block, one after the other: see DenseBlocks.
template <class K>
class HostTeam {
 public:
  HostTeam() : shared_(K::kSharedFloats / kQuad), registers_(K::kThreads) {}
  float* shared() { return shared_.front().v; }
  template <class Work>
  void for_each_thread(Work const& work) {
    for (int thread = 0; thread < K::kThreads; ++thread)
      work(thread, registers_[static_cast<std::size_t>(thread)]);
  }

 private:
  std::vector<Quad> shared_;
  std::vector<typename K::Registers> registers_;
};

/// Device on the host. Memory is filled with a pattern when it is allocated, so that nothing relies on zeros.
class HostDevice final : public Device {
 public:
  explicit HostDevice(DeviceLimits limits = small_limits(), HostFaults faults = {})
      : faults_(faults) {
    properties_.name = "stand-in";
    properties_.memory = faults.memory;
    properties_.free_memory = faults.memory;
    properties_.limits = limits;
  }
  ~HostDevice() override {
    for (auto const& [memory, bytes] : allocated_) std::free(memory);
  }

  /// Few multiprocessors, so that warps take several tiles each.
  static DeviceLimits small_limits() {
    DeviceLimits limits;
    limits.multiprocessors = 2;
    limits.shared_per_block = 64 << 10;
    limits.shared_per_multiprocessor = 128 << 10;
    return limits;
  }

  DeviceProperties const& properties() const override { return properties_; }

  void* allocate(std::size_t bytes) override {
    if (used_ + bytes > faults_.memory) {
      throw Error(ExitCode::kMemory, "stand-in: no " + std::to_string(bytes) + " bytes left");
    }
    constexpr std::size_t kAlignment = 256;
    void* const memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    std::memset(memory, kGarbage, bytes);
    allocated_[memory] = bytes;
    used_ += bytes;
    return memory;
  }
  void release(void* memory) noexcept override {
    auto const at = allocated_.find(memory);
    used_ -= at->second;
    allocated_.erase(at);
    std::free(memory);
  }
  void zero(void* to, std::size_t bytes) override { std::memset(to, 0, bytes); }
  void upload(void* to, void const* from, std::size_t bytes) override {
    call();
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    call();
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void* allocate_host(std::size_t bytes) override { return ::operator new(bytes); }
  void release_host(void* memory) noexcept override {
    std::erase_if(crossing_, [&](auto const& c) { return c.first == memory; });
    ::operator delete(memory);
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

  void run(LaneKernel const& kernel, Range range) override;
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override;
  void run(BlockKernel const& kernel) override;

  void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
               std::int32_t* out_count) override {
    call();
    std::int32_t n = 0;
    for (std::int64_t i = 0; i < count(range); ++i) {
      if (flags[i] != 0) list[n++] = static_cast<std::int32_t>(i);
    }
    *out_count = n;
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

  /// Counts runs of tile kernels by packs per tile, and of block kernels by their place in BlockKernel, where not null.
  void count_into(std::map<int, int>* tiles, std::map<std::size_t, int>* blocks) {
    tile_runs_ = tiles;
    block_runs_ = blocks;
  }

 private:
  static constexpr int kGarbage = 0x5A;

  static std::int64_t count(Range range) {
    return range.count == nullptr ? range.most : std::min<std::int64_t>(range.most, *range.count);
  }

  void call() {
    if (faults_.failing_call && calls_ >= *faults_.failing_call) {
      throw Error(ExitCode::kStopped, "stand-in: the device has failed");
    }
    ++calls_;
    if (faults_.calls) ++*faults_.calls;
  }

  template <int kV>
  void run_tiles(TileKernel const& kernel, TilePlan const& plan, Range range);

  DeviceProperties properties_;
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
