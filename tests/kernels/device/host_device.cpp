// Every kernel for the stand-in, compiled once for all the tests that use it.
#include "tests/kernels/device/host_device.h"

#include "tests/kernels/vector_pack.h"

namespace fairlane {

void HostDevice::run(LaneKernel const& kernel, Range range) {
  call();
  std::visit(
      [&](auto const& k) {
        for (std::int64_t i = 0; i < count(range); ++i) k(i);
      },
      kernel);
}

void HostDevice::run(TileKernel const& kernel, TilePlan const& plan, Range range) {
  call();
  if (tile_runs_ != nullptr) ++(*tile_runs_)[plan.packs];
  switch (plan.packs) {
    case 4:
      return run_tiles<4>(kernel, plan, range);
    case 2:
      return run_tiles<2>(kernel, plan, range);
    default:
      return run_tiles<1>(kernel, plan, range);
  }
}

void HostDevice::run(BlockKernel const& kernel) {
  call();
  std::visit(
      [&](auto const& k) {
        HostTeam<std::decay_t<decltype(k)>> team;
        for (int block = 0; block < k.blocks(); ++block) k(team, block);
      },
      kernel);
  if (block_runs_ != nullptr) ++(*block_runs_)[kernel.index()];
}

template <int kV>
void HostDevice::run_tiles(TileKernel const& kernel, TilePlan const& plan, Range range) {
  using P = VectorPack;
  // As a block does: the subject may be read from a copy of its arena.
  std::vector<std::byte> copy;
  Subject subject = plan.arena.subject;
  if (plan.shared_weights) {
    copy.assign(plan.arena.base, plan.arena.base + plan.arena.bytes);
    subject = subject_in(plan.arena, copy.data());
  }
  std::visit(
      [&](auto const& k) {
        constexpr ScratchNeeds kNeeds = std::decay_t<decltype(k)>::kNeeds;
        std::vector<float> memory(static_cast<std::size_t>(scratch_rows(subject, kNeeds) * kV),
                                  -1.0F);
        Scratch const scratch = lay_out_scratch(subject, kNeeds, kV, memory.data());
        for (std::int64_t at = 0; at < count(range); at += kV)
          k.template operator()<P, kV>(subject, at, scratch);
      },
      kernel);
}

}  // namespace fairlane
