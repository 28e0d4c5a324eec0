#include "kernels/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/cuda/cub.h"
#include "kernels/cuda/launch.h"

namespace fairlane {

namespace {

constexpr double kKilohertzPerGigahertz = 1e6;
constexpr std::size_t kStagingParts = 2;  // one is copied out while the other arrives
constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

int attribute(int index, cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) value = 0;
  return value;
}

std::string what(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

int cuda_device_count(std::string& problem) {
  problem.clear();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);  // 0 without a driver
  cudaRuntimeGetVersion(&runtime);
  int count = 0;
  cudaError_t const error = cudaGetDeviceCount(&count);
  cudaGetLastError();  // an error that is answered here must not show up later
  if (error == cudaSuccess && count > 0) return count;
  if (driver == 0) {
    problem = "no NVIDIA driver is loaded; install one, or start the container with its GPUs";
  } else if (error == cudaErrorInsufficientDriver) {
    problem = "the NVIDIA driver supports CUDA " + version_text(driver) + ", this build needs " +
              version_text(runtime) + "; update the driver";
  } else if (error == cudaErrorNoDevice || error == cudaSuccess) {
    problem = "the NVIDIA driver shows no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  } else {
    problem = "the NVIDIA driver does not answer: " + what(error);
  }
  return 0;
}

std::string cuda_device_name(int index, std::string const& name) {
  return "cuda:" + std::to_string(index) + " (" + name + ")";
}

DeviceProperties cuda_device_properties(int index) {
  DeviceProperties p;
  p.index = index;
  cudaDeviceProp found;
  cudaError_t error = cudaGetDeviceProperties(&found, index);
  if (error == cudaSuccess) {
    p.name = found.name;
    error = cudaSetDevice(index);
  }
  std::size_t free_memory = 0;
  std::size_t memory = 0;
  if (error == cudaSuccess) error = cudaMemGetInfo(&free_memory, &memory);
  if (error != cudaSuccess) {
    cudaGetLastError();
    throw Error(ExitCode::kUnavailable, cuda_device_name(index, p.name) + ": " + what(error) +
                                            "; check nvidia-smi, or use --backend cpu");
  }
  p.architecture = 10 * found.major + found.minor;
  cudaDriverGetVersion(&p.driver);
  p.clock_ghz = attribute(index, cudaDevAttrClockRate) / kKilohertzPerGigahertz;
  p.memory = memory;
  p.free_memory = free_memory;
  p.limits.multiprocessors = found.multiProcessorCount;
  p.limits.warp_lanes = found.warpSize;
  p.limits.shared_per_block = attribute(index, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p.limits.shared_per_multiprocessor =
      attribute(index, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p.limits.threads_per_multiprocessor = found.maxThreadsPerMultiProcessor;
  return p;
}

std::string cuda_code_problem(DeviceProperties const& properties) {
  cudaError_t const error = probe_code();
  cudaGetLastError();
  if (error == cudaSuccess) return {};
  std::string const architecture = std::to_string(properties.architecture);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
      error == cudaErrorUnsupportedPtxVersion) {
    return "its architecture is " + architecture + ", this build has code for " +
           FAIRLANE_CUDA_ARCHITECTURES + "; build with -DCMAKE_CUDA_ARCHITECTURES=" + architecture +
           "-real";
  }
  return what(error);
}

CudaDevice::CudaDevice(int index) {
  std::string problem;
  int const count = cuda_device_count(problem);
  if (count == 0) throw Error(ExitCode::kUnavailable, "backend cuda: " + problem);
  if (index < 0 || index >= count) {
    throw Error(ExitCode::kUnavailable,
                "backend cuda:" + std::to_string(index) + ": this machine has " +
                    std::to_string(count) +
                    (count == 1 ? " GPU, number 0" : " GPUs, 0 to " + std::to_string(count - 1)));
  }
  properties_ = cuda_device_properties(index);
  problem = cuda_code_problem(properties_);
  if (!problem.empty()) throw Error(ExitCode::kUnavailable, name() + ": " + problem);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  for (auto& event : arrived_) {
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  void* pinned = nullptr;
  check(cudaHostAlloc(&pinned, kStagingParts * kStagingBytes, cudaHostAllocDefault),
        "pinning host memory");
  staging_ = static_cast<std::byte*>(pinned);
}

CudaDevice::~CudaDevice() {
  // What fails here has failed before, and the process's end frees the rest.
  cudaSetDevice(properties_.index);
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  cublas_.reset();
  if (temporary_ != nullptr) cudaFree(temporary_);
  if (staging_ != nullptr) cudaFreeHost(staging_);
  for (auto const event : arrived_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
  cudaGetLastError();
}

void CudaDevice::enter(char const* doing) {
  if (!failure_.empty()) throw Error(ExitCode::kStopped, failure_);
  check(cudaSetDevice(properties_.index), doing);  // per host thread
}

void CudaDevice::check(cudaError_t error, char const* doing) {
  if (error == cudaSuccess) return;
  if (error == cudaErrorMemoryAllocation) {  // the GPU goes on: fewer lanes may fit
    cudaGetLastError();
    throw Error(ExitCode::kMemory,
                name() + ": " + doing + ": no memory left on the GPU; use a smaller --batch");
  }
  stop(what(error), doing);
}

void CudaDevice::stop(std::string const& problem, char const* doing) {
  cudaGetLastError();
  failure_ =
      name() + ": " + doing + ": " + problem + "; the GPU cannot go on, run the same command again";
  throw Error(ExitCode::kStopped, failure_);
}

void* CudaDevice::allocate(std::size_t bytes) {
  enter("allocating memory");
  void* memory = nullptr;
  cudaError_t const error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free_memory = 0;
    std::size_t all = 0;
    if (cudaMemGetInfo(&free_memory, &all) != cudaSuccess) cudaGetLastError();
    throw Error(ExitCode::kMemory, name() + ": no memory for " + megabytes(bytes) + ", " +
                                       megabytes(free_memory) + " of " + megabytes(all) +
                                       " are free; use a smaller --batch");
  }
  check(error, "allocating memory");
  return memory;
}

void CudaDevice::release(void* memory) noexcept {
  if (memory == nullptr || !failure_.empty()) return;
  // cudaFree waits for what still uses the memory. A failure before it shows at the next call.
  if (cudaSetDevice(properties_.index) == cudaSuccess) cudaFree(memory);
}

void CudaDevice::zero(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  enter("clearing memory");
  check(cudaMemsetAsync(to, 0, bytes, stream_), "clearing memory");
}

void CudaDevice::upload(void* to, void const* from, std::size_t bytes) {
  constexpr char const* kDoing = "copying to the GPU";
  enter(kDoing);
  // Through our own pinned memory: whether a copy from other memory has read it on return is up to
  // the driver.
  for (std::size_t done = 0; done < bytes;) {
    std::size_t const part = std::exchange(upload_part_, (upload_part_ + 1) % kStagingParts);
    std::size_t const size = std::min(kStagingBytes, bytes - done);
    check(cudaEventSynchronize(arrived_[part]), kDoing);  // what it held before has left
    std::memcpy(staging_ + part * kStagingBytes, static_cast<std::byte const*>(from) + done, size);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, staging_ + part * kStagingBytes, size,
                          cudaMemcpyHostToDevice, stream_),
          kDoing);
    check(cudaEventRecord(arrived_[part], stream_), kDoing);
    done += size;
  }
}

void CudaDevice::download(void* to, void const* from, std::size_t bytes) {
  constexpr char const* kDoing = "copying from the GPU";
  enter(kDoing);
  std::size_t asked = 0;
  std::size_t copied = 0;
  std::size_t part_in = 0;
  std::size_t part_out = 0;
  auto const ask = [&] {
    std::size_t const size = std::min(kStagingBytes, bytes - asked);
    check(cudaMemcpyAsync(staging_ + part_in * kStagingBytes,
                          static_cast<std::byte const*>(from) + asked, size, cudaMemcpyDeviceToHost,
                          stream_),
          kDoing);
    check(cudaEventRecord(arrived_[part_in], stream_), kDoing);
    asked += size;
    part_in = (part_in + 1) % kStagingParts;
  };
  for (std::size_t part = 0; part < kStagingParts && asked < bytes; ++part) ask();
  while (copied < bytes) {
    check(cudaEventSynchronize(arrived_[part_out]), kDoing);
    std::size_t const size = std::min(kStagingBytes, bytes - copied);
    std::memcpy(static_cast<std::byte*>(to) + copied, staging_ + part_out * kStagingBytes, size);
    copied += size;
    part_out = (part_out + 1) % kStagingParts;
    if (asked < bytes) ask();
  }
}

void* CudaDevice::allocate_host(std::size_t bytes) {
  enter("pinning host memory");
  void* memory = nullptr;
  cudaError_t const error =
      cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(ExitCode::kMemory,
                name() + ": the system pins no " + megabytes(bytes) + " of host memory for it");
  }
  check(error, "pinning host memory");
  return memory;
}

