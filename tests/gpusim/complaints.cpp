#include "tests/gpusim/complaints.h"

#include <cstdio>
#include <cstdlib>

#include "tests/gpusim/machine.h"

namespace fairlane::gpusim {

namespace {
constexpr std::size_t kMostOfName = 160;
}

std::string place_of(Instruction const& i, Warp const& w, int lane) {
  return w.kernel->pretty + "\n    at " + w.kernel->places[i.where] + "\n    `" + i.text +
         "`, block " + std::to_string(w.block->index) + ", warp " + std::to_string(w.index) +
         ", lane " + std::to_string(lane);
}

void Complaints::add(Instruction const& i, Warp const& w, int lane, char const* kind,
                     std::string const& what) {
  ++counts_[std::string(kind) + " | " + w.kernel->pretty.substr(0, kMostOfName) + " | " +
            w.kernel->places[i.where]];
  if (i.complaints++ > 0) return;
  std::fprintf(stderr, "gpusim: %s: %s\n    in %s\n", kind, what.c_str(),
               place_of(i, w, lane).c_str());
}

void fault(Instruction const& i, Warp const& w, int lane, std::string const& what) {
  std::fprintf(stderr, "gpusim: FAULT: %s\n    in %s\n", what.c_str(),
               place_of(i, w, lane).c_str());
  w.machine->report();
  std::abort();
}

}  // namespace fairlane::gpusim
