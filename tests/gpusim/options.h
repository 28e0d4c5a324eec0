// How the simulator runs.
#pragma once

#include <cstdint>
#include <string>

namespace fairlane::gpusim {

/// random           blocks, warps and lanes take turns at random
/// race             look for data races
/// init             look for reads of what nobody wrote
/// seed             of the random turns
/// resident         blocks under way at once
/// shared           bytes of shared memory that a block may have
/// memory           bytes of a device's memory
/// lazy             the work of a stream is done when somebody waits for it
/// host             kernels may use the host's memory, unchecked
/// verbose          names every launch
/// cost, report     files to write; empty: none
/// far              percent of its usual latency that global memory takes in the second reckoning
struct Options {
  bool random = false;
  bool race = false;
  bool init = true;
  std::uint64_t seed = 1;
  int resident = 6;
  int multiprocessors = 2;
  int shared = 227 << 10;
  std::uint64_t memory = std::uint64_t{1} << 30;
  int devices = 1;
  bool lazy = true;
  bool host = false;
  bool verbose = false;
  std::string cost = {};
  unsigned far = 150;
  std::string report = {};
};

/// What the variables of the environment say, whose names begin with GPUSIM_: see README.md.
Options options_of_environment();

}  // namespace fairlane::gpusim
