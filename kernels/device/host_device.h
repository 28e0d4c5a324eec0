// The host as a device: the device backend's kernels on threads of its own. For models that are no
// networks, whose time goes into their scorer; networks have the CPU backend.
#pragma once

#include <algorithm>
#include <vector>

#include "base/threads/thread_pool.h"
#include "kernels/device/device.h"
#include "kernels/device/walk/walk_piece.h"

namespace fairlane {

/// The threads of a block, one after the other: see DenseBlocks.
template <class K>
class HostTeam {
 public:
  HostTeam() : shared_(K::kSharedFloats / kQuad), registers_(K::kThreads) {}
  float* shared() { return shared_.front().v; }
  template <class Work>
  void for_each_thread(Work const& work) {
    for (int thread = 0; thread < K::kThreads; ++thread)
      work(thread, registers_[static_cast<std::size_t>(thread)]);
  }

 private:
  std::vector<Quad> shared_;
  std::vector<typename K::Registers> registers_;
};

/// A team of one thread; see kernels/device/rounds/round_kernels.h.
struct SoloTeam {
  static constexpr int kTake = kPackedLabelBits;  // as many as a group has members

  template <class Work>
  void each(int n, Work const& work) const {
    for (int i = 0; i < n; ++i) work(i);
  }
  void sync() const {}
  template <class Is>
  std::uint32_t which(int n, Is const& is) const {
    std::uint32_t bits = 0;
    for (int i = 0; i < n; ++i) bits |= is(i) ? 1U << i : 0U;
    return bits;
  }
  Stage choose(Window& w, int enough, int& n) const {
    unsigned waiting = 0;
    for (int k = 0; k < kWorkStages; ++k) {
      auto const here = std::count(w.stage, w.stage + w.count, work_stage(k));
      waiting |= static_cast<unsigned>(here) << (8 * k);
    }
    Stage const stage = choose_stage(waiting, enough, n);
    if (n > 0) n = take(w, stage);
    return stage;
  }

 private:
  /// In the order of a warp, of which every thread has some lanes.
  int take(Window& w, Stage stage) const {
    constexpr int kThreads = 32;
    int taken = 0;
    int const first = w.turn;
    for (int t = 0; t < kThreads && taken < kTake; ++t) {
      int const thread = (first + t) % kThreads;
      w.turn = (thread + 1) % kThreads;
      for (int i = thread * kThreadLanes; i < std::min(w.count, (thread + 1) * kThreadLanes); ++i) {
        if (w.stage[i] == stage && taken < kTake)
          w.list[taken++] = static_cast<std::int32_t>(w.lane + i);
      }
    }
    return taken;
  }
};

/// A thread that walks alone; see kernels/core/walk/walk_members.h. Pieces of one tile come one
/// after the other, tile after tile.
struct WalkSolo : SoleTally {
  using Mixed = std::uint32_t;
  static void merge(Mixed* word, int bit, Word bits) {
    *word = (bit == 0 ? 0 : *word) | static_cast<Mixed>(bits) << bit;
  }
  static void list_open(std::uint32_t mask, int first, int step, int* list) {
    for (; mask != 0; mask &= mask - 1) *list++ = (first + lowest_bit(mask)) * step;
  }
};

/// Kernels over lanes run on all threads, each index once; kernels over tiles and blocks, which the
/// host has other ways for, on the caller's.
class HostDevice : public Device {
 public:
  /// memory: bytes that the backend may plan with. Throws Error(kUnavailable).
  HostDevice(int threads, std::uint64_t memory);

  DeviceProperties const& properties() const override { return properties_; }
  bool on_host() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void zero(void* to, std::size_t bytes) override;
  void upload(void* to, void const* from, std::size_t bytes) override;
  void download(void* to, void const* from, std::size_t bytes) override;
  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory) noexcept override;
  void download_later(void* to, void const* from, std::size_t bytes) override;
  void synchronize() override {}
  void run(LaneKernel const& kernel, Range range) override;
  void run(TileKernel const& kernel, TilePlan const& plan, Range range) override;
  void run(RoundKernel const& kernel, RoundPlan const& plan, int lanes) override;
  void run(WalkKernel const& kernel, WalkShape const& shape) override;
  void run(BlockKernel const& kernel) override;
  void compact(std::uint8_t const* flags, Range range, std::int32_t* list,
               std::int32_t* count) override;
  void sort(KeyedWords& sorted, KeyedWords& spare, std::int64_t n, int bits) override;
  void open_gemm() override;
  void gemm(Dense const& product, float* sums, long stride) override;

