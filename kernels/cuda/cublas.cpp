// The one file that names cuBLAS, of which it needs the headers alone.
#include "kernels/cuda/cublas.h"

#include <cublas_v2.h>
#include <dlfcn.h>

#include "base/error.h"

namespace fairlane {

struct Cublas::Library {
  void* file = nullptr;
  cublasHandle_t handle = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;

  ~Library() {
    if (handle != nullptr) destroy(handle);
    if (file != nullptr) dlclose(file);
  }

  /// Looks a function up; false when the library has none of that name.
  template <class Function>
  bool find(Function& function, char const* name) {
    function = reinterpret_cast<Function>(dlsym(file, name));
    return function != nullptr;
  }
};

Cublas::Cublas(cudaStream_t stream, std::string const& device)
    : library_(std::make_unique<Library>()) {
  Library& lib = *library_;
  std::string const name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  auto const fail = [&](std::string const& why) {
    throw Error(ExitCode::kUnavailable, device + ": arithmetic fast: " + why + "; install cuBLAS " +
                                            std::to_string(CUBLAS_VER_MAJOR) +
                                            ", or use arithmetic: exact");
  };
  lib.file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (lib.file == nullptr) fail(dlerror());
  if (!lib.find(lib.create, "cublasCreate_v2") || !lib.find(lib.destroy, "cublasDestroy_v2") ||
      !lib.find(lib.set_stream, "cublasSetStream_v2") ||
      !lib.find(lib.set_math_mode, "cublasSetMathMode") || !lib.find(lib.sgemm, "cublasSgemm_v2") ||
      !lib.find(lib.status_string, "cublasGetStatusString")) {
    fail(name + " lacks functions that belong to it");
  }
  auto status = lib.create(&lib.handle);
  if (status == CUBLAS_STATUS_SUCCESS) status = lib.set_stream(lib.handle, stream);
  // float32 throughout: no TF32 or bfloat16 on the way
  if (status == CUBLAS_STATUS_SUCCESS) status = lib.set_math_mode(lib.handle, CUBLAS_PEDANTIC_MATH);
  if (status != CUBLAS_STATUS_SUCCESS) fail(name + ": " + lib.status_string(status));
}

Cublas::~Cublas() = default;

std::string Cublas::gemm(Dense const& product, float* sums, long stride) {
  // cuBLAS has columns side by side: unit-major is a rows x units matrix, and the weights are their
  // transpose.
  float const one = 1.0F;
  float const zero = 0.0F;
  auto const status = library_->sgemm(
      library_->handle, CUBLAS_OP_N, CUBLAS_OP_T, product.rows, product.outputs, product.inputs,
      &one, product.in, static_cast<int>(product.in_stride), product.weights,
      static_cast<int>(product.weight_stride), &zero, sums, static_cast<int>(stride));
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return std::string("cuBLAS: ") + library_->status_string(status);
}

}  // namespace fairlane
