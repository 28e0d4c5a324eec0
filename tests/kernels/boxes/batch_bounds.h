// What batches of boxes say, as numbers to compare.
#pragma once

#include <algorithm>
#include <cmath>
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

/// A box of codes, the first of which is any of its range.
inline std::vector<InputSpread> spread_of(std::vector<Interval> const& box) {
  std::vector<InputSpread> inputs;
  for (auto const& [low, high] : box) {
    double const values = inputs.empty() ? 1.0 : high - low + 1.0;
    double const mean = (low + high) / 2.0;
    inputs.push_back({inputs.empty() ? low : mean, inputs.empty() ? high : mean,
                      (values * values - 1.0) / 12.0, values > 1.0 ? values * values / 4.0 : 0.0});
  }
  return inputs;
}

/// What a batch says of boxes, one after the other.
/// all      everything else: lines, sums, and the boxes after narrowing
/// of_most  what is said of most groups, of two boxes out of three
struct BatchBounds {
  std::vector<double> least;
  std::vector<double> most;
  std::vector<double> all;
  std::vector<double> of_most;
};

/// Adds what a lane says of most groups.
inline void append_most(BoxMemory const& memory, int lane, BoxNetwork const& network,
                        std::vector<double>& to) {
  BoxLanes const& b = memory.get();
  for (double* row :
       {b.left_out, b.below_spill, b.above_spill, b.crossing, b.below_constant, b.above_constant})
    to.push_back(memory.at(row, 0, lane));
  for (int k = 0; k < network.inputs; ++k) {
    to.push_back(memory.at(b.below, k, lane));
    to.push_back(memory.at(b.above, k, lane));
  }
}

inline BatchBounds bounds_of(BoxBatch& batch, BoxNetwork const& network,
                             std::vector<std::vector<Interval>> const& boxes, double threshold) {
  BoxMemory& memory = batch.memory();
  BoxLanes const& b = memory.get();
  BatchBounds result;
  auto const lanes = static_cast<std::size_t>(memory.lanes());
  auto const load = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      int const lane = static_cast<int>(i);
      std::size_t const at = first + i;
      memory.at(b.share, 0, lane) = 0.0;
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
  };
  for (std::size_t first = 0; first < boxes.size(); first += lanes) {
    std::size_t const count = std::min(lanes, boxes.size() - first);
    load(first, count);
    batch.bound(0, static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      if ((first + i) % 3 != 2 && std::isfinite(memory.at(b.least, 0, static_cast<int>(i))))
        memory.ask_for_most(static_cast<int>(i), spread_of(boxes[first + i]), threshold, 4);
    }
    batch.bound(0, static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (memory.at(b.share, 0, static_cast<int>(i)) > 0.0)
        append_most(memory, static_cast<int>(i), network, result.of_most);
    }
    load(first, count);
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
