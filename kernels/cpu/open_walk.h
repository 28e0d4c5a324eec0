// A walk that evaluates little boxes of heads without what is proven to change nothing in them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/cpu/cpu_block.h"
#include "kernels/cpu/open_network.h"
#include "kernels/layout/near_order.h"
#include "kernels/walker.h"

namespace fairlane {

/// Takes heads in an order in which a pack of them makes a small box. The box is looked at, and
/// evaluated without the units that are closed in it, unless its inputs are proven to have one
/// label. One thread's.
class OpenWalk {
 public:
  /// All outlive it. order: of packs of kernels.walk_lanes heads
  OpenWalk(PackedSubject const& subject, WalkPlan const& plan, NearOrder const& order,
           LaneKernels const& kernels, PackBounds const& bounds, Walker::Look look);

  /// As Walker::count_open, of mixed bits that are 0.
  std::int64_t count(std::int64_t first, std::int64_t count, std::uint64_t* mixed,
                     std::uint64_t* counters);
  /// As Walker::try_open.
  void run(std::int64_t head, std::int64_t count);

 private:
  /// Members that are looked at together, and what is known of them in a box.
  struct Part {
    int first = 0;  // member, and behind the last
    int last = 0;
    std::vector<float> low;  // inputs of the level that is parted
    std::vector<float> high;
    bool is_bounded = false;
    std::optional<int> label;
  };
  /// Where counts go. first: head of the first bit of a row of so many words
  struct Out {
    std::int64_t first = 0;
    std::int64_t words = 0;
    std::uint64_t* mixed = nullptr;
    std::uint64_t* counters = nullptr;
  };

  void lay_out_parts(int parts);
  void enclose_tail();
  float* input(int k) { return scratch_.get().in + static_cast<long>(k) * kernels_.walk_lanes; }
  void load_far(std::int64_t base);
  void add(std::int64_t head, std::size_t place);
  void finish_box();
  void load_near();
  void look();
  std::optional<int> common_label() const;
  void evaluate(std::size_t part);
  void fill(Part const& part);
  bool have_label(Part const& part, int label) const;
  void count_uniform(int heads, int label);
  void tally();

  Subject const& subject_;
  Walk const& walk_;
  CountLayout layout_;
  NearOrder const& order_;
  LaneKernels const& kernels_;
  ScratchMemory scratch_;
  LaneArray<float> sums_;
  LaneArray<float> logits_;  // [members][outputs][kTallyLanes]
  LaneArray<float> terms_;
  LaneArray<std::uint64_t> words_;
  std::vector<Part> parts_;
  std::deque<OpenNetwork> open_;  // [parts]
  int parted_ = 0;                // level
  bool groups_apart_ = false;     // no group has members in two parts
  Subject evaluated_;             // without closed units
  std::vector<float> low_;        // [inputs] of the box
  std::vector<float> high_;
  std::vector<float> far_;
  std::vector<std::uint64_t> mixed_;
  std::array<std::size_t, kTallyLanes> place_{};      // in the order, of the box's heads
  std::array<std::int64_t, 2 * kTallyLanes> head_{};  // that are evaluated, and then the box's
  int lanes_ = 0;                                     // of the box
  int filled_ = 0;                                    // that are evaluated
  std::uint64_t valid_ = 0;                           // of these
  std::int64_t skipped_ = 0;                          // groups
  Out out_;
};

}  // namespace fairlane
