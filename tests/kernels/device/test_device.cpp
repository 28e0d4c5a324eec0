#include "tests/kernels/device/test_device.h"

#include "base/error.h"

namespace fairlane {

TestDevice::TestDevice(DeviceLimits const& limits, DeviceFaults faults)
    : inner_(make_device_under_test()),
      faults_(std::move(faults)),
      properties_(inner_->properties()) {
  properties_.name = "test";
  properties_.limits = limits;
  properties_.memory = faults_.memory;
  properties_.free_memory = faults_.memory;
}

TestDevice::~TestDevice() {
  for (auto const& [memory, bytes] : allocated_) inner_->release(memory);
}

void TestDevice::call() {
  if (faults_.failing_call && calls_ >= *faults_.failing_call) {
    throw Error(ExitCode::kStopped, kFailure);
  }
  ++calls_;
  if (faults_.calls) ++*faults_.calls;
}

void* TestDevice::allocate(std::size_t bytes) {
  if (used_ + bytes > faults_.memory) {
    throw Error(ExitCode::kMemory, "test: no " + std::to_string(bytes) + " bytes left");
  }
  void* const memory = inner_->allocate(bytes);
  allocated_[memory] = bytes;
  used_ += bytes;
  return memory;
}

void TestDevice::release(void* memory) noexcept {
  auto const at = allocated_.find(memory);
  used_ -= at->second;
  allocated_.erase(at);
  inner_->release(memory);
}

void TestDevice::zero(void* to, std::size_t bytes) { inner_->zero(to, bytes); }

void TestDevice::upload(void* to, void const* from, std::size_t bytes) {
  call();
  inner_->upload(to, from, bytes);
}

void TestDevice::download(void* to, void const* from, std::size_t bytes) {
  call();
  inner_->download(to, from, bytes);
}

void* TestDevice::allocate_host(std::size_t bytes) { return inner_->allocate_host(bytes); }

void TestDevice::release_host(void* memory) noexcept { inner_->release_host(memory); }

void TestDevice::download_later(void* to, void const* from, std::size_t bytes) {
  call();
  ++crossing_;
  inner_->download_later(to, from, bytes);
}

void TestDevice::synchronize() {
  crossing_ = 0;
  inner_->synchronize();
}

void TestDevice::run(LaneKernel const& kernel, Range range) {
  call();
  inner_->run(kernel, range);
}

void TestDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  call();
  if (tile_runs_ != nullptr) ++(*tile_runs_)[plan.packs];
  inner_->run(kernel, plan, range);
}

void TestDevice::run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  call();
  if (round_runs_ != nullptr) ++(*round_runs_)[plan.members];
  inner_->run(kernel, plan, lanes);
}

void TestDevice::run(WalkKernel const& kernel, WalkShape const& shape) {
  call();
  inner_->run(kernel, shape);
}

void TestDevice::run(BlockKernel const& kernel) {
  call();
  if (block_runs_ != nullptr) ++(*block_runs_)[kernel.index()];
  inner_->run(kernel);
}

void TestDevice::compact(std::uint8_t const* flags, Range range, std::int32_t* list,
                         std::int32_t* count) {
  call();
  inner_->compact(flags, range, list, count);
}

void TestDevice::open_gemm() { inner_->open_gemm(); }

void TestDevice::gemm(Dense const& product, float* sums, long stride) {
  call();
  inner_->gemm(product, sums, stride);
}

}  // namespace fairlane
