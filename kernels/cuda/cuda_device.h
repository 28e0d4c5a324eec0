// An NVIDIA GPU behind the Device interface, through the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "kernels/cuda/cublas.h"
#include "kernels/device/device.h"

namespace fairlane {

/// How many GPUs the driver shows; 0 with the reason in `problem` when there is none or no driver.
int cuda_device_count(std::string& problem);

/// "cuda:0 (NVIDIA H200)".
std::string cuda_device_name(int index, std::string const& name);

/// What a GPU is and has. Throws Error(kUnavailable) when it does not answer.
DeviceProperties cuda_device_properties(int index);

/// Why this build has no code for the current device; empty when it has.
std::string cuda_code_problem(DeviceProperties const& properties);

/// A GPU with a stream of its own. Any thread may use it, one at a time.
class CudaDevice final : public Device {
 public:
  /// Throws Error(kUnavailable) when there is no such GPU or this build has no code for it.
  explicit CudaDevice(int index);
  ~CudaDevice() override;
  CudaDevice(CudaDevice const&) = delete;
  CudaDevice& operator=(CudaDevice const&) = delete;

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

 private:
  void enter(char const* doing);
  void check(cudaError_t error, char const* doing);
  [[noreturn]] void stop(std::string const& problem, char const* doing);
  std::string name() const { return cuda_device_name(properties_.index, properties_.name); }

  DeviceProperties properties_;
  cudaStream_t stream_ = nullptr;
  std::byte* staging_ = nullptr;                 // [kStagingParts][kStagingBytes], pinned
  cudaEvent_t arrived_[2] = {nullptr, nullptr};  // of each part: its last copy has ended
  std::size_t upload_part_ = 0;
  void* temporary_ = nullptr;  // of compact
  std::size_t temporary_bytes_ = 0;
  std::unique_ptr<Cublas> cublas_;
  std::string failure_;  // set once the device has failed for good
};

}  // namespace fairlane
