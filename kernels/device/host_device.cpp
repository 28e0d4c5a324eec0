#include "kernels/device/host_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace fairlane {

namespace {

constexpr std::int64_t kLeastPart = 512;  // indices for which it pays to wake a thread

}  // namespace

HostDevice::HostDevice(int threads, std::uint64_t memory)
    : threads_(1 + pool_.reserve(threads - 1)) {
  properties_.kind = "cpu";
  properties_.index = -1;
  properties_.name = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  properties_.memory = memory;
  properties_.free_memory = memory;
}

void* HostDevice::allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  void* const memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (memory == nullptr)
    throw Error(ExitCode::kMemory, "no memory for " + std::to_string(bytes) + " bytes");
  return memory;
}
void HostDevice::release(void* memory) noexcept { std::free(memory); }
void HostDevice::zero(void* to, std::size_t bytes) { std::memset(to, 0, bytes); }
void HostDevice::upload(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void HostDevice::download(void* to, void const* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void* HostDevice::allocate_host(std::size_t bytes) { return HostDevice::allocate(bytes); }
void HostDevice::release_host(void* memory) noexcept { HostDevice::release(memory); }
void HostDevice::download_later(void* to, void const* from, std::size_t bytes) {
  HostDevice::download(to, from, bytes);
}

void HostDevice::run(LaneKernel const& kernel, Range range) {
  std::visit(
      [&](auto const& k) {
        std::int64_t const count = count_of(range);
        int const parts = count < 2 * kLeastPart ? 1 : threads_;
        pool_.split(parts, count, [&k](int, std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) k(i);
        });
      },
      kernel);
}

void HostDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  PackedNetwork const& net = plan.arena.subject.network;
  for (int l = 0; l < net.layers; ++l) {
    // Its packs have no code for wider tiles and would leave the outputs behind out.
    int const tile = net.layer[l].forward.tile;
    if (tile > kMaxTile) {
      throw Error(ExitCode::kBug, "host: a network packed in tiles of " + std::to_string(tile) +
                                      " outputs, expected at most " + std::to_string(kMaxTile));
    }
  }
  run_tiles<ScalarPack, 1>(kernel, plan, range);
}

void HostDevice::run(RoundKernel const&, RoundPlan const&, int) {
  throw Error(ExitCode::kBug, "the host has the CPU backend for rounds of a network's search");
}

void HostDevice::run(WalkKernel const&, WalkShape const&) {
  throw Error(ExitCode::kBug, "the host has the CPU backend for walks over a network's inputs");
}

void HostDevice::run(BlockKernel const& kernel) {
  std::visit(
      [&](auto const& k) {
        HostTeam<std::decay_t<decltype(k)>> team;
        for (int block = 0; block < k.blocks(); ++block) k(team, block);
      },
      kernel);
}

void HostDevice::compact(std::uint8_t const* flags, Range range, std::int32_t* list,
                         std::int32_t* count) {
  std::int32_t n = 0;
  std::int64_t const most = count_of(range);
  for (std::int64_t i = 0; i < most; ++i) {
    if (flags[i] != 0) list[n++] = static_cast<std::int32_t>(i);
  }
  *count = n;
}

void HostDevice::open_gemm() {
  throw Error(ExitCode::kUnavailable, "the host has no faster arithmetic");
}
void HostDevice::gemm(Dense const&, float*, long) { HostDevice::open_gemm(); }

}  // namespace fairlane
