#include "kernels/cpu/cpu_walk.h"

#include <algorithm>

#include "kernels/cpu/cpu_block.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMembersPerChunk = 1 << 20;  // some ten milliseconds

class CpuWalker final : public Walker {
 public:
  CpuWalker(PackedSubject const& subject, LaneKernels const& kernels, std::vector<ValueList> lists)
      : subject_(subject.get()), kernels_(kernels), plan_(subject, std::move(lists)) {}

  WalkPlan const& plan() const override { return plan_; }
  std::int64_t chunk() const override {
    return std::max<std::int64_t>(1, kMembersPerChunk / plan_.get().members / kHeadsPerWord) *
           kHeadsPerWord;
  }
  void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
             std::uint64_t* counters) override {
    Walk const& walk = plan_.get();
    ScratchMemory const scratch(subject_, kernels_.tile_lanes);
    int const levels = subject_.columns - walk.first;
    LaneArray<float> sums(levels * subject_.network.layer[0].forward.outputs, kernels_.tile_lanes);
    LaneArray<float> logits(walk.members * subject_.network.outputs(), kernels_.tile_lanes);
    LaneArray<std::uint64_t> words(1 + label_planes(subject_.network.outputs()), subject_.variants);
    LaneArray<std::int32_t> codes(subject_.columns, kernels_.tile_lanes);
    std::fill_n(mixed, walk.groups * head_words(count), 0);
    kernels_.walk(subject_, walk, first, count, scratch.get(),
                  {sums.data(), logits.data(), words.data(), codes.data()}, mixed, counters);
  }

 private:
  Subject const& subject_;
  LaneKernels const& kernels_;
  WalkPlan plan_;
};

}  // namespace

std::unique_ptr<Walker> make_cpu_walker(PackedSubject const& subject, LaneKernels const& kernels,
                                        std::vector<ValueList> lists) {
  return std::make_unique<CpuWalker>(subject, kernels, std::move(lists));
}

}  // namespace fairlane
