// Where the arrays of a block's lanes lie in its memory.
#pragma once

#include <cstddef>

#include "kernels/rounds/lattice_rounds.h"

namespace fairlane {

/// Hands out arrays from one block of memory; with a null base it only counts.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  void take(T*& array, std::size_t count) {
    array = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    constexpr std::size_t kAlignment = 256;
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

/// A block's arrays over lanes, and the bytes that they take.
struct LaneMemory {
  LaneState lanes;
  MarginLanes margin;
  LatticeLanes lattice;
  std::size_t bytes = 0;
};

/// words: of a group's key. stride: lanes with their padding. base: null to learn the bytes
inline LaneMemory lay_out_lanes(Subject const& subject, int words, long stride, Phase phase,
                                std::byte* base) {
  auto const lanes = static_cast<std::size_t>(stride);
  auto const columns = static_cast<std::size_t>(subject.columns);
  auto const movable = static_cast<std::size_t>(subject.movable_count);
  auto const key_words = static_cast<std::size_t>(words);
  Carver memory(base);
  LaneMemory out;
  LaneState& s = out.lanes;
  s.stride = stride;
  memory.take(s.x, columns * lanes);
  memory.take(s.key, key_words * lanes);
  for (auto* array : {&s.variant, &s.seed, &s.iteration, &s.renewals, &s.labels, &s.place_seed,
                      &s.place_iteration, &s.found_labels}) {
    memory.take(*array, lanes);
  }
  for (auto* array : {&s.hit, &s.label, &s.pair, &s.partner, &s.flags, &s.list, &s.open, &s.chosen,
                      &s.second, &s.found_flags}) {
    memory.take(*array, lanes);
  }
  for (auto& stage : s.stages) {
    memory.take(stage.place, lanes);
    memory.take(stage.label, lanes);
    memory.take(stage.flags, lanes);
  }
  memory.take(s.counts, 3);
  memory.take(s.mark, lanes);
  memory.take(s.rows, 2 * columns * lanes);
  memory.take(s.gradient, 2 * columns * lanes);
  if (phase == Phase::kGlobal) {
    memory.take(s.momentum, columns * lanes);
    memory.take(s.partner_momentum, columns * lanes);
    memory.take(s.outcome, lanes);
  } else {
    memory.take(s.origin, columns * lanes);
    memory.take(s.origin_key, key_words * lanes);
    memory.take(s.origin_labels, lanes);
    memory.take(s.weights, columns * lanes);
    memory.take(s.origin_weights, columns * lanes);
    if (base != nullptr) s.total = s.weights + movable * lanes;
    memory.take(s.streak, lanes);
    memory.take(s.odds, 2 * movable);
    memory.take(s.events, kEventsPerAttribute * movable);
  }

  MarginLanes& m = out.margin;
  auto& probe = m.probe;
  for (auto* array :
       {&probe.low, &probe.high, &probe.side_a, &probe.side_b, &probe.best_a, &probe.best_b,
        &probe.member_a, &probe.member_b, &m.misses, &m.stale, &m.hit_side_a, &m.hit_side_b,
        &m.hit_member_a, &m.hit_member_b, &m.move, &m.move_step}) {
    memory.take(*array, lanes);
  }
  for (auto* array :
       {&probe.low_margin, &probe.margin_a, &probe.margin_b, &probe.best_margin_a,
        &probe.best_margin_b, &m.hit_margin_a, &m.hit_margin_b, &m.margin_a, &m.margin_b}) {
    memory.take(*array, lanes);
  }
  probe.label = s.label;
  probe.packed = s.labels;
  probe.flags = s.flags;
  memory.take(m.slope_a, columns * lanes);
  memory.take(m.slope_b, columns * lanes);
  memory.take(m.tried, 2 * static_cast<std::size_t>(move_words(subject)) * lanes);
  if (phase == Phase::kLocal) {
    LatticeLanes& l = out.lattice;
    l.stride = stride;
    memory.take(l.side_a, lanes);
    memory.take(l.side_b, lanes);
    memory.take(l.margin_a, lanes);
    memory.take(l.margin_b, lanes);
    memory.take(l.sign_b, lanes);
    memory.take(l.trial, kMostTrials * lanes);
    memory.take(l.trial_hash, kMostTrials * lanes);
  }
  out.bytes = memory.used();
  return out;
}

/// Which lanes move where when those with keep [size] == 0 are dropped: the ones behind the new end
/// fill the holes before it. Returns how many stay.
template <class Keep, class List>
int fill_holes(Keep const& keep, int size, List& from, List& to) {
  int kept = 0;
  for (int lane = 0; lane < size; ++lane) kept += keep[static_cast<std::size_t>(lane)] != 0 ? 1 : 0;
  for (int lane = 0; lane < size; ++lane) {
    bool const stays = keep[static_cast<std::size_t>(lane)] != 0;
    if (lane < kept && !stays) to.push_back(lane);
    if (lane >= kept && stays) from.push_back(lane);
  }
  return kept;
}

}  // namespace fairlane
