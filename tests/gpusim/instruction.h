// An instruction of PTX as the simulator keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpusim/types.h"

namespace fairlane::gpusim {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = ~0U;

struct Instruction;
struct Warp;
struct Allocation;

/// Executes an instruction for the lanes of a warp whose bits are set.
using Handler = void (*)(Instruction const&, Warp&, std::uint32_t lanes);

/// What the scheduler has to do with it: kAlu, nothing; kBarrier waits for a block's threads, kSync
/// for lanes of the warp; kYield lets others go on.
enum class Kind : std::uint8_t {
  kAlu,
  kBranch,
  kBranchTable,
  kBarrier,
  kSync,
  kExit,
  kCall,
  kReturn,
  kYield
};

/// kSlot: a parameter of a function that is called, which lies in local memory.
enum class Space : std::uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kSlot, kConst };

/// Where an operand's row of 32 values lies.
/// off       bytes in the registers or in the constants; a predicate's index; -1: not wanted
/// width     bytes of a value; 0: a predicate
/// constant  whether it is one of the kernel's constants
/// negated   predicates only
struct Operand {
  std::int32_t off = 0;
  std::uint8_t width = 0;
  bool constant = false;
  bool negated = false;
};

inline constexpr int kOperands = 9;
// Which operands accesses of memory have their address in, and copies the one that they write to.
inline constexpr int kAddress = 8;
inline constexpr int kCopyTo = 7;

/// pred         index of the predicate that guards it; -1: none
/// strong       volatile, relaxed, acquire, release or atomic
/// vec          values of an access
/// mode         of the operation: rounding, vote, ...
/// immediate    added to an address; bytes of a copy
/// target       of a branch or a call; which operand holds a mask of lanes; added to where a copy
///              goes
/// targets      of a branch by a table
/// where        index into Kernel::places
/// line         of the PTX
/// last         the memory that it was in before, at last_generation of the memory
/// complaints   how often it was complained about
struct Instruction {
  Handler handler = nullptr;
  Kind kind = Kind::kAlu;
  std::int32_t pred = -1;
  bool pred_negated = false;
  bool strong = false;
  bool acquire = false;
  bool release = false;
  Space space = Space::kGeneric;
  Type type = Type::kNone;
  Type type2 = Type::kNone;
  std::uint8_t vec = 1;
  std::uint8_t mode = 0;
  Operand operand[kOperands];
  std::int64_t immediate = 0;
  std::uint32_t target = 0;
  std::vector<std::uint32_t> targets;
  std::uint32_t where = 0;
  int line = 0;
  std::string text;
  mutable Allocation const* last = nullptr;
  mutable std::uint64_t last_generation = 0;
  mutable std::uint32_t complaints = 0;
};

}  // namespace fairlane::gpusim
