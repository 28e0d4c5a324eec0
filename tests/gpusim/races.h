// Data races: two accesses of a word, one of them a write, that nothing orders. What orders them:
// barriers of a block, meetings of a warp, and fences together with volatile or atomic accesses.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tests/gpusim/instruction.h"

namespace fairlane::gpusim {

struct Block;
struct Launch;

/// mask       bytes of the word
/// execution  which instruction of the launch it was of
struct Access {
  std::uint32_t thread = 0;
  std::uint16_t block_epoch = 0;
  std::uint16_t warp_epoch = 0;
  std::uint32_t step = 0;
  std::uint32_t execution = 0;
  std::uint8_t mask = 0;
  bool strong = false;
  Instruction const* instruction = nullptr;
};

/// Who used a word last, in the launch `launch`.
struct Cell {
  std::uint32_t launch = 0;
  Access write;
  Access reads[2];
};

/// What came before a thread's next access: other threads' accesses up to a step of theirs.
using Before = std::unordered_map<std::uint32_t, std::uint32_t>;

/// Order by fences, per launch.
/// released  by address: what was before the last fence of who wrote there
/// before    by thread; pending: what it has read of, until its next fence
/// fenced    by thread: the step of its last fence
struct Order {
  std::unordered_map<std::uint64_t, Before> released;
  std::unordered_map<std::uint32_t, Before> before;
  std::unordered_map<std::uint32_t, Before> pending;
  std::unordered_map<std::uint32_t, std::uint32_t> fenced;
};

/// Where an access goes: in this process; `written` and `cell` as in Allocation.
struct Place {
  std::uint8_t* at = nullptr;
  std::uint8_t* written = nullptr;
  Cell* cell = nullptr;
};

/// What an access does: same: it writes what is there already.
struct Use {
  bool write = false;
  bool read = false;
  bool same = false;
};

/// What warps did before they met at a barrier of a part of the block comes before what they do
/// next. met [warp] lanes
void order_by_meeting(Block& block, std::vector<std::uint32_t> const& met);

/// Notes an access of `size` bytes at a place with a cell, and complains where it races.
void watch(Instruction const& i, Warp& w, int lane, Place const& place, int size, Use use);

/// A volatile or atomic write: it shows what was before the writer's last fence. keep: it adds to
/// what the address showed before.
void note_release(Warp& w, int lane, std::uint64_t address, bool keep);
/// A volatile or atomic read: after the next fence it is after what the address shows.
void note_acquire(Warp& w, int lane, std::uint64_t address);

/// membar, fence.
void fence(Instruction const& i, Warp& w, std::uint32_t lanes);

}  // namespace fairlane::gpusim
