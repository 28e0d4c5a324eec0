// What batches of boxes say, as numbers to compare.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/boxes/box_batch.h"
#include "tests/kernels/random_subject.h"

namespace fairlane {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// A box of one of the subject's inputs, which are codes.
inline std::vector<Interval> some_box(RandomSubject& subject) {
  std::vector<Interval> box;
  for (std::size_t a = 0; a < subject.view.low.size(); ++a) {
    std::int32_t const low = subject.uniform(subject.view.low[a], subject.view.high[a]);
    box.push_back({static_cast<double>(low),
                   static_cast<double>(subject.uniform(low, subject.view.high[a]))});
  }
  return box;
}

/// What a batch says of boxes, one after the other.
struct BatchBounds {
  std::vector<double> least;
  std::vector<double> most;
  std::vector<double> all;  // everything else: lines, sums, and the boxes after narrowing
};

inline BatchBounds bounds_of(BoxBatch& batch, BoxNetwork const& network,
                             std::vector<std::vector<Interval>> const& boxes, double threshold) {
  BoxMemory& memory = batch.memory();
  BoxLanes const& b = memory.get();
  BatchBounds result;
  auto const lanes = static_cast<std::size_t>(memory.lanes());
  for (std::size_t first = 0; first < boxes.size(); first += lanes) {
    std::size_t const count = std::min(lanes, boxes.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      std::size_t const at = first + i;
      for (int k = 0; k < network.inputs; ++k) {
        memory.at(b.low, k, lane) = boxes[at][static_cast<std::size_t>(k)].low;
        memory.at(b.high, k, lane) = boxes[at][static_cast<std::size_t>(k)].high;
      }
      for (int u = 0; u < network.units; ++u) {
        memory.at(b.sum_low, u, lane) = -kUnknown;
        memory.at(b.sum_high, u, lane) = kUnknown;
      }
      memory.at(b.wanted, 0, lane) = at % 2 == 0 ? 1.0 : -1.0;
    }
    batch.bound(0, static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      result.least.push_back(memory.at(b.least, 0, lane));
      result.most.push_back(memory.at(b.most, 0, lane));
    }
    batch.narrow(0, threshold, static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      bool const possible = memory.at(b.possible, 0, lane) != 0.0;
      result.all.push_back(possible ? 1.0 : 0.0);
      for (int k = 0; k < network.inputs; ++k) {
        for (double* rows : {b.below, b.above, b.low, b.high}) {
          // What is narrowed to nothing has no values of its own.
          result.all.push_back(possible ? memory.at(rows, k, lane) : 0.0);
        }
      }
      for (int u = 0; u < network.units; ++u) {
        result.all.push_back(possible ? memory.at(b.sum_low, u, lane) : 0.0);
        result.all.push_back(possible ? memory.at(b.sum_high, u, lane) : 0.0);
      }
    }
  }
  return result;
}

}  // namespace fairlane