void CudaDevice::release_host(void* memory) noexcept {
  if (memory == nullptr) return;
  // A copy may still be on its way here. A failure before it shows at the next call.
  if (cudaSetDevice(properties_.index) == cudaSuccess) cudaStreamSynchronize(stream_);
  cudaFreeHost(memory);
}

void CudaDevice::download_later(void* to, void const* from, std::size_t bytes) {
  if (bytes == 0) return;
  enter("copying from the GPU");
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the GPU");
}

void CudaDevice::synchronize() {
  enter("waiting for the GPU");
  check(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

void CudaDevice::run(LaneKernel const& kernel, Range range) {
  enter("starting a kernel over lanes");
  check(std::visit(
            [&](auto const& k) {
              return launch_lanes(k, range, properties_.limits.multiprocessors, stream_);
            },
            kernel),
        "starting a kernel over lanes");
}

void CudaDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  if (plan.warps < 1 || plan.warps > kMostTileWarps) {
    throw Error(ExitCode::kBug, "a plan with " + std::to_string(plan.warps) +
                                    " warps, expected 1 to " + std::to_string(kMostTileWarps));
  }
  enter("starting a kernel over tiles");
  check(std::visit([&](auto const& k) { return launch_tiles(k, plan, range, stream_); }, kernel),
        "starting a kernel over tiles");
}

void CudaDevice::run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  enter("starting rounds of a search");
  check(std::visit([&](auto const& k) { return launch_rounds(k, plan, lanes, stream_); }, kernel),
        "starting rounds of a search");
}

