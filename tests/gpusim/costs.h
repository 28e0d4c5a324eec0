// Counts what kernels do and how the host drives them. Counts are of PTX, not of what ptxas makes
// of it; cycles are those of a warp alone, by guesses from published microbenchmarks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpusim/memory.h"
#include "tests/gpusim/warp.h"

namespace fairlane::gpusim {

enum CostClass : std::uint8_t {
  kFfma,
  kFadd,
  kFp64,
  kImad,
  kInteger,
  kSpecialFunction,
  kMove,
  kBranching,
  kSynchronising,
  kSharedLoad,
  kSharedStore,
  kLocalLoad,
  kLocalStore,
  kGlobalLoad,
  kGlobalStore,
  kAtomic,
  kOther,
  kCostClasses
};

/// What is summed up beside the number of instructions of each class.
enum CostSum : std::uint8_t {
  kSumIssue = kCostClasses,
  kSumWavefrontsLoad,
  kSumWavefrontsStore,
  kSumSectorsLoad,
  kSumSectorsStore,
  kSumSectorsAtomic,
  kSumGenericShared,
  kSums
};
using Sums = std::array<std::uint64_t, kSums>;

/// issue    SASS instructions that it stands for
/// latency  cycles until its results can be used
/// results  how many of its operands they are
struct InstructionCost {
  std::uint8_t kind = kOther;
  std::uint8_t issue = 1;
  std::uint16_t latency = 4;
  std::uint8_t results = 1;
};

/// What an instruction of PTX stands for.
InstructionCost cost_of(Instruction const& i);

/// items     indices that it has to work on, of at most `most`; -1: not known
/// per_step  indices that a warp or a block takes at once
/// longest   instructions of its longest warp
/// critical  cycles of the slowest; critical_far: where global memory lies behind L2
/// sums      of the kernel before it; of itself when it has ended
struct LaunchCost {
  std::uint32_t grid = 0;
  std::uint32_t threads = 0;
  std::uint32_t shared = 0;
  std::uint32_t per_step = 0;
  std::int64_t items = -1;
  std::int64_t most = -1;
  std::uint64_t longest = 0;
  std::uint64_t critical = 0;
  std::uint64_t critical_far = 0;
  Sums sums{};
};

/// of        [instructions]
/// executed  [instructions] how often
/// cycles    [instructions] of a warp alone, waiting for operands included
/// lanes     [classes] that took part
struct KernelCost {
  std::vector<InstructionCost> of;
  std::vector<std::uint64_t> executed;
  std::vector<std::uint64_t> cycles;
  Sums sums{};
  std::array<std::uint64_t, kCostClasses> lanes{};
  std::uint64_t warps = 0;
  std::vector<LaunchCost> launches;
};

/// Does nothing where the options ask for no costs.
class Costs {
 public:
  Costs(Options const& options, DeviceMemory const& memory) : options_(options), memory_(memory) {}

  bool wanted() const { return !options_.cost.empty(); }
  void begin(Kernel& kernel, Launch const& launch);
  void end(Kernel& kernel);
  void begin_block(Block const& block);
  void end_block(Block const& block);
  /// met  [warp] lanes that met at a barrier
  void barrier(Block& block, std::vector<std::uint32_t> const& met);
  /// lanes: that take part
  void instruction(Instruction const& i, Warp& warp, std::uint32_t pc, std::uint32_t lanes);

  /// A call of the host. kind: of an entry of the trace, 0: none; value: bytes, or a kernel's index
  void call(char const* name, char kind = 0, std::uint64_t value = 0);
  std::uint64_t index_of(Kernel const& kernel);
  void write(std::string const& path);

 private:
  struct HostEvent {
    char kind;
    std::uint64_t value;
  };

  Options const& options_;
  DeviceMemory const& memory_;
  std::map<std::string, std::uint64_t> calls_;
  std::vector<HostEvent> trace_;
  std::vector<Kernel*> kernels_;
  std::map<Kernel const*, std::uint64_t> indices_;
};

}  // namespace fairlane::gpusim
