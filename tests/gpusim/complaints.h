// What the simulator has to say about a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

/// "KERNEL at FILE:LINE `INSTRUCTION`, block, warp, lane", on lines of their own.
std::string place_of(Instruction const& i, Warp const& w, int lane);

class Complaints {
 public:
  /// Says it, once per instruction.
  void add(Instruction const& i, Warp const& w, int lane, char const* kind,
           std::string const& what);
  /// How often, by kind, kernel and place.
  std::map<std::string, std::uint64_t> const& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

/// Says what went wrong, where, and ends the process.
[[noreturn]] void fault(Instruction const& i, Warp const& w, int lane, std::string const& what);

}  // namespace fairlane::gpusim
