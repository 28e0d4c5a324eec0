// The CUDA kernels on the simulator, and each beside it on the host: its twin.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_device.h"

namespace fairlane {

/// What a kernel left in device memory, word by word, in all its launches.
/// written  words that the host changed
/// differ   of them, those that are something else on the GPU
/// alone    words that differ though the host did not change them
/// moved    words that differ in arrays whose sums are equal
struct TwinTally {
  std::uint64_t launches = 0;
  std::uint64_t written = 0;
  std::uint64_t differ = 0;
  std::uint64_t alone = 0;
  std::uint64_t moved = 0;
  std::string first;  // of those that differ, in words
};

/// By the kernel's name, such as "GradientTiles"; rounds of teams of several warps have a name of
/// their own, with kByTeams behind it.
using TwinTallies = std::map<std::string, TwinTally>;

inline constexpr char const* kByTeams = " by teams";

/// Names of all kernels in kernel_list.h.
std::set<std::string> kernel_names();

/// A GPU of the simulator. Its gemm adds in another order than the contract's.
class SimulatedDevice final : public Device {
 public:
  /// tallies: where not null, every kernel is run on the host first, on the same memory.
  /// shared   bytes of shared memory that a block is said to have; 0: all that it has
  explicit SimulatedDevice(TwinTallies* tallies = nullptr, int shared = 0);

  DeviceProperties const& properties() const override { return properties_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void zero(void* to, std::size_t bytes) override { gpu_.zero(to, bytes); }
  void upload(void* to, void const* from, std::size_t bytes) override {
    gpu_.upload(to, from, bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) override {
    gpu_.download(to, from, bytes);
  }
  void* allocate_host(std::size_t bytes) override { return gpu_.allocate_host(bytes); }
  void release_host(void* memory) noexcept override { gpu_.release_host(memory); }
  void download_later(void* to, void const* from, std::size_t bytes) override {
    gpu_.download_later(to, from, bytes);
  }
  void synchronize() override { gpu_.synchronize(); }
  void run(LaneKernel const& kernel, Range range) override;
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override;
  void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) override;
  void run(WalkKernel const& kernel, WalkShape const& shape) override;
  void run(BlockKernel const& kernel) override;
  void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
               std::int32_t* count) override {
    gpu_.compact(flags, range, list, count);
  }
  void sort(KeyedWords& sorted, KeyedWords& spare, std::int64_t n, int bits) override {
    gpu_.sort(sorted, spare, n, bits);
  }
  void open_gemm() override {}
  void gemm(Dense const& product, float* sums, long stride) override;

 private:
  using Memory = std::map<void*, std::vector<std::uint32_t>>;
  Memory read_memory() const;
  void write_memory(Memory const& memory) const;
  template <class OnHost, class OnGpu>
  void run_twins(std::string const& name, OnHost const& on_host, OnGpu const& on_gpu);

  CudaDevice gpu_;
  DeviceProperties properties_;
  TwinTallies* tallies_;
  std::unique_ptr<Device> host_;
  std::map<void*, std::size_t> allocated_;
};

}  // namespace fairlane
