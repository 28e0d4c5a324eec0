// The simulated machine: executes launches, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/gpusim/complaints.h"
#include "tests/gpusim/costs.h"
#include "tests/gpusim/memory.h"
#include "tests/gpusim/options.h"
#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// Random bits (xorshift64*).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9E3779B97F4A7C15ULL) {}
  std::uint64_t draw() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::uint64_t below(std::uint64_t count) { return draw() % count; }

 private:
  std::uint64_t state_;
};

class Machine {
 public:
  explicit Machine(Options const& how)
      : options(how), random(how.seed), memory(options), costs(options, memory) {}

  void run(Kernel& kernel, LaunchShape const& shape);
  /// Writes what the options ask for.
  void report();

  Options const options;
  Random random;
  DeviceMemory memory;
  Complaints complaints;
  Costs costs;
  std::uint64_t ticks = 0;  // what clocks of kernels show

 private:
  void fill(std::vector<std::unique_ptr<Block>>& resident, Launch& launch, std::uint32_t& next);
  [[noreturn]] void deadlock(std::vector<std::unique_ptr<Block>> const& blocks);

  std::uint32_t launches_ = 0;
  std::vector<Kernel*> used_;                     // in the order of their first launches
  std::vector<std::vector<std::uint8_t>> spare_;  // memory of blocks that are done
};

}  // namespace fairlane::gpusim
