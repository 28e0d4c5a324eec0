// The order in which the search for a second label tries the variants of a group.

#include <algorithm>
#include <numeric>

#include "kernels/core/philox.h"
#include "kernels/cpu/cpu_block.h"

namespace fairlane {

namespace {

constexpr int kSampleEvaluations = 1 << 18;  // a few milliseconds for a small network
constexpr int kLeastGroups = 64;
constexpr int kMostGroups = 4096;
constexpr int kChosen = 32;  // variants placed by their gain; later ones are rarely reached

/// Labels of every variant of `groups` uniform groups: [variants][groups].
std::vector<std::uint8_t> sample_labels(PackedSubject const& packed, LaneKernels const& kernels,
                                        int groups) {
  Subject const& s = packed.get();
  LaneArray<std::int32_t> x(s.columns, groups);
  for (int c = 0; c < s.columns; ++c) {
    auto const range = static_cast<std::uint32_t>(s.high[c] - s.low[c]) + 1U;
    for (int i = 0; i < groups; ++i) {
      auto const words = philox<ScalarPack>(static_cast<std::uint32_t>(i),
                                            static_cast<std::uint32_t>(Phase::kData),
                                            static_cast<std::uint32_t>(c), 0U, 0U);
      x(c, i) = s.low[c] + static_cast<std::int32_t>(below<ScalarPack>(words.w[0], range));
    }
  }
  ScratchMemory const scratch(s, kernels.tile_lanes);
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(s.variants) *
                                   static_cast<std::size_t>(groups));
  kernels.variant_labels(s, x.data(), groups, groups, scratch.get(), labels.data(), groups);
  return labels;
}

}  // namespace

std::vector<int> separating_order(PackedSubject const& packed, LaneKernels const& kernels) {
  Subject const& s = packed.get();
  int const variants = s.variants;
  int const wanted = std::clamp(kSampleEvaluations / variants, kLeastGroups, kMostGroups);
  int const groups = wanted / kPadLanes * kPadLanes;
  auto const labels = sample_labels(packed, kernels, groups);
  auto const label = [&](int v, int g) {
    return labels[static_cast<std::size_t>(v) * static_cast<std::size_t>(groups) +
                  static_cast<std::size_t>(g)];
  };
  std::vector<int> order(s.variant_order, s.variant_order + variants);
  std::vector<char> settled(static_cast<std::size_t>(groups), 0);
  // The first variant stays (an end of the product); each next one shows a second label in most of
  // the groups left.
  int const chosen = std::min(variants, kChosen);
  for (int place = 1; place < chosen; ++place) {
    int best = place;
    int best_gain = -1;
    for (int i = place; i < variants; ++i) {
      int gain = 0;
      for (int g = 0; g < groups; ++g) {
        gain += settled[static_cast<std::size_t>(g)] == 0 &&
                        label(order[static_cast<std::size_t>(i)], g) != label(order.front(), g)
                    ? 1
                    : 0;
      }
      if (gain > best_gain) {
        best_gain = gain;
        best = i;
      }
    }
    if (best_gain <= 0) break;
    std::rotate(order.begin() + place, order.begin() + best, order.begin() + best + 1);
    for (int g = 0; g < groups; ++g) {
      if (label(order[static_cast<std::size_t>(place)], g) != label(order.front(), g))
        settled[static_cast<std::size_t>(g)] = 1;
    }
  }
  return order;
}

}  // namespace fairlane
