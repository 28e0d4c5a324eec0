// What a warp does of a walk on chip: a piece of WalkGroups (kernels/device/walk/walk_kernels.h).
#pragma once

#include "kernels/core/walk/walk_members.h"
#include "kernels/device/walk/walk_kernels.h"

namespace fairlane {

/// Counts a piece. near: the model as it may lie on chip; sums: counters that are added to
template <Pack P, class Team>
FL_HD void walk_piece(WalkGroups const& of, WalkModel const& near, WalkMemory const& m, int piece,
                      typename Team::Counter* sums) {
  constexpr int kWord = 32;
  static_assert(kWord % P::kLanes == 0);
  Subject const& s = of.subject;
  int const tile = piece / of.parts;
  int const begin = (piece - tile * of.parts) * of.part_members;
  int const end =
      begin + of.part_members < of.walk.members ? begin + of.part_members : of.walk.members;
  std::int64_t const at = static_cast<std::int64_t>(tile) * P::kLanes;
  auto* const words = reinterpret_cast<typename Team::Mixed*>(of.mixed + at / kWord);
  auto const bit = static_cast<int>(at % kWord);
  std::int64_t const left = of.heads - at;
  if (left <= 0) {  // behind the last head, where its word ends
    for (int g = begin / s.variants; g * s.variants < end; ++g)
      if (Team::takes(0)) Team::merge(words + static_cast<long>(g) * of.stride, bit, 0);
    return;
  }
  WalkMembers<P, Team> const members{s, of.walk, near, m};
  members.load(of.first + at);
  using Word = typename Team::Word;
  auto const valid =
      static_cast<Word>(low_bits(static_cast<int>(left < P::kLanes ? left : P::kLanes)));
  typename WalkTally<P, 1, Team>::Target const target{m.base + m.logits,
                                                      P::kLanes,
                                                      valid,
                                                      reinterpret_cast<Word*>(m.base + m.words),
                                                      m.base + m.terms,
                                                      words,
                                                      of.stride,
                                                      bit,
                                                      sums};
  members.count(begin, end, target);
}

}  // namespace fairlane
