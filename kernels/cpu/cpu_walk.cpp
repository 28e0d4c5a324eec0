#include "kernels/cpu/cpu_walk.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/open_walk.h"

namespace fairlane {
namespace {

constexpr std::int64_t kMembersPerChunk = 1 << 20;  // some ten milliseconds
constexpr std::int64_t kMostPeriod = 8192;          // or its values leave a core's nearest caches

/// Fewer in small walks, whose heads would not fill the lanes otherwise.
int most_members(PackedSubject const& subject, LaneKernels const& kernels,
                 std::vector<ValueList> const& lists) {
  // In double precision, for a plan refuses what has too many members only afterwards.
  auto members = static_cast<double>(subject.get().variants);
  for (ValueList const& list : lists) members *= static_cast<double>(list.size());
  return static_cast<int>(std::clamp<double>(members / kernels.walk_lanes, 1, kMostMembers));
}

class CpuWalker final : public Walker {
 public:
  CpuWalker(PackedSubject const& subject, LaneKernels const& kernels, std::vector<ValueList> lists,
            int most_members)
      : subject_(subject), kernels_(kernels), plan_(subject, std::move(lists), most_members) {
    // A proof about outputs does not tell which members exist.
    if (subject.is_constrained()) return;
    if (!PackBounds::knows(subject.get().network) || plan_.get().factors == 0) return;
    bounds_.emplace(subject.get().network);
    order_.emplace(plan_, kernels.walk_lanes,
                   std::min(kMostPeriod, kMembersPerChunk / plan_.get().members));
  }

  WalkPlan const& plan() const override { return plan_; }
  std::int64_t chunk() const override {
    std::int64_t const whole = order_ ? order_->period() : kHeadsPerWord;
    return std::max<std::int64_t>(1, kMembersPerChunk / plan_.get().members / whole) * whole;
  }
  void count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
             std::uint64_t* counters) override {
    Subject const& s = subject_.get();
    Walk const& walk = plan_.get();
    ScratchMemory const scratch(s, kernels_.tile_lanes);
    int const levels = s.columns - walk.first;
    LaneArray<float> sums(levels * s.network.layer[0].forward.outputs, kernels_.tile_lanes);
    LaneArray<float> logits(walk.members * s.network.outputs(), kernels_.tile_lanes);
    LaneArray<std::uint64_t> words(1 + label_planes(s.network.outputs()), s.variants);
    LaneArray<std::int32_t> codes(s.columns, kernels_.tile_lanes);
    std::fill_n(mixed, walk.groups * head_words(count), 0);
    kernels_.walk(s, walk, first, count, scratch.get(),
                  {sums.data(), logits.data(), words.data(), codes.data()}, mixed, counters);
  }
  bool proves() const override { return bounds_.has_value(); }
  std::int64_t count_open(std::int64_t first, std::int64_t count, Look look, std::uint64_t* mixed,
                          std::uint64_t* counters) override {
    if (!proves()) return Walker::count_open(first, count, look, mixed, counters);
    std::fill_n(mixed, plan_.get().groups * head_words(count), 0);
    return OpenWalk(subject_, plan_, *order_, kernels_, *bounds_, look)
        .count(first, count, mixed, counters);
  }
  void try_open(std::int64_t head, std::int64_t count, Look look) override {
    OpenWalk(subject_, plan_, *order_, kernels_, *bounds_, look).run(head, count);
  }

 private:
  PackedSubject const& subject_;
  LaneKernels const& kernels_;
  WalkPlan plan_;
  std::optional<PackBounds> bounds_;
  std::optional<NearOrder> order_;
};

}  // namespace

std::unique_ptr<Walker> make_cpu_walker(PackedSubject const& subject, LaneKernels const& kernels,
                                        std::vector<ValueList> lists) {
  int const most = most_members(subject, kernels, lists);
  return std::make_unique<CpuWalker>(subject, kernels, std::move(lists), most);
}

}  // namespace fairlane
