// The matrix products of fast arithmetic. cuBLAS is opened when they are first wanted: without them
// a program needs no such library.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "kernels/device/dense_blocks.h"

namespace fairlane {

class Cublas {
 public:
  /// Opens the library of the toolkit that this was compiled with, for the current device. Throws
  /// Error(kUnavailable), whose message begins with `device`.
  Cublas(cudaStream_t stream, std::string const& device);
  ~Cublas();

  /// Device::gemm on the stream. Returns what went wrong, or nothing.
  std::string gemm(Dense const& product, float* sums, long stride);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace fairlane
