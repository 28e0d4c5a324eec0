// The state of what is executed: launches, blocks, warps.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tests/gpusim/kernel.h"
#include "tests/gpusim/races.h"

namespace fairlane::gpusim {

// Generic addresses of shared memory are kSharedWindow + offset, of local memory kLocalWindow +
// offset; those of global memory are the process's own, which never reach so far.
inline constexpr int kWindowShift = 56;
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << kWindowShift;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << kWindowShift;
inline constexpr std::uint64_t kSharedStart = 1024;  // as on sm_90; no object lies at 0

class Machine;
struct Block;

/// How far a warp has come, were it alone, by one reckoning of what memory takes.
/// clock      when the instructions since the last branch began
/// latest     when the last of their operands is there, which the instruction latest_pc wants
/// ready      [registers, then predicates] when its value is there
struct WarpClock {
  std::uint64_t clock = 0;
  std::uint64_t latest = 0;
  std::uint32_t latest_pc = 0;
  std::vector<std::uint64_t> ready;
};

/// executed   SASS instructions; issued: those since the last branch
/// near, far  with global memory in L2, and behind it
struct WarpCost {
  std::uint64_t executed = 0;
  std::uint64_t issued = 0;
  WarpClock near;
  WarpClock far;
};

/// Sets of lanes are words with a bit for each.
/// registers   rows of 32 values
/// local       [lane][local_bytes]
/// predicates  [predicate] of lanes
/// live        lanes that have not ended; of them wait: at_barrier, at_sync, together waiting
/// epoch       how often all its lanes have met
/// now         the instruction under way
/// passed_over  quanta in a row that ended without a turn of some of its lanes
struct Warp {
  Machine* machine = nullptr;
  Block* block = nullptr;
  Kernel* kernel = nullptr;
  std::uint8_t* registers = nullptr;
  std::uint8_t* local = nullptr;
  std::uint32_t* predicates = nullptr;
  std::uint32_t pc[kLanes] = {};
  std::uint32_t live = 0;
  std::uint32_t waiting = 0;
  std::uint32_t at_barrier = 0;
  std::uint32_t at_sync = 0;
  std::uint32_t epoch = 0;
  int index = 0;
  std::vector<std::uint32_t> stack[kLanes];  // where calls return to
  std::uint32_t now = 0;
  std::uint32_t passed_over = 0;
  WarpCost cost;

  template <class T>
  T* row(Operand const& o) {
    return reinterpret_cast<T*>((o.constant ? kernel->constants.data() : registers) + o.off);
  }
  std::uint32_t predicate(Operand const& o) const {
    return o.negated ? ~predicates[o.off] : predicates[o.off];
  }
  void set_predicate(Operand const& o, std::uint32_t value, std::uint32_t lanes) {
    predicates[o.off] = (predicates[o.off] & ~lanes) | (value & lanes);
  }
};

/// written, cells: as those of an Allocation, of the block's shared memory
/// memory           the registers, predicates and local memory of its warps
/// seen             [warp][warp] up to which step the second one's accesses came before what the
///                  first one does next, by barriers of a part of the block; empty: none yet
struct Block {
  struct Launch* launch = nullptr;
  std::uint32_t index = 0;
  std::uint32_t epoch = 0;  // how often all its threads have met
  std::vector<Warp> warps;
  std::vector<std::uint8_t> shared;
  std::vector<std::uint8_t> written;
  std::vector<Cell> cells;
  std::vector<std::uint8_t> memory;
  std::vector<std::vector<std::uint32_t>> seen;

  bool done() const {
    for (auto const& warp : warps) {
      if (warp.live != 0) return false;
    }
    return true;
  }
};

/// parameters  [the kernel's parameter_bytes]
/// together    whether all blocks must be under way at once
struct LaunchShape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t dynamic_shared = 0;
  bool together = false;
  std::vector<std::uint8_t> parameters;

  std::uint32_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  std::uint32_t threads_per_block() const { return block[0] * block[1] * block[2]; }
};

/// step        counts accesses; execution: instructions that access memory
/// workspace   in device memory, for the barrier of a grid
struct Launch {
  Kernel* kernel = nullptr;
  LaunchShape const* shape = nullptr;
  std::uint32_t id = 0;
  std::uint32_t step = 0;
  std::uint32_t execution = 0;
  std::uint64_t workspace = 0;
  Order order;
};

/// Calls work(lane) for every lane of the set, ascending.
template <class Work>
void each_lane(std::uint32_t lanes, Work const& work) {
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) work(__builtin_ctz(rest));
}

/// Number of a lane's thread in its launch.
inline std::uint32_t thread_of(Warp const& warp, int lane) {
  Block const& block = *warp.block;
  return block.index * block.launch->shape->threads_per_block() +
         static_cast<std::uint32_t>(warp.index * kLanes + lane);
}

}  // namespace fairlane::gpusim
