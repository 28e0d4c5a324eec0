// The lanes that a team (a warp on a GPU) takes through many rounds of a search, and what it keeps
// of them on chip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/core/pack.h"

namespace fairlane {

/// What a lane stands before; of what is work, the rarest first.
enum class Stage : std::uint8_t {
  kResting,  // its rounds are over
  kStale,    // new partner and weights
  kUnknown,  // the evaluation of its group
  kReady,    // a step
};
inline constexpr int kWorkStages = 3;  // those that are work
FL_HD Stage work_stage(int k) { return static_cast<Stage>(static_cast<int>(Stage::kStale) + k); }

inline constexpr int kFullest = 256;  // `enough` where the first stage never goes first

/// The stage that a team goes through next, before which n lanes stand; kResting: none does. The
/// fullest, but the first one, which is rare, as soon as `enough` lanes wait for it: those that
/// wait fall behind, and in the end go on with packs half empty.
/// waiting  a byte for each stage that is work: lanes before it
FL_HD Stage choose_stage(unsigned waiting, int enough, int& n) {
  Stage chosen = work_stage(0);
  int const rare = static_cast<int>(waiting & 0xFFU);
  n = rare;
  for (int k = 1; k < kWorkStages; ++k) {
    int const here = static_cast<int>(waiting >> (8 * k) & 0xFFU);
    if (here <= n || rare >= enough) continue;
    chosen = work_stage(k);
    n = here;
  }
  return n > 0 ? chosen : Stage::kResting;
}

inline constexpr int kThreadLanes = 4;  // of a window, whose stages a thread reads as one word

/// A team's lanes, and memory of its own.
/// lane   the first lane; count: how many; room: for how many there is memory
/// place  the first of the team's places in the arrays over places, kTake of them
/// stage  [count] what each stands before; left [count]: rounds that it still begins
/// list   [kTake] lanes that go through a stage together
/// labels, flags  [kTake] of their groups
/// turn   thread whose lanes are looked at first, so that none falls behind
struct Window {
  long lane = 0;
  int count = 0;
  int room = 0;
  long place = 0;
  Stage* stage = nullptr;
  std::uint16_t* left = nullptr;
  std::int32_t* list = nullptr;
  std::uint32_t* labels = nullptr;
  std::int32_t* flags = nullptr;
  int turn = 0;
};

/// Lays a window's memory out, with room for so many lanes, of which `take` go through a stage
/// together; with a null `memory` it only counts. Returns the bytes, a multiple of 16.
FL_HD int lay_out_window(int lanes, int take, std::byte* memory, Window& w) {
  constexpr int kAligned = 16;
  int used = 0;
  auto const array = [&](auto*& to, int count) {
    if (memory != nullptr) to = reinterpret_cast<std::decay_t<decltype(to)>>(memory + used);
    used += (count * static_cast<int>(sizeof *to) + kAligned - 1) / kAligned * kAligned;
  };
  w.room = (lanes + kThreadLanes - 1) / kThreadLanes * kThreadLanes;
  array(w.list, take);
  array(w.labels, take);
  array(w.flags, take);
  array(w.left, w.room);
  array(w.stage, w.room);
  return used;
}

}  // namespace fairlane
