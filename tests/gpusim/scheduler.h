// Which lanes of a warp go on, and how far.
#pragma once

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// Executes up to `quantum` instructions of a warp; whether any of its lanes could go on.
bool run_warp(Warp& warp, int quantum);

}  // namespace fairlane::gpusim
