// What stands behind the calls of the CUDA runtime: the machine, streams, memory, and kernels by
// the addresses that the host knows them by.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

/// Work in the order in which it was asked for, numbered from 1. It is done when somebody waits for
/// it: who forgets to wait sees what was there before.
struct Stream {
  std::deque<std::pair<std::uint64_t, std::function<void()>>> queue;
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
};

/// `at`: the stream's work that it comes after.
struct Event {
  Stream* stream = nullptr;
  std::uint64_t at = 0;
};

class Runtime {
 public:
  /// The one of this process.
  static Runtime& get();

  Machine machine{options_of_environment()};
  std::recursive_mutex mutex;

  // Kernels and variables.
  Module* add_module();
  void add_kernel(void const* host, Module* module, char const* name);
  void add_variable(void const* host, Module* module, char const* name);
  /// Null, with a message, where the program has no such kernel.
  Kernel* kernel_of(void const* host);
  std::uint64_t variable_of(void const* host);
  /// The architecture that the program's PTX is for, such as 90.
  int architecture() const;
  cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                     cudaStream_t stream, bool together);

  // Streams.
  Stream* open_stream();
  void close_stream(Stream* stream);
  Stream* stream_of(cudaStream_t handle);
  void ask(cudaStream_t stream, std::function<void()> work);
  void finish(Stream* stream, std::uint64_t up_to = kAll);
  void finish_all();
  /// Does one piece of the stream's work, if there is any up to that number.
  void advance(Stream* stream, std::uint64_t up_to);

  // Memory.
  cudaError_t copy(void* to, void const* from, std::size_t bytes, cudaStream_t stream, bool wait);
  cudaError_t fill(void* to, int value, std::size_t bytes, cudaStream_t stream);
  void* allocate_pinned(std::size_t bytes);
  void free_pinned(void* at);

  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

 private:
  /// A kernel is looked for when it is first wanted: reading PTX takes a while.
  struct Registered {
    Module* module = nullptr;
    std::string name;
    Kernel* kernel = nullptr;
  };
  bool is_pinned(void const* at) const;

  std::vector<std::unique_ptr<Module>> modules_;
  std::map<void const*, Registered> kernels_;
  std::map<void const*, Registered> variables_;
  std::set<Stream*> streams_;
  Stream* default_stream_ = open_stream();
  std::map<std::uint64_t, std::uint64_t> pinned_;  // bytes by address
};

/// Keeps a call to itself, and counts it where it has a name; kind, value: see Costs::call.
class Call {
 public:
  Call() : runtime(Runtime::get()), held_(runtime.mutex) {}
  explicit Call(char const* name, char kind = 0, std::uint64_t value = 0)
      : runtime(Runtime::get()), held_(runtime.mutex) {
    runtime.machine.costs.call(name, kind, value);
  }
  Runtime& runtime;

 private:
  std::lock_guard<std::recursive_mutex> held_;
};

/// The error of this thread that cudaGetLastError gives.
cudaError_t& last_error();
/// Keeps an error, and gives it back.
cudaError_t failed(cudaError_t error);

}  // namespace fairlane::gpusim
