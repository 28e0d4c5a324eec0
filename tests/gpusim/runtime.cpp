#include "tests/gpusim/runtime.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fairlane::gpusim {

namespace {

constexpr std::uint64_t kMostThreads = 1024;  // of a block
// Where turns are random, one piece of work in so many is done before anybody waits for it.
constexpr std::uint64_t kEarlyEvery = 4;

std::uint64_t number_of(void const* at) { return reinterpret_cast<std::uint64_t>(at); }

}  // namespace

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t failed(cudaError_t error) { return last_error() = error; }

Runtime& Runtime::get() {
  // Never destroyed: what ends the process may still free memory.
  static Runtime& runtime = *new Runtime;
  struct Reporter {
    ~Reporter() { Runtime::get().machine.report(); }
  };
  static Reporter const reporter;
  return runtime;
}

Module* Runtime::add_module() {
  modules_.push_back(std::make_unique<Module>(machine.memory));
  return modules_.back().get();
}

void Runtime::add_kernel(void const* host, Module* module, char const* name) {
  kernels_[host] = {module, name, nullptr};
}

void Runtime::add_variable(void const* host, Module* module, char const* name) {
  variables_[host] = {module, name, nullptr};
}

Kernel* Runtime::kernel_of(void const* host) {
  auto const at = kernels_.find(host);
  if (at == kernels_.end()) return nullptr;
  Registered& found = at->second;
  if (found.kernel == nullptr) {
    found.kernel = found.module->find(found.name);
    if (found.kernel == nullptr) {
      std::fprintf(stderr, "gpusim: no kernel %s in the PTX\n", found.name.c_str());
      return nullptr;
    }
    found.module->decode(*found.kernel);
  }
  return found.kernel;
}

std::uint64_t Runtime::variable_of(void const* host) {
  auto const at = variables_.find(host);
  return at == variables_.end() ? 0 : at->second.module->address_of(at->second.name);
}

int Runtime::architecture() const {
  int highest = 0;
  for (auto const& module : modules_) highest = std::max(highest, module->target);
  return highest;
}

cudaError_t Runtime::launch(Kernel* k, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                            cudaStream_t stream, bool together) {
  if (k == nullptr) return failed(cudaErrorInvalidDeviceFunction);
  std::uint64_t const threads = std::uint64_t{block.x} * block.y * block.z;
  auto const most = std::min(kMostThreads, static_cast<std::uint64_t>(k->max_threads));
  if (threads == 0 || threads > most || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      shared > static_cast<std::size_t>(k->dynamic_limit)) {
    std::fprintf(stderr,
                 "gpusim: a launch that cannot be: %u x %lu threads (at most %lu), %zu bytes of "
                 "shared memory (at most %d): %s\n",
                 grid.x, threads, most, shared, k->dynamic_limit, k->pretty.c_str());
    return failed(cudaErrorInvalidValue);
  }
  machine.costs.call("cudaLaunchKernel", 'L', machine.costs.index_of(*k));
  auto shape = std::make_shared<LaunchShape>();
  shape->dynamic_shared = static_cast<std::uint32_t>(shared);
  shape->together = together;
  std::copy_n(std::array{grid.x, grid.y, grid.z}.begin(), 3, shape->grid);
  std::copy_n(std::array{block.x, block.y, block.z}.begin(), 3, shape->block);
  shape->parameters.resize(k->parameter_bytes);
  for (std::size_t n = 0; n < k->parameters.size(); ++n) {
    ParameterPlace const& place = k->parameters[n];
    std::memcpy(shape->parameters.data() + place.off, arguments[n], place.size);
  }
  ask(stream, [this, k, shape] { machine.run(*k, *shape); });
  return cudaSuccess;
}

Stream* Runtime::open_stream() { return *streams_.insert(new Stream).first; }

void Runtime::close_stream(Stream* stream) {
  finish(stream);
  streams_.erase(stream);
  delete stream;
}

Stream* Runtime::stream_of(cudaStream_t handle) {
  return handle == nullptr ? default_stream_ : reinterpret_cast<Stream*>(handle);
}

void Runtime::ask(cudaStream_t handle, std::function<void()> work) {
  Stream* const stream = stream_of(handle);
  stream->queue.emplace_back(++stream->asked, std::move(work));
  Random& random = machine.random;
  if (!machine.options.lazy) {
    finish(stream);
  } else if (machine.options.random && random.below(kEarlyEvery) == 0) {
    finish(stream, stream->done + random.below(stream->asked - stream->done + 1));
  }
}

void Runtime::advance(Stream* stream, std::uint64_t up_to) {
  if (stream->queue.empty() || stream->queue.front().first > up_to) return;
  auto const [number, work] = std::move(stream->queue.front());
  stream->queue.pop_front();
  work();
  stream->done = number;
}

void Runtime::finish(Stream* stream, std::uint64_t up_to) {
  while (!stream->queue.empty() && stream->queue.front().first <= up_to) advance(stream, up_to);
}

void Runtime::finish_all() {
  for (auto* const stream : streams_) finish(stream);
}

bool Runtime::is_pinned(void const* at) const {
  auto next = pinned_.upper_bound(number_of(at));
  if (next == pinned_.begin()) return false;
  --next;
  return number_of(at) < next->first + next->second;
}

cudaError_t Runtime::copy(void* to, void const* from, std::size_t bytes, cudaStream_t stream,
                          bool wait) {
  if (bytes == 0) return cudaSuccess;
  DeviceMemory& memory = machine.memory;
  bool const down = memory.find(from, bytes, "a copy") != nullptr;
  bool const up = memory.find(to, bytes, "a copy") != nullptr;
  if (!down && !up && !machine.options.host) return failed(cudaErrorInvalidValue);
  char const kind = up && down ? 'C'
                    : up       ? (is_pinned(from) ? 'H' : 'h')
                               : (is_pinned(to) ? 'D' : 'd');
  machine.costs.call(wait ? "cudaMemcpy" : "cudaMemcpyAsync", kind, bytes);
  if (up && !down && !is_pinned(from)) {  // read before the call returns
    auto const* const begin = static_cast<std::byte const*>(from);
    auto const data = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    ask(stream, [=, &memory] {
      std::memcpy(to, data->data(), bytes);
      memory.mark_written(to, bytes);
    });
  } else {
    ask(stream, [=, &memory] {
      if (down) memory.check_written(from, bytes);
      std::memmove(to, from, bytes);
      if (up) memory.mark_written(to, bytes);
    });
  }
  if (wait || (down && !up && !is_pinned(to))) finish(stream_of(stream));
  return cudaSuccess;
}

cudaError_t Runtime::fill(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  DeviceMemory& memory = machine.memory;
  bool const found = memory.find(to, bytes, "a memset") != nullptr;
  if (!found && !machine.options.host) return failed(cudaErrorInvalidValue);
  ask(stream, [=, &memory] {
    std::memset(to, value, bytes);
    memory.mark_written(to, bytes);
  });
  return cudaSuccess;
}

void* Runtime::allocate_pinned(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  constexpr int kGarbage = 0x5A;
  void* const at = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  std::memset(at, kGarbage, bytes);
  pinned_[number_of(at)] = bytes;
  return at;
}

void Runtime::free_pinned(void* at) {
  finish_all();
  pinned_.erase(number_of(at));
  std::free(at);
}

}  // namespace fairlane::gpusim
