// Where accesses of memory go.
#pragma once

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// The place of `size` bytes at an address of a space; ends the process where there is none.
Place resolve(Instruction const& i, Warp& w, int lane, Space space, std::uint64_t address,
              std::uint64_t size, bool write);

/// What a lane's address operand and the instruction's immediate make.
std::uint64_t address_of(Instruction const& i, Warp& w, int lane);

/// Complains where a byte of the place was never written.
void check_written(Instruction const& i, Warp& w, int lane, Place const& place, int size);

/// The window of the generic addresses of a space; 0: global memory.
std::uint64_t window_of(Space space);

}  // namespace fairlane::gpusim
