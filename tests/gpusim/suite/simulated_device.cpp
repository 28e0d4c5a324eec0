#include "tests/gpusim/suite/simulated_device.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/kernels/device/test_device.h"
#include "tests/kernels/device/vector_host.h"

namespace fairlane {

namespace {

constexpr std::uint64_t kHostMemory = std::uint64_t{1} << 32;

/// "GradientTiles", "DenseBlocks<8, 8, 16, 16, ...>".
template <class T>
std::string name_of_type() {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status), std::free);
  std::string const name = text.get();
  std::string const space = "fairlane::";
  return name.compare(0, space.size(), space) == 0 ? name.substr(space.size()) : name;
}

template <class... Kernels>
std::string name_of_kernel(std::variant<Kernels...> const& kernel) {
  return std::visit([](auto const& k) { return name_of_type<std::decay_t<decltype(k)>>(); },
                    kernel);
}

template <class... Kernels>
void add_names(std::set<std::string>& names, std::variant<Kernels...> const*,
               std::string const& behind = "") {
  (names.insert(name_of_type<Kernels>() + behind), ...);
}

std::string said(std::size_t word, std::uint32_t was, std::uint32_t host, std::uint32_t gpu) {
  char text[120];
  std::snprintf(text, sizeof text, "word %zu was %08x, is %08x on the host, %08x on the GPU", word,
                was, host, gpu);
  return text;
}

/// Of words of 64 bits: the same for the same slots in another order, and for the same counts in
/// other counters.
std::uint64_t sum_of(std::vector<std::uint32_t> const& words) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i) sum += std::uint64_t{words[i]} << 32 * (i % 2);
  return sum;
}

void compare(std::vector<std::uint32_t> const& was, std::vector<std::uint32_t> const& host,
             std::vector<std::uint32_t> const& gpu, TwinTally& tally) {
  std::uint64_t differ = 0;
  std::uint64_t alone = 0;
  for (std::size_t i = 0; i < was.size(); ++i) {
    bool const written = host[i] != was[i];
    tally.written += written;
    if (gpu[i] == host[i]) continue;
    ++(written ? differ : alone);
    if (tally.first.empty()) tally.first = said(i, was[i], host[i], gpu[i]);
  }
  if (differ > 0 && sum_of(host) == sum_of(gpu)) {
    tally.moved += differ + alone;
  } else {
    tally.differ += differ;
    tally.alone += alone;
  }
}

}  // namespace

std::set<std::string> kernel_names() {
  std::set<std::string> names;
  add_names(names, static_cast<LaneKernel const*>(nullptr));
  add_names(names, static_cast<TileKernel const*>(nullptr));
  add_names(names, static_cast<RoundKernel const*>(nullptr));
  add_names(names, static_cast<RoundKernel const*>(nullptr), kByTeams);
  add_names(names, static_cast<WalkKernel const*>(nullptr));
  add_names(names, static_cast<BlockKernel const*>(nullptr));
  return names;
}

SimulatedDevice::SimulatedDevice(TwinTallies* tallies, int shared)
    : gpu_(0),
      properties_(gpu_.properties()),
      tallies_(tallies),
      host_(std::make_unique<VectorHost>(1, kHostMemory)) {
  if (shared > 0) properties_.limits.shared_per_block = shared;
}

void* SimulatedDevice::allocate(std::size_t bytes) {
  void* const memory = gpu_.allocate(bytes);
  allocated_[memory] = bytes;
  return memory;
}

void SimulatedDevice::release(void* memory) noexcept {
  allocated_.erase(memory);
  gpu_.release(memory);
}

SimulatedDevice::Memory SimulatedDevice::read_memory() const {
  Memory all;
  for (auto const& [memory, bytes] : allocated_) {
    auto& words = all[memory];
    words.resize((bytes + 3) / 4);
    std::memcpy(words.data(), memory, bytes);
  }
  return all;
}

void SimulatedDevice::write_memory(Memory const& memory) const {
  for (auto const& [at, bytes] : allocated_) std::memcpy(at, memory.at(at).data(), bytes);
}

/// The simulated memory is the host's, too.
template <class OnHost, class OnGpu>
void SimulatedDevice::run_twins(std::string const& name, OnHost const& on_host,
                                OnGpu const& on_gpu) {
  if (tallies_ == nullptr) return on_gpu();
  gpu_.synchronize();
  Memory const before = read_memory();
  on_host();
  Memory const wished = read_memory();
  write_memory(before);
  on_gpu();
  gpu_.synchronize();
  Memory const found = read_memory();
  TwinTally& tally = (*tallies_)[name];
  ++tally.launches;
  for (auto const& [at, was] : before) compare(was, wished.at(at), found.at(at), tally);
}

void SimulatedDevice::run(LaneKernel const& kernel, Range range) {
  run_twins(
      name_of_kernel(kernel), [&] { host_->run(kernel, range); }, [&] { gpu_.run(kernel, range); });
}

void SimulatedDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  run_twins(
      name_of_kernel(kernel), [&] { host_->run(kernel, plan, range); },
      [&] { gpu_.run(kernel, plan, range); });
}

void SimulatedDevice::run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  run_twins(
      name_of_kernel(kernel) + (plan.warps > 1 ? kByTeams : ""),
      [&] { host_->run(kernel, plan, lanes); }, [&] { gpu_.run(kernel, plan, lanes); });
}

void SimulatedDevice::run(WalkKernel const& kernel, WalkShape const& shape) {
  run_twins(
      name_of_kernel(kernel), [&] { host_->run(kernel, shape); }, [&] { gpu_.run(kernel, shape); });
}

void SimulatedDevice::run(BlockKernel const& kernel) {
  run_twins(
      name_of_kernel(kernel), [&] { host_->run(kernel); }, [&] { gpu_.run(kernel); });
}

void SimulatedDevice::gemm(Dense const& product, float* sums, long stride) {
  gpu_.synchronize();
  auto const rows = static_cast<std::size_t>(product.rows);
  std::vector<float> out(static_cast<std::size_t>(product.outputs) * rows);
  multiply_backwards(product, out.data(), product.rows);
  for (int o = 0; o < product.outputs; ++o) {
    float const* const row = out.data() + static_cast<std::size_t>(o) * rows;
    gpu_.upload(sums + o * stride, row, rows * sizeof(float));
  }
}

std::unique_ptr<Device> make_device_under_test() { return std::make_unique<SimulatedDevice>(); }
bool devices_are_simulated() { return true; }

}  // namespace fairlane
