// The lanes that a team (a warp on a GPU) takes through many rounds of a search, and what it keeps
// of them on chip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/core/pack.h"

namespace fairlane {

/// What a lane stands before.
enum class Stage : std::uint8_t {
  kResting,  // its rounds are over
  kStale,    // new partner and weights
  kReady,    // a step
  kUnknown,  // the evaluation of its group
};
inline constexpr int kWorkStages = 3;  // those that are work
FL_HD Stage work_stage(int k) { return static_cast<Stage>(static_cast<int>(Stage::kStale) + k); }

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
