// Calls for devices, errors, streams and events.
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/gpusim/runtime.h"

namespace fairlane::gpusim {

namespace {

constexpr int kVersion = 13000;
// Of an H100 or H200, but for what the options choose.
constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kThreadsOfBlock = 1024;
constexpr int kKilohertz = 1980000;
constexpr int kSharedOfBlock = 48 << 10;  // without asking for more
constexpr int kReservedShared = 1024;
constexpr std::size_t kGlobalMemory = std::size_t{8} << 30;

int& current_device() {
  thread_local int device = 0;
  return device;
}

/// An attribute's value; -1: not known.
int attribute(Runtime const& runtime, cudaDeviceAttr which) {
  Options const& options = runtime.machine.options;
  switch (which) {
    case cudaDevAttrClockRate:
      return kKilohertz;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return options.shared;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return kSharedOfBlock;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return options.shared + kReservedShared;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return kReservedShared;
    case cudaDevAttrMultiProcessorCount:
      return options.multiprocessors;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return kThreadsOfMultiprocessor;
    case cudaDevAttrComputeCapabilityMajor:
      return runtime.architecture() / 10;
    case cudaDevAttrComputeCapabilityMinor:
      return runtime.architecture() % 10;
    case cudaDevAttrWarpSize:
      return kLanes;
    case cudaDevAttrMaxThreadsPerBlock:
      return kThreadsOfBlock;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrCooperativeLaunch:
      return 1;
    default:
      return -1;
  }
}

Event* event_of(cudaEvent_t handle) { return reinterpret_cast<Event*>(handle); }

}  // namespace

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Runtime::get().machine.options.devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  Call const call("cudaSetDevice");
  if (device < 0 || device >= call.runtime.machine.options.devices) {
    return failed(cudaErrorInvalidDevice);
  }
  current_device() = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  Call const call("cudaGetDevice");
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  Call const call("cudaDeviceGetAttribute");
  *value = attribute(call.runtime, which);
  if (*value >= 0) return cudaSuccess;
  std::fprintf(stderr, "gpusim: attribute %d of devices is unknown\n", static_cast<int>(which));
  *value = 0;
  return failed(cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  Runtime const& runtime = Runtime::get();
  if (device < 0 || device >= runtime.machine.options.devices) {
    return failed(cudaErrorInvalidDevice);
  }
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "gpusim");
  properties->major = runtime.architecture() / 10;
  properties->minor = runtime.architecture() % 10;
  properties->multiProcessorCount = runtime.machine.options.multiprocessors;
  properties->warpSize = kLanes;
  properties->maxThreadsPerMultiProcessor = kThreadsOfMultiprocessor;
  properties->maxThreadsPerBlock = kThreadsOfBlock;
  properties->totalGlobalMem = kGlobalMemory;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  Call const call("cudaGetLastError");
  return std::exchange(last_error(), cudaSuccess);
}

cudaError_t cudaPeekAtLastError() { return last_error(); }

char const* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

char const* cudaGetErrorString(cudaError_t error) {
  thread_local char text[40];
  std::snprintf(text, sizeof text, "error %d", static_cast<int>(error));
  return text;
}

cudaError_t cudaDeviceSynchronize() {
  Call const call("cudaDeviceSynchronize", 'S');
  call.runtime.finish_all();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  Call const call;
  *stream = reinterpret_cast<cudaStream_t>(call.runtime.open_stream());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Call const call;
  call.runtime.close_stream(call.runtime.stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Call const call("cudaStreamSynchronize", 'S');
  call.runtime.finish(call.runtime.stream_of(stream));
  return cudaSuccess;
}

/// Each question lets a piece of the work go on, or who polls would poll for ever.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Call const call("cudaStreamQuery");
  Stream* const s = call.runtime.stream_of(stream);
  call.runtime.advance(s, Runtime::kAll);
  return s->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event_of(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Call const call("cudaEventRecord", 'R');
  Stream* const s = call.runtime.stream_of(stream);
  *event_of(event) = {s, s->asked};
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Call const call("cudaEventSynchronize", 'E');
  Event const e = *event_of(event);
  if (e.stream != nullptr) call.runtime.finish(e.stream, e.at);
  return cudaSuccess;
}

/// As cudaStreamQuery.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Call const call("cudaEventQuery");
  Event const e = *event_of(event);
  if (e.stream == nullptr) return cudaSuccess;
  call.runtime.advance(e.stream, e.at);
  return e.stream->done >= e.at ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Call const call("cudaStreamWaitEvent");
  Event const e = *event_of(event);
  if (e.stream == nullptr) return cudaSuccess;
  Runtime& runtime = call.runtime;
  runtime.ask(stream, [&runtime, e] { runtime.finish(e.stream, e.at); });
  return cudaSuccess;
}

}  // extern "C"

}  // namespace fairlane::gpusim
