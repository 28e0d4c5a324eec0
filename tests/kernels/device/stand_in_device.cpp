// A stand-in for a GPU: the device backend's kernels, run on the host one after the other, in a
// memory of its own. It is filled with a pattern when it is allocated, so that nothing relies on
// zeros, and what crosses is as late as a device may be.
#include <cstring>

#include "base/error.h"
#include "tests/kernels/device/test_device.h"
#include "tests/kernels/device/vector_host.h"

namespace fairlane {

namespace {

constexpr int kGarbage = 0x5A;
constexpr std::uint64_t kMemory = std::uint64_t{1} << 32;

class StandInDevice final : public VectorHost {
 public:
  StandInDevice() : VectorHost(1, kMemory) {
    properties_.kind = "cuda";
    properties_.index = 0;
  }

  bool on_host() const override { return false; }

  void* allocate(std::size_t bytes) override {
    void* const memory = HostDevice::allocate(bytes);
    std::memset(memory, kGarbage, bytes);
    return memory;
  }
  void release_host(void* memory) noexcept override {
    std::erase_if(crossing_, [&](auto const& c) { return c.first == memory; });
    HostDevice::release_host(memory);
  }
  void download_later(void* to, void const* from, std::size_t bytes) override {
    auto const* const bytes_at = static_cast<std::byte const*>(from);
    crossing_.push_back({to, {bytes_at, bytes_at + bytes}});
  }
  void synchronize() override {
    for (auto const& [to, bytes] : crossing_) {
      if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    }
    crossing_.clear();
  }

  void open_gemm() override { has_gemm_ = true; }
  void gemm(Dense const& product, float* sums, long stride) override {
    if (!has_gemm_) throw Error(ExitCode::kBug, "stand-in: gemm was not opened");
    multiply_backwards(product, sums, stride);
  }

 private:
  std::vector<std::pair<void*, std::vector<std::byte>>> crossing_;
  bool has_gemm_ = false;
};

}  // namespace

std::unique_ptr<Device> make_device_under_test() { return std::make_unique<StandInDevice>(); }
bool devices_are_simulated() { return false; }

}  // namespace fairlane
