// Run-time choice of the instruction set.

#include <hwy/targets.h>

#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cpu/lane_kernels.h"

namespace fairlane {

// cmake/isa.cmake decides which instruction sets a build has.
#if !defined(FAIRLANE_ISA_avx2)
LaneKernels const* kernels_avx2() { return nullptr; }
BoxKernels const* box_kernels_avx2() { return nullptr; }
#endif
#if !defined(FAIRLANE_ISA_avx512)
LaneKernels const* kernels_avx512() { return nullptr; }
BoxKernels const* box_kernels_avx512() { return nullptr; }
#endif
#if !defined(FAIRLANE_ISA_neon)
LaneKernels const* kernels_neon() { return nullptr; }
BoxKernels const* box_kernels_neon() { return nullptr; }
#endif

namespace {

/// Kernels of one instruction set. Its functions may run only where the processor has it.
struct InstructionSet {
  LaneKernels const* (*lanes)();
  BoxKernels const* (*boxes)();
  bool runs;
};

/// Those that this build has and this processor runs, the best one first.
std::vector<InstructionSet> available() {
  auto const supported = hwy::SupportedTargets();
  InstructionSet const all[] = {
      {kernels_avx512, box_kernels_avx512, (supported & HWY_AVX3) != 0},
      {kernels_avx2, box_kernels_avx2, (supported & HWY_AVX2) != 0},
      {kernels_neon, box_kernels_neon, (supported & HWY_NEON) != 0},
      {kernels_portable, box_kernels_portable, true},
  };
  std::vector<InstructionSet> sets;
  for (InstructionSet const& set : all) {
    if (set.runs && set.lanes() != nullptr) sets.push_back(set);
  }
  return sets;
}

/// isa  a name of cpu_instruction_sets(); empty: the best one
InstructionSet select(std::string const& isa) {
  auto const sets = available();
  if (isa.empty()) return sets.front();
  std::string names;
  for (InstructionSet const& set : sets) {
    char const* const name = set.lanes()->isa;
    if (isa == name) return set;
    names += names.empty() ? name : std::string(", ") + name;
  }
  throw Error(ExitCode::kUnavailable,
              "instruction set '" + isa +
                  "' is not available here; this build and processor have: " + names);
}

}  // namespace

std::vector<std::string> cpu_instruction_sets() {
  std::vector<std::string> names;
  for (InstructionSet const& set : available()) names.emplace_back(set.lanes()->isa);
  return names;
}

LaneKernels const& select_kernels(char const* isa) { return *select(isa).lanes(); }

BoxKernels const& box_kernels(char const* isa) { return *select(isa).boxes(); }

}  // namespace fairlane