 protected:
  static std::int64_t count_of(Range range) {
    return range.count == nullptr ? range.most : std::min<std::int64_t>(range.most, *range.count);
  }
  /// Tiles of kV packs, one after the other.
  template <Pack P, int kV>
  static void run_tiles(TileKernel const& kernel, TilePlan const& plan, Range range);

  /// Windows of lanes, one after the other.
  template <Pack P>
  static void run_rounds(RoundKernel const& kernel, RoundPlan const& plan, int lanes);
  template <Pack P, int kM>
  static void run_windows(RoundKernel const& kernel, RoundPlan const& plan, int lanes);

  /// Pieces of a walk, one after the other.
  template <Pack P>
  static void run_pieces(WalkKernel const& kernel, WalkShape const& shape);

  DeviceProperties properties_;

 private:
  ThreadPool pool_;
  int threads_;  // with the caller's, as many as the machine gives
};

template <Pack P>
void HostDevice::run_rounds(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  switch (plan.members) {
    case 4:
      return run_windows<P, 4>(kernel, plan, lanes);
    case kSpreadMembers:
      return run_windows<P, kSpreadMembers>(kernel, plan, lanes);
    default:
      return run_windows<P, 2>(kernel, plan, lanes);
  }
}

template <Pack P, int kM>
void HostDevice::run_windows(RoundKernel const& kernel, RoundPlan const& plan, int lanes) {
  std::vector<std::byte> copy(plan.arena.base, plan.arena.base + plan.arena.bytes);
  Subject const subject = subject_in(plan.arena, copy.data());
  std::vector<float> memory(static_cast<std::size_t>(plan.scratch_floats), -1.0F);
  Window window;
  std::vector<std::byte> own(
      static_cast<std::size_t>(lay_out_window(plan.window, SoloTeam::kTake, nullptr, window)));
  lay_out_window(plan.window, SoloTeam::kTake, own.data(), window);
  std::visit(
      [&](auto const& k) {
        for (int lane = 0; lane < lanes; lane += plan.window) {
          window.lane = lane;
          window.place = lane / plan.window * plan.places;
          window.count = std::min(plan.window, lanes - lane);
          window.turn = 0;
          k.template operator()<P, kM>(SoloTeam{}, subject, window, memory.data());
        }
      },
      kernel);
}

template <Pack P>
void HostDevice::run_pieces(WalkKernel const& kernel, WalkShape const& shape) {
  std::visit(
      [&](auto const& k) {
        WalkModel const& model = k.model;
        WalkMemory memory = lay_out_walk(k.subject, model, layers_of(model)[0], P::kLanes);
        std::vector<Quad> scratch(static_cast<std::size_t>(memory.floats / kQuad));
        memory.base = scratch.front().v;
        // Tiles are a warp's in the shape, and here as many more as its packs are narrower.
        int const pieces = shape.pieces * (shape.lanes / P::kLanes);
        for (int at = 0; at < pieces; ++at)
          walk_piece<P, WalkSolo>(k, model, memory, at, k.counters);
      },
      kernel);
}

template <Pack P, int kV>
void HostDevice::run_tiles(TileKernel const& kernel, TilePlan const& plan, Range range) {
  // As a block of threads does: the subject may be read from a copy of its arena.
  std::vector<std::byte> copy;
  Subject subject = plan.arena.subject;
  if (plan.shared_weights) {
    copy.assign(plan.arena.base, plan.arena.base + plan.arena.bytes);
    subject = subject_in(plan.arena, copy.data());
  }
  std::visit(
      [&](auto const& k) {
        constexpr ScratchNeeds kNeeds = std::decay_t<decltype(k)>::kNeeds;
        constexpr int kTile = LaneTiles<P, kV>::kTile;
        std::vector<float> memory(static_cast<std::size_t>(scratch_rows(subject, kNeeds) * kTile),
                                  -1.0F);
        Scratch const scratch = lay_out_scratch(subject, kNeeds, kTile, memory.data());
        for (std::int64_t at = 0; at < count_of(range); at += kTile)
          k.template operator()<P, kV>(subject, at, scratch);
      },
      kernel);
}

}  // namespace fairlane
