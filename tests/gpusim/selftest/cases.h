// The cases of gpusim_selftest: kernels that are right, and kernels with one fault each.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fairlane::gpusim {

/// One that is right says whether it found what the host finds; of one with a fault the simulator
/// says something.
struct Case {
  char const* name;
  bool (*run)();
};

std::vector<Case> right_cases();
std::vector<Case> warp_cases();
std::vector<Case> runtime_cases();
std::vector<Case> faulty_cases();

inline void check(cudaError_t error, char const* what) {
  if (error == cudaSuccess) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

/// Memory of the device, filled from the host where it is made of values.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    data_ = static_cast<T*>(memory);
  }
  explicit OnDevice(std::vector<T> const& values) : OnDevice(values.size()) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  OnDevice(OnDevice const&) = delete;
  OnDevice& operator=(OnDevice const&) = delete;
  ~OnDevice() { cudaFree(data_); }

  T* data() const { return data_; }
  void zero() { check(cudaMemsetAsync(data_, 0, count_ * sizeof(T), nullptr), "cudaMemsetAsync"); }
  std::vector<T> values() const {
    std::vector<T> all(count_);
    check(cudaMemcpy(all.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return all;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

}  // namespace fairlane::gpusim