void CudaDevice::run(WalkKernel const& kernel, WalkShape const& shape) {
  enter("starting a walk");
  check(std::visit([&](auto const& k) { return launch_walk(k, shape, stream_); }, kernel),
        "starting a walk");
}

void CudaDevice::run(BlockKernel const& kernel) {
  enter("starting a kernel of blocks");
  check(std::visit([&](auto const& k) { return launch_blocks(k, stream_); }, kernel),
        "starting a kernel of blocks");
}

void CudaDevice::compact(std::uint8_t const* flags, Range range, std::int32_t* list,
                         std::int32_t* count) {
  constexpr char const* kDoing = "listing marked lanes";
  enter(kDoing);
  if (range.most <= 0) {
    check(cudaMemsetAsync(count, 0, sizeof *count, stream_), kDoing);
    return;
  }
  std::size_t bytes = 0;
  check(compact_bytes(range.most, bytes), kDoing);
  make_temporary(bytes, kDoing);
  check(compact_flags(temporary_, temporary_bytes_, flags, range, list, count, stream_), kDoing);
}

void CudaDevice::make_temporary(std::size_t bytes, char const* doing) {
  if (bytes <= temporary_bytes_) return;
  if (temporary_ != nullptr) check(cudaFree(std::exchange(temporary_, nullptr)), doing);
  temporary_bytes_ = 0;
  temporary_ = allocate(bytes);
  temporary_bytes_ = bytes;
}

void CudaDevice::sort(KeyedWords& sorted, KeyedWords& spare, std::int64_t n, int bits) {
  constexpr char const* kDoing = "sorting";
  enter(kDoing);
  std::size_t bytes = 0;
  check(sort_bytes(n, bits, bytes), kDoing);
  make_temporary(bytes, kDoing);
  check(sort_words(temporary_, temporary_bytes_, sorted, spare, n, bits, stream_), kDoing);
}

void CudaDevice::open_gemm() {
  enter("opening cuBLAS");
  if (cublas_ == nullptr) cublas_ = std::make_unique<Cublas>(stream_, name());
}

void CudaDevice::gemm(Dense const& product, float* sums, long stride) {
  enter("multiplying matrices");
  std::string const problem = cublas_->gemm(product, sums, stride);
  if (!problem.empty()) stop(problem, "multiplying matrices");
}

}  // namespace fairlane
