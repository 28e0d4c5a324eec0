// Run-time choice of the instruction set.

#include <hwy/targets.h>

#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cpu/lane_kernels.h"

namespace fairlane {

#if !defined(__x86_64__)
LaneKernels const* kernels_avx2() { return nullptr; }
LaneKernels const* kernels_avx512() { return nullptr; }
BoxKernels const* box_kernels_avx2() { return nullptr; }
BoxKernels const* box_kernels_avx512() { return nullptr; }
#endif
#if !defined(__aarch64__)
LaneKernels const* kernels_neon() { return nullptr; }
BoxKernels const* box_kernels_neon() { return nullptr; }
#endif

namespace {

std::vector<LaneKernels const*> available() {
  std::vector<LaneKernels const*> tables;
  auto const supported = hwy::SupportedTargets();
  auto const add = [&](LaneKernels const* (*table)(), bool runs) {
    if (runs && table() != nullptr) tables.push_back(table());
  };
  add(kernels_avx512, (supported & HWY_AVX3) != 0);
  add(kernels_avx2, (supported & HWY_AVX2) != 0);
  add(kernels_neon, (supported & HWY_NEON) != 0);
  add(kernels_portable, true);
  return tables;
}

}  // namespace

std::vector<std::string> cpu_instruction_sets() {
  std::vector<std::string> names;
  for (auto const* table : available()) names.emplace_back(table->isa);
  return names;
}

LaneKernels const& select_kernels(char const* isa) {
  auto const tables = available();
  std::string const wanted = isa;
  if (wanted.empty()) return *tables.front();
  std::string names;
  for (auto const* table : tables) {
    if (wanted == table->isa) return *table;
    names += names.empty() ? table->isa : std::string(", ") + table->isa;
  }
  throw Error(ExitCode::kUnavailable,
              "instruction set '" + wanted +
                  "' is not available here; this build and processor have: " + names);
}

BoxKernels const& box_kernels(char const* isa) {
  LaneKernels const& lanes = select_kernels(isa);
  if (&lanes == kernels_avx512()) return *box_kernels_avx512();
  if (&lanes == kernels_avx2()) return *box_kernels_avx2();
  if (&lanes == kernels_neon()) return *box_kernels_neon();
  return *box_kernels_portable();
}

}  // namespace fairlane
