// A search for a discriminatory group in boxes: Newton steps on the lattice towards where the
// threshold lies between two variants, a box a lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/verify/box_domain.h"
#include "kernels/boxes/box_network.h"
#include "kernels/row_describer.h"

namespace fairlane {

/// Two variants of one group, the first of which has label 1 and the second label 0.
struct VariantPair {
  int upper = -1;
  int lower = -1;
};

/// A place to look from.
/// entries  [axes]
struct FoundGroup {
  std::vector<std::int32_t> entries;
  VariantPair pair;
};

/// One thread's.
class BoxSearch {
 public:
  BoxSearch(BoxDomain const& domain, BoundNetwork const& network, BoxKernels const& kernels,
            RowDescriber& rows, double threshold);

  /// A box to search, and where.
  /// id  from which its random numbers come
  struct Task {
    std::uint64_t id = 0;
    std::span<AxisRange const> box;
    std::span<int const> variants;
    int steps = 0;
  };
  /// found [tasks], at most as many as kernels take lanes. compares(v, w): pairs that count
  template <class Compares>
  void search(std::span<Task const> tasks, std::span<std::optional<FoundGroup>> found,
              Compares const& compares) {
    begin(tasks);
    int steps = 0;
    for (Task const& task : tasks) steps = std::max(steps, task.steps);
    for (int step = 0; step < steps; ++step) {
      evaluate(tasks);
      bool all = true;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!found[i]) found[i] = pair_at(i, tasks[i], compares);
        all = all && (found[i] || step + 1 >= tasks[i].steps);
      }
      if (all) return;
      move(tasks);
    }
  }

  /// The first pair of variants of a group that have different labels, in float32. logits_ [of the
  /// variants]
  template <class Compares>
  std::optional<VariantPair> certain_pair(std::span<std::int32_t const> entries,
                                          std::span<int const> variants, Compares const& compares) {
    evaluate_rows(entries, variants);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (labels_[i] != 1) continue;
      for (std::size_t j = 0; j < variants.size(); ++j) {
        if (labels_[j] == 0 && compares(variants[i], variants[j]))
          return VariantPair{variants[i], variants[j]};
      }
    }
    return std::nullopt;
  }

  /// Whether an output of the group evaluated last is not finite.
  bool undefined() const { return std::ranges::count(labels_, -1) > 0; }

 private:
  struct Lane {
    std::vector<std::int32_t> entries;  // [axes]
    std::vector<double> outputs;        // [variants]
    double middle = 0.0;                // between the extreme outputs, from the threshold
    double best = 0.0;                  // least |middle| since the last start
    int since = 0;                      // steps since it became less
    std::uint32_t draws = 0;
  };

  void begin(std::span<Task const> tasks);
  void restart(Lane& lane, Task const& task);
  void evaluate(std::span<Task const> tasks);
  /// Labels of a group's variants as the subject has them; -1 where undefined.
  void evaluate_rows(std::span<std::int32_t const> entries, std::span<int const> variants);
  void move(std::span<Task const> tasks);
  void place(int lane, int variant);
  void step_lane(int lane, Task const& task);

  template <class Compares>
  std::optional<FoundGroup> pair_at(std::size_t i, Task const& task, Compares const& compares) {
    Lane const& lane = lanes_[i];
    bool above = false;
    bool below = false;
    for (double const z : lane.outputs) (z > threshold_ ? above : below) = true;
    if (!above || !below) return std::nullopt;
    auto const pair = certain_pair(lane.entries, task.variants, compares);
    if (!pair) return std::nullopt;
    return FoundGroup{lane.entries, *pair};
  }

  BoxDomain const& domain_;
  BoxNetwork const& network_;
  BoxKernels const& kernels_;
  RowDescriber& rows_;
  double threshold_;
  BoxMemory memory_;
  std::vector<Lane> lanes_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> row_;
  std::vector<float> logits_;
  std::vector<Interval> inputs_;
};

}  // namespace fairlane
