#include "kernels/device/host_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "kernels/core/error.h"

namespace fairlane {

namespace {

constexpr std::int64_t kLeastPart = 512;  // indices for which it pays to wake a thread

}  // namespace

HostThreads::HostThreads(int threads) {
  try {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this, i] { attend(i); });
  } catch (std::system_error const&) {
    // The machine gives no more: those that there are do the work.
  }
}

HostThreads::~HostThreads() {
  {
    std::lock_guard const guard(lock_);
    ends_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void HostThreads::do_part(int part) const {
  auto const parts = static_cast<std::int64_t>(threads_.size()) + 1;
  (*work_)(count_ * part / parts, count_ * (part + 1) / parts);
}

void HostThreads::run(std::int64_t count,
                      std::function<void(std::int64_t, std::int64_t)> const& work) {
  if (threads_.empty() || count < 2 * kLeastPart) {
    work(0, count);
    return;
  }
  {
    std::lock_guard const guard(lock_);
    work_ = &work;
    count_ = count;
    left_ = static_cast<int>(threads_.size());
    ++turn_;
  }
  wake_.notify_all();
  do_part(0);
  std::unique_lock guard(lock_);
  done_.wait(guard, [this] { return left_ == 0; });
}

void HostThreads::attend(int thread) {
  std::unique_lock guard(lock_);
  for (std::uint64_t seen = 0;; seen = turn_) {
    wake_.wait(guard, [&] { return ends_ || turn_ != seen; });
    if (ends_) return;
    guard.unlock();
    do_part(thread);
    guard.lock();
    if (--left_ == 0) done_.notify_one();
  }
}

HostDevice::HostDevice(int threads, std::uint64_t memory) : threads_(threads) {
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
        threads_.run(count_of(range), [&k](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) k(i);
        });
      },
      kernel);
}

void HostDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  run_tiles<ScalarPack, 1>(kernel, plan, range);
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
