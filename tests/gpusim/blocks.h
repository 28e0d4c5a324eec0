// Blocks as they begin, and the places where their threads wait for each other.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// Readies block `index` of a launch; spare: memory that it may use.
void begin_block(Block& block, Machine& machine, Launch& launch, std::uint32_t index,
                 std::vector<std::vector<std::uint8_t>>& spare);

/// Lets the threads that wait at a barrier of the block go on, where all that it waits for do.
void settle_barrier(Block& block);

/// Executes the instruction at pc, which needs several lanes of the warp, for the sets of lanes
/// that are all there.
void settle_sync(Warp& warp, std::uint32_t pc);

/// Mode of an instruction that only waits for lanes.
inline constexpr std::uint8_t kWarpBarrier = 200;

/// Mode of a barrier that says how many of the block's threads had a predicate, or whether all or
/// any had.
enum BarrierReduction : std::uint8_t { kNoReduction, kCountTrue, kAllTrue, kAnyTrue };

}  // namespace fairlane::gpusim
