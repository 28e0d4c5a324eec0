#include "kernels/device/wide_plan.h"

#include <algorithm>

namespace fairlane {

namespace {

/// A whole number of quads, at least one.
int down(std::int64_t count) { return std::max(kQuad, static_cast<int>(count / kQuad * kQuad)); }
std::int64_t up(std::int64_t count) { return (count + kQuad - 1) / kQuad * kQuad; }

}  // namespace

WideNeeds wide_needs(Subject const& subject, int members, int terms) {
  auto const& net = subject.network;
  std::int64_t const logits = static_cast<std::int64_t>(members + terms) * net.outputs();
  // A scorer's rows, and its answers before they are stored.
  if (net.layers == 0) return {logits, subject.inputs + net.outputs()};
  return {subject.input_prefix + net.layer[0].forward.outputs + logits,
          subject.inputs + 2 * net.max_width};
}

WideNeeds wide_gradient_needs(Subject const& subject) {
  auto const& net = subject.network;
  return {0, net.sum_width + 2 * net.max_width + GradientTiles::kNeeds.several * net.outputs()};
}

WideChunk wide_chunk(WideNeeds needs, std::int64_t lanes, int members, std::int64_t floats) {
  WideChunk chunk;
  std::int64_t const wanted = up(lanes);
  if (needs.per_lane == 0) {
    // Lanes pass through the network whole.
    std::int64_t const fit = floats / (needs.per_row * members);
    chunk.lanes = down(std::min(wanted, fit));
    chunk.rows = chunk.lanes * members;
    return chunk;
  }
  // Half for lanes, the other half, and what lanes leave, for rows. Rows are counted by an int.
  constexpr std::int64_t kMostRows = 1 << 30;
  std::int64_t const fit = std::min(floats / 2 / needs.per_lane, kMostRows / members);
  chunk.lanes = down(std::min(wanted, fit));
  std::int64_t const left = floats - chunk.lanes * needs.per_lane;
  std::int64_t const rows = static_cast<std::int64_t>(chunk.lanes) * members;
  chunk.rows = down(std::min(rows, left / needs.per_row));
  return chunk;
}

std::int64_t wide_floor(Subject const& subject) {
  std::int64_t floor = 2 * kQuad * wide_gradient_needs(subject).per_row;
  for (int const members :
       {subject.variants, static_cast<int>(kPartnerTries) + 1, subject.movable_count + 1}) {
    auto const needs = wide_needs(subject, members, ProbeTiles::kNeeds.terms);
    floor = std::max(floor, 2 * kQuad * std::max(needs.per_lane, needs.per_row));
  }
  return floor;
}

std::int64_t wide_floats(Subject const& subject, std::int64_t bytes) {
  return std::max(wide_floor(subject), bytes / static_cast<std::int64_t>(sizeof(float)));
}

BlockKernel choose_blocks(Dense const& product, DeviceLimits const& limits) {
  if (product.outputs <= NarrowDense::kOutputs) return NarrowDense{product};
  LargeDense const large{product};
  SmallDense const small{product};
  bool const fills = large.blocks() >= limits.multiprocessors;
  // A large tile should do its work in about three quarters of the time, by its loads of shared
  // memory per multiply-add. That is lost where the last one is mostly padding.
  bool const padded = 3 * large.output_tiles() * LargeDense::kOutputs >=
                      4 * small.output_tiles() * SmallDense::kOutputs;
  if (fills && !padded) return large;
  return small;
}

}  // namespace fairlane
